"""What the table of a state machine says of an event, beside what its step function does."""

from shuffledp.core.errors import LocalProtocolError, RemoteProtocolError


def by_table(rows, name, event, unlisted, **known):
    """Next state and kinds of outputs by the only row whose condition holds; ``unlisted`` if there is none."""
    found = [
        each
        for each in rows
        if each.state == name
        and each.event is type(event)
        and (not each.when or eval(each.when, {}, {"event": event, **known}))  # noqa: S307  our own table
    ]
    assert len(found) <= 1, found
    return (found[0].to, set(found[0].outputs)) if found else unlisted


def by_step(step, *given):
    """Next state and outputs of the step function; None and none where it refuses the event."""
    try:
        return step(*given)
    except (LocalProtocolError, RemoteProtocolError):
        return None, ()
