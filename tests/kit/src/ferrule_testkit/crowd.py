"""Many small plugins at once, written into a site folder as an installer would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_testkit.distribution import Distribution

if TYPE_CHECKING:
    from pathlib import Path

CROWD: Final = "acme_crowd"
"""What the module of each begins with."""
_TOOL: Final = """\
from ferrule_hookspecs import Tool, ToolResult


class Part(Tool):
    \"\"\"A tool.\"\"\"

    name = "{name}"
    description = "Says hello."

    async def run(self, call, context):
        return ToolResult("hello")
"""
_HOOKS: Final = """\
from ferrule_hookspecs import hookimpl


@hookimpl
def ferrule_turn_end(turn, outcome):
    return None
"""
_COMMAND: Final = """\
class Command:
    help = "Say hello."
    options = ("--loud",)

    def main(self, argv, host):
        return 0


Part = Command()
"""
_REVIEWER: Final = """\
class Part:
    name = "{name}"

    def __init__(self, context):
        self.context = context

    async def review(self, request, context):
        return {{"decision": "decline", "reviewer": self.name, "reason": "no"}}
"""
_KINDS: Final = (
    ("ferrule.tools", ":Part", _TOOL),
    ("ferrule.plugins", "", _HOOKS),
    ("ferrule.commands", ":Part", _COMMAND),
    ("ferrule.reviewers", ":Part", _REVIEWER),
)


def install_crowd(site: Path, count: int) -> list[str]:
    """Install plugins of several kinds, numbered from 0; returns their names.

    Args:
        site: The site folder.
        count: How many.
    """
    return [_install(site, number) for number in range(count)]


def _install(site: Path, number: int) -> str:
    name = f"{CROWD}_{number:02}"
    group, target, source = _KINDS[number % len(_KINDS)]
    files = {
        f"{name}/__init__.py": '"""One of many."""\n',
        f"{name}/part.py": source.format(name=name),
    }
    points = {f"{group}:{name}": f"{name}.part{target}"}
    Distribution(name.replace("_", "-"), points, files).install(site)
    return name
