"""Many small plugins at once, written into a site folder as an installer would."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

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
_METADATA: Final = """\
Metadata-Version: 2.1
Name: {distribution}
Version: 1.0
Summary: One of many.
Author: Acme
Requires-Dist: ferrule-hookspecs>=0.1,<1

"""


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
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": '"""One of many."""\n',
        f"{name}/part.py": source.format(name=name),
        f"{info}/METADATA": _METADATA.format(distribution=name.replace("_", "-")),
        f"{info}/entry_points.txt": f"[{group}]\n{name} = {name}.part{target}\n",
        f"{info}/INSTALLER": "testkit\n",
    }
    record = ""
    for path, text in files.items():
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_text(text, encoding="utf-8")
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        record += f"{path},sha256={digest.rstrip(b'=').decode()},{len(text.encode())}\n"
    (site / info / "RECORD").write_text(f"{record}{info}/RECORD,,\n", encoding="utf-8")
    return name
