"""Runs the Python blocks of one page, given as JSON on its input; the first that fails ends it."""

import ast
import inspect
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import anyio

SURROUNDINGS = {
    "": "",
    "sdk": "from ferrule_sdk import Ferrule\n",
    "proxy": """
import sys
from pathlib import Path
from ferrule_hookspecs import PluginContext
from ferrule_network.gate import Gate
from ferrule_network.proxy import Proxy
from ferrule_network.settings import settings_of
context = PluginContext(Path.cwd(), {"network": {"enabled": True}}, cwd=str(Path.cwd()))
records = []
""",
}
REVIEW = {"call": {"tool": "exec_command", "text": "curl x"}, "escalation": None}


def is_signature(tree):
    """Whether a block only shows how something is called."""
    functions = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return len(functions) == len(tree.body) and all(
        isinstance(f.body[-1], ast.Expr) and getattr(f.body[-1].value, "value", None) is ...
        for f in functions
    )


def execute(source, place, namespace):
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(source, place, "exec", flags, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        anyio.run(lambda: eval(code, namespace))
    else:
        exec(code, namespace)


def use(new):
    """Have what a block defines taken by what it is made for."""
    import pluggy

    from ferrule_hookspecs import PluginContext, Tool, hooks, markers

    served = {name: value for name, value in new.items() if hasattr(value, "ferrule_impl")}
    assert set(served) <= set(markers.HOOK_CONTRACTS), sorted(served)
    manager = pluggy.PluginManager(markers.PROJECT)
    manager.add_hookspecs(hooks)
    manager.register(SimpleNamespace(**served))
    for value in new.values():
        is_tool = isinstance(value, type) and issubclass(value, Tool)
        if is_tool and value.__module__ == "page":
            assert value(PluginContext(Path.cwd(), {})).schema().name == value.name


def run_rules(text):
    """Have the rules of a block tried on their own examples."""
    Path("page.rules").write_text(text)
    subprocess.run([sys.executable, "-m", "ferrule", "rules", "test", "page.rules"], check=True)


def run(block, namespace):
    source, place, kind = block["text"], block["place"], block["as"]
    if kind == "rules":
        return run_rules(source)
    if kind == "reviewer":
        sys.stdin = io.StringIO(json.dumps(REVIEW))
        kind = ""
    tree = ast.parse(source) if kind == "" and "await" not in source else None
    if tree is not None and is_signature(tree):
        source = "from __future__ import annotations\n" + source
        return exec(compile(source, place, "exec", dont_inherit=True), {})
    before = dict(namespace)
    execute(SURROUNDINGS[kind], "surroundings", namespace)
    execute(source, place, namespace)
    use({name: value for name, value in namespace.items() if before.get(name) is not value})
    return None


def main():
    namespace = {"__name__": "page", "__file__": str(Path("tests/page.py").resolve())}
    for block in json.load(sys.stdin):
        try:
            run(block, namespace)
        except BaseException as error:
            raise SystemExit(f"{block['place']}: {type(error).__name__}: {error}") from error


if __name__ == "__main__":
    main()
