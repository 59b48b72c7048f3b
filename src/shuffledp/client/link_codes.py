"""Links as QR codes (ISO/IEC 18004), for whoever has them on paper, or on another screen than the one to answer on."""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from shuffledp.core.errors import InvalidParameterError

_QUIET = 4  # modules left free on each side, as the standard asks
_WIDTH, _LEAST_MODULE, _LARGEST_MODULE = 48.0, 0.5, 1.0  # mm on paper
_CLASS = "shuffledp-link"
_COLORS = {"dark": "#000", "light": "#fff"}  # whatever the page around it is like


def link_code(link: str) -> bytes:
    """An SVG file of a link, to be shown or printed in any size.

    Guarantees:
        1. It holds the link and nothing else, with a quiet zone of four modules, and asks nobody for anything.
        2. It can be read with 15 % of it damaged.

    Raises:
        InvalidParameterError: if the link is longer than a code can be.
    """
    file = BytesIO()
    _code(link).save(file, kind="svg", border=_QUIET, scale=8, svgclass=_CLASS, **_COLORS)
    return file.getvalue()


def printed_code(link: str) -> str:
    """QR code as inline SVG: about 48 mm, or wider so that a module is at least 0.5 mm.

    Raises:
        InvalidParameterError: if the link is longer than a code can be.
    """
    code = _code(link)
    modules = code.symbol_size(border=_QUIET)[0]
    module = round(min(max(_WIDTH / modules, _LEAST_MODULE), _LARGEST_MODULE), 3)
    return str(code.svg_inline(border=_QUIET, scale=module, unit="mm", svgclass=_CLASS, **_COLORS))


def is_link_code(file: Path) -> bool:
    """Whether a file is one that `link_code` made, of whichever link."""
    with suppress(OSError):
        return f'class="{_CLASS}"'.encode() in file.read_bytes()
    return False


def _code(link: str) -> Any:
    """The code, of as few modules as the link needs at a correction of 15 %."""
    import segno  # here, since it is not installed where nobody serves

    try:
        return segno.make_qr(link, error="m", boost_error=False)
    except segno.DataOverflowError:
        raise InvalidParameterError(
            f"a link must be short enough for a QR code, which holds 2,331 bytes; got {len(link.encode()):,}."
        ) from None
