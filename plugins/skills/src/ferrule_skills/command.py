"""`ferrule skills`: which skills there are here, and whether a file of one is sound.

Loaded only when the command runs. Exit code of `check`: 0 where everything is sound, else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_hookspecs.host import Host
    from ferrule_skills.catalogue import Catalogue, Listed


class SkillsCommand:
    """The sub-command, a `RawCommand`."""

    help = "List skills, and check the file of one."
    options: Sequence[str] = ("list", "check")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `skills`; returns the exit code."""
        arguments = _parser().parse_args(list(argv))
        if arguments.action == "list":
            return _list(host, as_json=arguments.json)
        if arguments.action == "check":
            return _check(arguments.path)
        _parser().print_help()
        return 1


command = SkillsCommand()


_ACTIONS: Final = """\
Commands:
  list   list the skills that count here
  check  tell what is wrong with a SKILL.md, or with the skills of a folder
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ferrule skills",
        usage="ferrule skills list [--json] | ferrule skills check PATH",
        description=f"{SkillsCommand.help}\n\n{_ACTIONS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", help=argparse.SUPPRESS, title="actions")
    listing = actions.add_parser("list", prog="ferrule skills list")
    listing.add_argument("--json", action="store_true", help="one JSON object")
    check = actions.add_parser("check", prog="ferrule skills check")
    check.add_argument("path", metavar="PATH", help="a SKILL.md, or a folder with skills in it")
    return parser


def _list(host: Host, *, as_json: bool) -> int:
    from ferrule_hookspecs.host import ConfigRequest
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_skills.catalogue import find_catalogue

    cwd = os.getcwd()
    config = host.config(ConfigRequest(cwd))
    found = find_catalogue(
        PluginContext(
            host.home,
            config.values,
            cwd,
            environ=host.environ,
            project_root=config.project_root,
            is_trusted=config.is_trusted,
        )
    )
    sys.stdout.write(_as_json(found) if as_json else _as_text(found))
    return 0


def _as_json(found: Catalogue) -> str:
    faults = [*([] if found.untrusted is None else [found.untrusted]), *found.faults]
    value = {
        "skills": [
            {
                "name": each.skill.name,
                "description": each.skill.description,
                "path": each.skill.path,
                "scope": each.skill.scope,
                "enabled": each.is_enabled,
                "shadowedBy": each.shadowed_by or None,
            }
            for each in found.listed
        ],
        "errors": [
            {"path": fault.path, "line": fault.line or None, "message": fault.message}
            for fault in faults
        ],
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _as_text(found: Catalogue) -> str:
    lines: list[str] = []
    for each in found.listed:
        skill = each.skill
        lines += [f"{skill.name} ({_standing(each)})", f"  {skill.description}", f"  {skill.path}"]
    if not lines:
        lines.append("no skills; a skill is a folder with a SKILL.md in .agents/skills")
    if found.untrusted is not None:
        lines.append(f"warning: {found.untrusted}")
    lines += [f"error: {fault}" for fault in found.faults]
    return "\n".join(lines) + "\n"


def _standing(each: Listed) -> str:
    scope = {"repo": "project", "user": "user", "admin": "administrator"}[each.skill.scope]
    if not each.is_enabled:
        return f"{scope}, switched off"
    if each.shadowed_by:
        return f"{scope}, hidden by {each.shadowed_by}"
    return scope


def _check(path: str) -> int:
    from pathlib import Path

    from ferrule_skills.roots import FILE, files_below

    place = Path(path)
    if place.is_dir():
        if (place / FILE).exists():
            return _check_files([place / FILE])
        files = files_below(place)
        if files:
            return _check_files(files)
        sys.stderr.write(f"error: {path}: there is no {FILE} in it, nor in folders below\n")
        return 1
    return _check_files([place])


def _check_files(files: Sequence[Path]) -> int:
    from ferrule_skills.skill_file import SkillError, SkillFault, read_skill

    code = 0
    for file in files:
        try:
            skill = read_skill(file, file.parent.parent, "user")
            sys.stdout.write(f"{file}: sound: {skill.name}: {skill.description}\n")
        except SkillError as error:
            sys.stdout.write(f"{SkillFault(str(file), str(error), error.line)}\n")
            code = 1
    return code
