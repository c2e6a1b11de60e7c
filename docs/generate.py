"""Writes what the code knows better than a writer: `python docs/generate.py TARGET`.

`hooks` writes docs/hooks.md from the docstrings of the hook specifications, `api` writes
hookspecs/api.json, the golden file of the contract, `config` and `schema` write
docs/config-keys.md and docs/config.schema.json from the definition of the configuration,
`differences` writes the tables of docs/differences.md from the list that the recorded runs of
`exec` are compared with, `doctor` writes the table of docs/doctor.md from what the modules of the
doctor's checks say about them, `sdk` writes docs/sdk-reference.md from the docstrings of the Python
library. Tests fail when one of them is not up to date, so that a change of
the contract or of the configuration is always a change somebody looked at.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
import sys
import tomllib
import typing
from collections.abc import Mapping
from pathlib import Path

from ferrule_hookspecs import hooks, markers

ROOT = Path(__file__).resolve().parent.parent
_PARTS = ("When", "Args", "Returns", "Errors", "Timeout", "Async")
_KINDS = {
    "assess": "opinions; the most restrictive wins, a fault or a timeout counts as deny",
    "gather": "answers of all plugins, in declared order; a fault drops that plugin's answer",
    "observe": "no answer; a fault is reported once",
    "rewrite": "at most one plugin may answer; two answers or a fault deny the call",
}
_HEAD = """# Hooks

<!-- Written by `python docs/generate.py hooks` from hookspecs/src/ferrule_hookspecs/hooks.py -->

A hook module is named by an entry point of the group `ferrule.plugins` and marks its
implementations with `ferrule_hookspecs.hookimpl`. An implementation may be a function or a
coroutine function and may leave out arguments. A function runs in a worker thread that is left
behind at the deadline; one call of a hung implementation is never followed by a second while the
first still runs. A module is imported when a hook it serves is first called.

Order is declared by a module attribute; names are plugins or distributions, and ties are broken by
name:

```python
FERRULE_ORDER = {"before": ["audit"], "after": ["acme-policy"], "outermost": False}
```

A hook module runs inside the process of Ferrule, with all rights of the user: it is trusted code.
"""

_DIFFERENCES = ROOT / "tests" / "e2e" / "conformance" / "differences.toml"
_SERVER_DIFFERENCES = ROOT / "tests" / "e2e" / "app_server" / "differences.toml"
_CHECKS_BEGIN = "<!-- Written by `python docs/generate.py doctor` from here -->"
_TABLES_BEGIN = "<!-- Written by `python docs/generate.py differences` from here -->"
_SERVER_TABLES_BEGIN = "<!-- Written by the same for the app-server from here -->"
_TABLES_END = "<!-- to here -->"
_TABLE_HEAD = "| key | value | meaning |\n|---|---|---|"
_KEYS_HEAD = f"""# Configuration keys

<!-- Written by `python docs/generate.py config` from core/src/ferrule/config/model.py -->

How the files are found and laid over each other is told in [config.md](config.md). A table's own
keys follow below under its name.

{_TABLE_HEAD}"""

_SDK_HEAD = """# Reference of the Python library

<!-- Written by `python docs/generate.py sdk` from the docstrings in plugins/sdk/src -->

[sdk.md](sdk.md) tells how it is used. `ferrule_sdk.sync` has `Ferrule`, `Thread` and `Turn` with
the same names and without `async`. What comes from the server (events, items, threads, turns) is in
wire form: `TypedDict`s in `ferrule_hookspecs.events`, `.items` and `.threads`."""


def hooks_page() -> str:
    """Return docs/hooks.md: one section per hook with its exact arguments."""
    sections = [_HEAD]
    for name, contract in markers.HOOK_CONTRACTS.items():
        function = getattr(hooks, name)
        parts = docstring_parts(function)
        lines = [
            f"## {name}",
            "",
            f"```python\n{_signature(name, function)}: ...\n```",
            "",
            parts["summary"],
            "",
            f"- **Kind:** {contract.kind}: {_KINDS[contract.kind]}",
            *(f"- **{part}:** {parts[part]}" for part in _PARTS if part in parts),
            *_deprecated(contract.deprecated),
            f"- **Added in:** {parts['Added in']}",
        ]
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)


def _deprecated(said: str | Mapping[str, str]) -> list[str]:
    if isinstance(said, str):
        return [f"- **Deprecated** {said}"] if said else []
    return [f"- **Deprecated:** `{argument}` {text}" for argument, text in said.items()]


def docstring_parts(function: object) -> dict[str, str]:
    """Split a hook's docstring into its fixed parts; the summary comes first."""
    text = " ".join((inspect.getdoc(function) or "").split())
    pieces = re.split(r"\b(When|Args|Returns|Errors|Timeout|Async):\s", text)
    parts = {"summary": pieces[0].strip()}
    parts |= {key: value.strip() for key, value in zip(pieces[1::2], pieces[2::2], strict=True)}
    last = list(parts)[-1]
    parts[last], _, added = parts[last].partition(" Added in ")
    if added:
        parts["Added in"] = added.rstrip(".")
    return parts


