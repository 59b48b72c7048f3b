"""The error of a protocol beside that of a trusted curator, and beside randomizers that need no shuffler."""

from dataclasses import dataclass

from shuffledp.calibrate import SplitAndMixCertificate
from shuffledp.report.parts import Section
from shuffledp.report.words import MINUS, count, count_of, number
from shuffledp.tasks import Outcome, ProtocolSection

__all__ = ["beside_section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to get the same estimate: how much it errs, and how long its bar is in percent."""

    name: str
    note: str
    error: str
    length: str
    style: str


def beside_section(outcome: Outcome) -> Section | None:
    """Standard errors as bars, for the same epsilon; None for a task without a protocol."""
    section, people = outcome.task.randomizer, outcome.model.num_users
    if not isinstance(section, ProtocolSection):
        return None
    own, central = float(outcome.release.estimate.standard_error.max()), section.central_error(people)
    local = section.local_errors(people)
    errors = [
        ("This release", "nobody is trusted with an answer but the shuffler", own, "randomizing"),
        ("A trusted curator", "who sees all answers and adds Laplace noise of the same epsilon", central, "sampling"),
        *((kind, "without any shuffler, each person with epsilon0 = epsilon", error, "both")
          for kind, error in sorted(local.items(), key=lambda item: item[1])),
    ]  # fmt: skip
    longest = max(error for _, _, error, _ in errors)
    context = {
        "certificate": _certified(section.plan(outcome.model.shuffle).certificate),
        "ways": [
            Way(name=name, note=note, error=number(error), length=f"{100 * error / longest:.2f}", style=style)
            for name, note, error, style in errors
        ],
        "people": count_of(people, "person", "people"),
        "ratio": number(own / central),
        "times": number(min(local.values()) / own) if local else None,
    }
    return Section(name="beside", title="Beside other ways", context=context)


def _certified(found: SplitAndMixCertificate) -> str:
    """What is certain of the messages that were sent."""
    sums = "sum" if found.dimension == 1 else "sums"
    return (
        f"{count(found.num_messages)} messages, {count(found.bits_per_user)} bits, of each person are certified: the "
        f"shuffles are within 2^{MINUS}{number(found.security_bits, 'at least')} of showing nothing but the noisy "
        f"{sums} if all but one of each number are as good as promised, which makes epsilon = "
        f"{number(found.epsilon, 'at most')} with delta = {number(found.delta, 'at most')}."
    )
