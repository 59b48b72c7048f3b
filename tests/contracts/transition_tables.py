"""What the table of a state machine says of an event, beside what its step function does."""

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError


def row_of(rows, name, kind, **known):
    """The only row for a kind of event in a state whose condition holds; None if there is none."""
    found = [
        each
        for each in rows
        if each.state == name and each.event is kind and (not each.when or eval(each.when, {}, known))  # noqa: S307
    ]
    assert len(found) <= 1, found
    return found[0] if found else None


def by_table(rows, name, event, unlisted, **known):
    """Next state and kinds of outputs by the table; ``unlisted`` for an event that is not in it."""
    row = row_of(rows, name, type(event), event=event, **known)
    return unlisted if row is None else (row.to, set(row.outputs))


def by_step(step, *given):
    """Next state and outputs of the step function; None and none where it refuses the event."""
    try:
        return step(*given)
    except (LocalProtocolError, RemoteProtocolError):
        return None, ()
