"""The code as it is written: what it imports, and what it uses but does not declare."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from ferrule_author.finding import Finding, error, warning
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.manifest import MANIFEST_NAME, Manifest, parse_manifest
from ferrule_hookspecs.slots import ALL_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ferrule_author.subject import Subject

_CONTRACT: Final = "ferrule_hookspecs"
_KERNEL: Final = "ferrule"
_URL: Final = re.compile(r"https?://(?:[^/@\s]*@)?([A-Za-z0-9.-]+\.[A-Za-z]{2,})")
_EVERYBODYS: Final = frozenset(
    {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "USER"}
)
_FOR_EXAMPLES: Final = ("example.com", "*.example.com", "example.org", "*.example.org")


def look_at_code(subject: Subject) -> Iterator[Finding]:
    """Check every file of the packages, none of them imported."""
    manifests = {package: _manifest(subject, package) for package in subject.packages}
    for found in manifests.values():
        if isinstance(found, Finding):
            yield found
    strangers = _plugin_modules() - set(subject.packages)
    for path in subject.sources():
        place = subject.shown(path)
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError) as fault:
            yield error("code.syntax", place, f"it cannot be parsed: {fault}", "correct it")
            continue
        yield from _imports(tree, place, strangers)
        package = path.relative_to(subject.source).parts[0].removesuffix(".py")
        manifest = manifests.get(package)
        if isinstance(manifest, Manifest):
            yield from _undeclared(tree, place, manifest)


def _manifest(subject: Subject, package: str) -> Manifest | Finding:
    path = subject.source / package / MANIFEST_NAME
    try:
        return parse_manifest(path.read_text("utf-8"), subject.shown(path))
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    except (OSError, ValueError, PluginError) as fault:
        return error("manifest.form", subject.shown(path), str(fault), "correct it")


@cache
def _plugin_modules() -> frozenset[str]:
    """Name the top-level modules that installed plugins are in; libraries are not among them."""
    from importlib.metadata import distributions

    points = [point for each in distributions() for point in each.entry_points]
    wanted = [point for point in points if point.group in ALL_GROUPS]
    return frozenset(point.module.partition(".")[0] for point in wanted)


def _imports(tree: ast.Module, place: str, strangers: frozenset[str]) -> Iterator[Finding]:
    for module, name, line in dict.fromkeys(_imported(tree)):
        where, top = f"{place}:{line}", module.partition(".")[0]
        if top == _KERNEL:
            mend = f"what plugins may use is in {_CONTRACT}"
            yield error("code.kernel", where, f"it imports {module}, which is the kernel", mend)
        elif top in strangers:
            mend = "copy what you need, or ask its author to put it into a library"
            yield error("code.plugins", where, f"it imports {module}, another plugin", mend)
        elif top == _CONTRACT and any(part.startswith("_") for part in (name, *module.split("."))):
            text = (
                f"it imports {module}.{name}, which is private" if name else f"{module} is private"
            )
            yield error("code.private", where, text, "use public names only")


def _imported(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """List modules, each with a private name that is taken out of it, and the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            private = next((alias.name for alias in node.names if alias.name[:1] == "_"), "")
            yield node.module, private, node.lineno
        elif isinstance(node, ast.Call) and _called(node) == "import_module" and node.args:
            yield str(_constant(node.args[0])), "", node.lineno


def _undeclared(tree: ast.Module, place: str, manifest: Manifest) -> Iterator[Finding]:
    asked = manifest.capabilities
    mend = f"add it to [capabilities] of {MANIFEST_NAME}"
    for name, line in _variables(tree):
        if name not in (*asked.environment, *_EVERYBODYS):
            text = f"it reads the variable {name}"
            yield warning("manifest.environment", f"{place}:{line}", text, mend)
    for host, line in _hosts(tree):
        if not any(_covers(pattern, host) for pattern in (*asked.hosts, *_FOR_EXAMPLES)):
            text = f"it names the host {host}"
            yield warning("manifest.hosts", f"{place}:{line}", text, mend)


def _covers(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


def _variables(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Find what is read from something called `environ`, by a name that is written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _last(node.value) == "environ":
            key = node.slice
        elif isinstance(node, ast.Call) and node.args and _reads_environ(node):
            key = node.args[0]
        else:
            continue
        if isinstance(name := _constant(key), str):
            yield name, node.lineno


def _reads_environ(node: ast.Call) -> bool:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in ("get", "pop"):
        return _last(function.value) == "environ"
    return _called(node) == "getenv"


def _hosts(tree: ast.Module) -> Iterator[tuple[str, int]]:
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) not in docstrings and isinstance(text := _constant(node), str):
            for match in _URL.finditer(text):
                yield match[1].lower(), getattr(node, "lineno", 0)


def _constant(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _called(node: ast.Call) -> str:
    return _last(node.func)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
