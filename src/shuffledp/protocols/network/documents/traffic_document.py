"""Messages that members send through a relay, beside planned and published numbers.

Table 3 of the paper on network shuffling counts reports that a user sends: as many as there are rounds, of which there
are about log n, where users pass them on; one to a trusted shuffler; n in a mix-net whose users cover what they send.
"""

import math
from collections.abc import Mapping

from shuffledp.core.text import count_of
from shuffledp.documents.blocks import Column, Table
from shuffledp.documents.document import Document, Section


def traffic_document(plan: Mapping[str, float], letters: int, size: int) -> Document:
    """Page on the messages that members sent, beside the planned numbers and the paper's Table 3.

    Args:
        plan: of the rounds, by the names of `shuffledp.parties.relay.relay_demonstration.traffic_of`.
        letters: that were sent in all rounds.
        size: their bytes.
    """
    people = plan["people"]
    heads = (Column("of a member, on average", left=True), *map(Column, ("letters", "kB", "slots", "reports")))
    rows = (
        ("sent, as counted", *_in_digits(letters / people, size / people / 1e3), "sealed", "sealed"),
        ("the plan", *_in_digits(plan["letters"], plan["bytes"] / 1e3, plan["slots"], plan["messages"])),
        ("Table 3: passed on by all", "-", "-", "-", f"log n = {math.log(people):.2f}"),
        ("Table 3: a trusted shuffler", "-", "-", "-", "1"),
        ("Table 3: mix-nets, with cover traffic", "-", "-", "-", f"n = {people:,.0f}"),
    )
    caption = f"Traffic of {count_of(int(plan['rounds']), 'round')}, and reports sent as the paper's Table 3 has them"
    closing = (
        f"Nobody sent more than {plan['bytes_most'] / 1e3:,.1f} kB: the same whatever anybody held. Reports sent one "
        "by one, as in Table 3, would show where each went."
    )
    table = Table(caption, heads, rows, titled=True, closing=closing)
    return Document(sections=(Section(anchor="traffic", title="", blocks=(table,)),))


def _in_digits(*numbers: float) -> tuple[str, ...]:
    return tuple(f"{each:,.2f}" for each in numbers)
