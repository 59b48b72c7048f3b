"""Bundle of the browser client's modules as one script, and templates of pages.

Browsers load no modules from local files.

Each module becomes a function of its own, so that other modules see only its exports.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.MULTILINE)
_EXPORTS = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)  # as the vendored module ends


def source_of(name: str) -> str:
    """Text of a file in ``js/``.

    Example:
        >>> source_of("wire.js").splitlines()[0]
        '// The messages between a device and the shuffler, byte by byte as docs/protocol.md writes them.'
    """
    return files("shuffledp.parties.client").joinpath("js", *name.split("/")).read_text(encoding="utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Template with each part in its place; inserted parts are not searched for placeholders.

    Example:
        >>> filled("<b>{name}</b>", {"name": "{title}"})
        '<b>{title}</b>'
    """
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], template)


def allowed(source: str) -> str:
    """Entry of a content security policy that allows only this script or style.

    Example:
        >>> allowed("")
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    return f"'sha256-{b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


@cache
def script_of(first: str) -> str:
    """Script made of a module and of all modules that it imports.

    Guarantees:
        1. It imports nothing.
        2. A module stands after those that it imports, once.

    Example:
        >>> "import {" in script_of("page.js")
        False
    """
    return "".join(map(_as_function, _in_order(first, set())))


def _in_order(name: str, seen: set[str]) -> Iterator[str]:
    """Names of a module and all its imports, each once, in the order of loading."""
    seen.add(name)
    for found in _IMPORT.finditer(source_of(name)):
        if found[2] not in seen:
            yield from _in_order(found[2], seen)
    yield name


def _as_function(name: str) -> str:
    """JavaScript text that assigns the module's exports to a variable."""
    source = source_of(name)
    exported = [found[2] for found in _EXPORT.finditer(source)]
    for found in _EXPORTS.finditer(source):
        exported += re.findall(r"\w+", found[1])
    body = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_variable(found[2])};\n", source)
    body = _EXPORTS.sub("", _EXPORT.sub(r"\1 \2", body))
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"


def _variable(name: str) -> str:
    """Variable of a module in the script, such as ``module_vendor_hpke`` for ``vendor/hpke.js``."""
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))
