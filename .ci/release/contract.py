"""What changed of the contract of plugins since the last release, and what has to be said of it.

`hookspecs/released_api.json` is the contract as it was last released, `hookspecs/api.json` as it
is now. A test compares them at every change, and `check` before a release; `make` moves the first
on.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

_NAME: Final = "ferrule-hookspecs"
_DEPRECATED: Final = ", deprecated"
_CALLABLE: Final = re.compile(r"(async )?\((\w|\*|\))")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Changes(NamedTuple):
    """Paths such as `hooks.ferrule_tools.context` or `modules.tools.Tool.run`.

    Attributes:
        removed: What was there and is not.
        changed: What is no longer as it was.
        added: What is new, and what takes or says more than it did.
    """

    removed: tuple[str, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def breaks(self) -> tuple[str, ...]:
        """What a plugin made for the released contract may trip over."""
        return tuple(sorted(self.removed + self.changed))

    @property
    def deprecations(self) -> tuple[str, ...]:
        """What is marked as deprecated, and was not."""
        return tuple(name for name in self.added if name.endswith(_DEPRECATED))


def compare(released: dict[str, Any], api: dict[str, Any]) -> Changes:
    """Compare two contracts, name by name."""
    old, new = _flat(released), _flat(api)
    both = old.keys() & new.keys()
    differing = {name for name in both if old[name] != new[name]}
    wider = {name for name in differing if _is_wider(name, old[name], new[name])}
    return Changes(
        tuple(sorted(name for name in old.keys() - new.keys() if not name.endswith(_DEPRECATED))),
        tuple(sorted(differing - wider)),
        tuple(sorted((new.keys() - old.keys()) | wider)),
    )


def untold(hookspecs: Path, fragments: Path) -> str:
    """Say what of the changes has not been told yet; empty when all is.

    Args:
        hookspecs: The folder of `api.json` and `released_api.json`.
        fragments: The folder of changelog fragments.
    """
    released, changes = _since_release(hookspecs)
    told = {file.name for file in fragments.glob("*.md") if _NAME in file.read_text("utf-8")}
    removals = {name for name in told if ".removal." in name}
    last = f"the contract of {released}"
    if changes.breaks and not removals:
        return (
            f"{last} was broken: {', '.join(changes.breaks)}. Keep what was there and mark it as"
            " deprecated (docs/plugin-contract.md); where that cannot be, say what authors do"
            f" instead in a fragment docs/changelog.d/NAME.removal.md that names {_NAME}: the next"
            " release is then a new minor version, a new major one from 1.0 on"
        )
    if changes.added and not told:
        return (
            f"{last} has grown: {', '.join(changes.added)}. Say so in a fragment of"
            f" docs/changelog.d that names {_NAME}"
        )
    return ""


def version_fault(hookspecs: Path, version: str) -> str:
    """Say why a version is too small a step for what changed; empty when it is not."""
    released, changes = _since_release(hookspecs)
    before, after = _numbers(released), _numbers(version)
    for names, size, what in (
        (changes.breaks, 1 if before[0] else 2, "was broken"),
        (changes.deprecations, 2, "has parts that are deprecated now"),
    ):
        if names and after[:size] <= before[:size]:
            step = "major" if size == 1 else "minor"
            return (
                f"{version} must be a new {step} version, as the contract of {released}"
                f" {what}: {', '.join(names)}"
            )
    return ""


def move_on(hookspecs: Path, version: str) -> Path:
    """Take the contract as it is for the released one; returns the file."""
    api = json.loads((hookspecs / "api.json").read_text("utf-8"))
    file = hookspecs / "released_api.json"
    text = json.dumps({"version": version, **api}, indent=1, ensure_ascii=False)
    file.write_text(text + "\n", "utf-8")
    return file


def _since_release(hookspecs: Path) -> tuple[str, Changes]:
    """Return the version that was released last, and what changed since."""
    released = json.loads((hookspecs / "released_api.json").read_text("utf-8"))
    api = json.loads((hookspecs / "api.json").read_text("utf-8"))
    return released["version"], compare(released, api)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _flat(api: dict[str, Any]) -> dict[str, str]:
    found = {f"names.{name}": "" for name in api["names"]}
    for name, hook in api["hooks"].items():
        path = f"hooks.{name}"
        function = _function(hook["signature"] + ": ...")
        returned = function.returns
        found[path] = f"{hook['kind']} -> {ast.unparse(returned) if returned else ''}"
        for each in (*function.args.args, *function.args.kwonlyargs):
            found[f"{path}.{each.arg}"] = ast.unparse(each.annotation) if each.annotation else ""
        said = hook.get("deprecated", {})
        parts = [f".{name}" for name in said] if isinstance(said, dict) else [""]
        found |= dict.fromkeys((f"{path}{part}{_DEPRECATED}" for part in parts), "")
    for module, names in api["modules"].items():
        for name, what in names.items():
            path = f"modules.{module}.{name}"
            if isinstance(what, str):
                found[path] = what
                continue
            found[path] = ", ".join(what["bases"])
            found |= {f"{path}.{key}": value for key, value in what["members"].items()}
    return found


def _is_wider(name: str, old: str, new: str) -> bool:
    """Tell whether whatever was good before is good now."""
    if name.rpartition(".")[2].isupper():
        return True  # a constant: that it has another value must be told, no more
    if _CALLABLE.match(old) and _CALLABLE.match(new):
        return _takes_more(_function(_as_function(old)), _function(_as_function(new)))
    return _without_options(old, new) == _without_options(new, new) or (
        "=" not in old and new.partition(" = ")[0] == old
    )


def _takes_more(old: _Function, new: _Function) -> bool:
    """Tell whether a function has parameters more than it had, each with a default."""
    before, now = _parameters(old), _parameters(new)
    names = list(before)
    added = {key: value for key, value in now.items() if key not in before}
    returned = [ast.unparse(each.returns) if each.returns else "" for each in (old, new)]
    return (
        returned[0] == returned[1]
        and isinstance(old, type(new))
        and [key for key in now if key in before] == names
        and all(now[key] == before[key] for key in names)
        and all("=" in value for value in added.values())
    )


def _parameters(function: _Function) -> dict[str, str]:
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(arguments.defaults))
    defaults += [*arguments.defaults, *arguments.kw_defaults]
    pairs = zip([*places, *arguments.kwonlyargs], defaults, strict=True)
    return {
        each.arg: ast.unparse(each) + (f" = {ast.unparse(default)}" if default else "")
        for each, default in pairs
    }


def _as_function(text: str) -> str:
    prefix = "async " if text.startswith("async ") else ""
    return f"{prefix}def f{text.removeprefix('async ')}: ..."


def _function(text: str) -> _Function:
    node = ast.parse(text).body[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise TypeError(f"{text!r} is no function")
    return node


def _without_options(text: str, larger: str) -> str:
    """Take the options of literals out that `larger` has as well."""
    options = set(_options(larger))

    def shorter(match: re.Match[str]) -> str:
        rest = [each for each in _options(match[0]) if each not in options]
        return f"Literal[{', '.join(rest)}]"

    return re.sub(r"Literal\[[^\]]*\]", shorter, text)


def _options(text: str) -> list[str]:
    inner = re.findall(r"Literal\[([^\]]*)\]", text)
    return [option.strip() for each in inner for option in each.split(",")]