def contract_api() -> dict[str, object]:
    """Return the contract as data: hooks, and every public name of every module."""
    found = importlib.util.find_spec("ferrule_hookspecs")
    places = found.submodule_search_locations if found else None
    folder = Path((places or ["."])[0])
    return {
        "hooks": {
            name: {
                "kind": contract.kind,
                "timeoutSeconds": contract.timeout_s,
                "signature": _signature(name, getattr(hooks, name)),
                **({"deprecated": contract.deprecated} if contract.deprecated else {}),
            }
            for name, contract in markers.HOOK_CONTRACTS.items()
        },
        "modules": {
            path.stem: _module_api(ast.parse(path.read_text("utf-8")))
            for path in sorted(folder.glob("*.py"))
            if path.stem not in {"__init__", "hooks"}
        },
        "names": sorted(__import__("ferrule_hookspecs").__all__),
    }


def api_text() -> str:
    """Return hookspecs/api.json as it should be."""
    return json.dumps(contract_api(), indent=1, ensure_ascii=False) + "\n"


def _signature(name: str, function: object) -> str:
    signature = inspect.signature(function)  # pyright: ignore[reportArgumentType] -- a function
    arguments = [f"{p.name}: {p.annotation}" for p in signature.parameters.values()]
    line = f"def {name}({', '.join(arguments)}) -> {signature.return_annotation}"
    if len(line) <= 100:
        return line
    return (
        f"def {name}(\n    " + ",\n    ".join(arguments) + f",\n) -> {signature.return_annotation}"
    )


def _module_api(tree: ast.Module) -> dict[str, object]:
    api: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            api[node.name] = _class_api(node)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            api[node.name] = _function_api(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and not target.id.startswith("_") and node.value:
                api[target.id] = ast.unparse(node.value)
    return api


def _class_api(node: ast.ClassDef) -> dict[str, object]:
    members: dict[str, str] = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            default = f" = {ast.unparse(item.value)}" if item.value else ""
            members[ast.unparse(item.target)] = ast.unparse(item.annotation) + default
        elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)) and (
            item.name == "__init__" or not item.name.startswith("_")
        ):
            members[item.name] = _function_api(item)
    return {"bases": [ast.unparse(base) for base in node.bases], "members": members}


