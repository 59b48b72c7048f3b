"""QR codes of links (ISO/IEC 18004), for phones to scan from paper or a screen."""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from shuffledp.core.errors import InvalidParameterError

_QUIET = 4  # modules left free on each side, as the standard demands
_WIDTH, _LEAST_MODULE, _LARGEST_MODULE = 48.0, 0.5, 1.0  # mm on paper
_CLASS = "shuffledp-link"
_COLORS = {"dark": "#000", "light": "#fff"}  # whatever colors the page around it has


def link_code(link: str) -> bytes:
    """SVG file with the QR code of a link, for screens and print in any size.

    Guarantees:
        1. It holds the link and nothing else, with a quiet zone of four modules, and loads nothing.
        2. It can be read with 15 % of it damaged.

    Raises:
        InvalidParameterError: if the link is too long for a QR code.
    """
    file = BytesIO()
    _code(link).save(file, kind="svg", border=_QUIET, scale=8, svgclass=_CLASS, **_COLORS)
    return file.getvalue()


def printed_code(link: str) -> str:
    """QR code as inline SVG, at least 48 mm wide, with modules of at least 0.5 mm.

    Raises:
        InvalidParameterError: if the link is too long for a QR code.
    """
    code = _code(link)
    modules = code.symbol_size(border=_QUIET)[0]
    module = round(min(max(_WIDTH / modules, _LEAST_MODULE), _LARGEST_MODULE), 3)
    return str(code.svg_inline(border=_QUIET, scale=module, unit="mm", svgclass=_CLASS, **_COLORS))


def is_link_code(file: Path) -> bool:
    """Whether the file was made by `link_code`, for any link."""
    with suppress(OSError):
        return f'class="{_CLASS}"'.encode() in file.read_bytes()
    return False


def _code(link: str) -> Any:
    """QR code of a link with the fewest modules at an error correction of 15 %."""
    import segno  # imported here, since only serving machines install it

    try:
        return segno.make_qr(link, error="m", boost_error=False)
    except segno.DataOverflowError:
        raise InvalidParameterError(
            f"a link must be short enough for a QR code, which holds 2,331 bytes; got {len(link.encode()):,}."
        ) from None
