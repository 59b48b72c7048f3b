"""The modules of the client as one script, since browsers load no modules from a file on the disk; and its templates.

Each module becomes a function of its own, so that nothing of one is seen by another but what it exports.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)
_EXPORTS = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)  # as the vendored module ends


def source_of(name: str) -> str:
    """The text of a file in ``js/``.

    Example:
        >>> source_of("wire.js").splitlines()[0]
        '// The messages between a device and the shuffler, byte by byte as docs/protocol.md writes them.'
    """
    return files("shuffledp.client").joinpath("js", *name.split("/")).read_text(encoding="utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template with each part in its place, in which nothing is looked for again.

    Example:
        >>> filled("<b>{name}</b>", {"name": "{title}"})
        '<b>{title}</b>'
    """
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], template)


def allowed(source: str) -> str:
    """What a policy says to let this script or style run, and no other.

    Example:
        >>> allowed("")
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def script_of(first: str) -> str:
    """A module and all that it imports, as the text of one script.

    Guarantees:
        1. It imports nothing.
        2. A module stands after those that it imports, once.

    Example:
        >>> "import {" in script_of("page.js")
        False
    """
    return "".join(map(_as_function, _in_order(first, set())))


def _in_order(name: str, seen: set[str]) -> Iterator[str]:
    """A module after those that it imports, none twice."""
    seen.add(name)
    for found in _IMPORT.finditer(source_of(name)):
        if found[2] not in seen:
            yield from _in_order(found[2], seen)
    yield name


def _as_function(name: str) -> str:
    """A module as the object of what it exports."""
    source = source_of(name)
    exported = [found[2] for found in _EXPORT.finditer(source)]
    for found in _EXPORTS.finditer(source):
        exported += re.findall(r"\w+", found[1])
    body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_variable(found[2])};\n", source)
    body = _EXPORTS.sub("", _EXPORT.sub(r"\1 \2", body))
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"


def _variable(name: str) -> str:
    """What a module is called in the script, as nothing in it is: ``vendor/hpke.js`` is ``module_vendor_hpke``."""
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))