def _function_api(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{prefix}({ast.unparse(node.args)}){returns}"


def config_keys_page() -> str:
    """Return docs/config-keys.md: every key with its type and its one line of help."""
    from ferrule.config.check import describe, table_type
    from ferrule.config.model import ConfigFile
    from ferrule.config.schema import config_schema

    schema = config_schema()
    rows = [_KEYS_HEAD]
    for key, kind in table_type(ConfigFile).known.items():
        rows.append(_key_row(key, describe(kind), schema["properties"][key]))
    for table, facts in sorted(schema["$defs"].items()):
        definition = _definition(table)
        if definition is None:
            continue
        known = table_type(definition).known
        rows += ["", f"## {table}", "", facts.get("description", ""), "", _TABLE_HEAD]
        rows += [_key_row(k, describe(v), facts["properties"][k]) for k, v in known.items()]
    return "\n".join(rows) + "\n"


def _definition(name: str) -> type | None:
    from ferrule.config import settings
    from ferrule_hookspecs import policies

    return getattr(settings, name, None) or getattr(policies, name, None)


def _key_row(key: str, kind: str, facts: dict[str, str]) -> str:
    table = re.search(r"#/\$defs/(\w+)", json.dumps(facts))
    link = f" ([{table[1]}](#{table[1].lower()}))" if table else ""
    return f"| `{key}` | {kind}{link} | {facts.get('description', '')} |"


def schema_text() -> str:
    """Return docs/config.schema.json."""
    from ferrule.config.schema import config_schema

    return json.dumps(config_schema(), indent=2) + "\n"


def differences_page() -> str:
    """Return docs/differences.md with its tables made anew."""
    page = (ROOT / "docs" / "differences.md").read_text("utf-8")
    page = _with_tables(page, _TABLES_BEGIN, differences_tables(_DIFFERENCES, "scenarios"))
    tables = differences_tables(_SERVER_DIFFERENCES, "conversations")
    return _with_tables(page, _SERVER_TABLES_BEGIN, tables)


def _with_tables(page: str, begin: str, tables: str) -> str:
    head, _, rest = page.partition(begin)
    tail = rest.partition(_TABLES_END)[2]
    return f"{head}{begin}\n\n{tables}\n{_TABLES_END}{tail}"


def doctor_page() -> str:
    """Return docs/doctor.md with its table made anew."""
    page = (ROOT / "docs" / "doctor.md").read_text("utf-8")
    rows = [f"| `{check}` | {meaning} |" for check, meaning in sorted(check_meanings().items())]
    return _with_tables(
        page, _CHECKS_BEGIN, "\n".join(["| check | meaning |", "|---|---|", *rows, ""])
    )


def check_meanings() -> dict[str, str]:
    """Gather what the kernel and every plugin with a module `checks` say about their checks."""
    from ferrule.doctor.meanings import MEANINGS

    meanings = dict(MEANINGS)
    for path in sorted(ROOT.glob("*/*/src/*/checks.py")):
        meanings |= importlib.import_module(f"{path.parent.name}.checks").MEANINGS
    return meanings


def differences_tables(listed_in: Path, what: str) -> str:
    """Return one table of reasons, and a list of what waits for its feature."""
    listed = tomllib.loads(listed_in.read_text("utf-8"))
    reasons: dict[str, list[str]] = {
        each["reason"]: [f"every {what[:-1]}"] for each in listed["everywhere"]
    }
    waiting: list[str] = []
    for name, entry in sorted(listed["scenario"].items()):
        if "pending" in entry:
            waiting.append(name)
        for each in entry.get("difference", []):
            reasons.setdefault(each["reason"], []).append(f"`{name}`")
    rows = [
        f"| {_sentence(why)} | {', '.join(dict.fromkeys(names))} |"
        for why, names in reasons.items()
    ]
    lines = [f"| Ferrule | recorded {what} |", "|---|---|", *sorted(rows), ""]
    lines += [f"Recorded {what} of what is not there yet:", ""]
    return "\n".join([*lines, ", ".join(f"`{name}`" for name in waiting) + ".", ""])


def _sentence(text: str) -> str:
    return " ".join((text[:1].upper() + text[1:]).split())


def sdk_page() -> str:
    """Return docs/sdk-reference.md: the public names of the Python library."""
    import ferrule_sdk
    from ferrule_sdk import facts, options

    tables = [options.FerruleOptions, options.ThreadOptions, options.TurnOptions]
    first = [ferrule_sdk.Ferrule, ferrule_sdk.Thread, ferrule_sdk.Turn, ferrule_sdk.TurnResult]
    public = [getattr(ferrule_sdk, name) for name in ferrule_sdk.__all__]
    classes = [each for each in public if isinstance(each, type) and each not in first]
    classes.sort(key=lambda each: each is not ferrule_sdk.Request)
    errors = [each for each in classes if issubclass(each, Exception)]
    requests = [each for each in classes if each not in errors]
    lines = [_SDK_HEAD]
    for each in [*first, *tables, *requests, facts.ModelFacts, *errors]:
        lines += ["", f"## {each.__name__}", "", *_prose(inspect.getdoc(each) or "")]
        for name, member in vars(each).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                lines += _member(name, member)
    return "\n".join(lines) + "\n"


def _member(name: str, member: object) -> list[str]:
    """Describe a method or a property."""
    function = member.fget if isinstance(member, property) else member
    if not inspect.isfunction(function):
        return []
    shown = typing.get_overloads(function) or [function]
    prefix = "async " if inspect.iscoroutinefunction(function) else ""
    signatures = [f"{prefix}def {name}{inspect.signature(each)}: ..." for each in shown]
    if isinstance(member, property):
        signatures.insert(0, "@property")
    code = ["```python", *(line.replace("'", "") for line in signatures), "```"]
    return ["", f"### {name}", "", *code, "", *_prose(inspect.getdoc(member) or "")]


def _prose(docstring: str) -> list[str]:
    """Turn the sections of a docstring into Markdown."""
    lines: list[str] = []
    section = ""
    for line in docstring.splitlines():
        if found := re.fullmatch(r"(Args|Attributes|Raises|Returns|Example):", line):
            section = found[1]
            lines += (
                ["<!-- as: sdk -->", "```python"]
                if section == "Example"
                else [f"**{section}**", ""]
            )
        elif section == "Example" and (line.startswith("    ") or not line):
            lines.append(line[4:])
        elif entry := re.match(r"    (\*{0,2}\w+): (.*)", line):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            lines.append(f"  {line.strip()}" if line.startswith("        ") else line.strip())
    return [*lines, "```"] if section == "Example" else lines


def main() -> int:
    """Write the file that is asked for."""
    targets = {
        "hooks": (ROOT / "docs" / "hooks.md", hooks_page),
        "api": (ROOT / "hookspecs" / "api.json", api_text),
        "config": (ROOT / "docs" / "config-keys.md", config_keys_page),
        "schema": (ROOT / "docs" / "config.schema.json", schema_text),
        "doctor": (ROOT / "docs" / "doctor.md", doctor_page),
        "sdk": (ROOT / "docs" / "sdk-reference.md", sdk_page),
        "differences": (ROOT / "docs" / "differences.md", differences_page),
    }
    if len(sys.argv) != 2 or sys.argv[1] not in targets:
        sys.stderr.write(f"usage: python docs/generate.py {'|'.join(targets)}\n")
        return 2
    path, make = targets[sys.argv[1]]
    path.write_text(make(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
