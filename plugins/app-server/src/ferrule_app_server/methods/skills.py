"""`skills/*`: which skills there are, and which of them are on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NotRequired, cast
from weakref import WeakKeyDictionary

from anyio.to_thread import run_sync
from typing_extensions import TypedDict

from ferrule_app_server.methods.folders import absolute, config_at, folder
from ferrule_app_server.methods.skill_files import Skill, SkillFault, find_skills, skill_folders
from ferrule_hookspecs.host import ConfigEdit
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_app_server.methods.skill_files import Scope
    from ferrule_hookspecs.host import Config, Kernel
    from ferrule_hookspecs.serving import RpcCall


class SkillsListParams(TypedDict):
    """The folders in question; the server's own where none is named."""

    cwds: NotRequired[list[str] | None]
    forceReload: NotRequired[bool | None]


class SkillMetadata(TypedDict):
    """A skill."""

    name: str
    description: str
    path: str
    scope: Literal["user", "repo"]
    enabled: bool


class SkillErrorInfo(TypedDict):
    """A skill that cannot be used."""

    path: str
    message: str


class SkillsListEntry(TypedDict):
    """The skills for one folder."""

    cwd: str
    skills: list[SkillMetadata]
    errors: list[SkillErrorInfo]


class SkillsListResult(TypedDict):
    """The skills by folder."""

    data: list[SkillsListEntry]


class SkillsConfigWriteParams(TypedDict):
    """A skill by name or path, and whether it is to be on."""

    name: NotRequired[str | None]
    path: NotRequired[str | None]
    enabled: bool


class SkillsConfigWriteResult(TypedDict):
    """Whether it is on now."""

    effectiveEnabled: bool


class ExtraRootsParams(TypedDict):
    """More folders that hold skills, while the server runs; they replace those set before."""

    extraRoots: list[str]


class Nothing(TypedDict):
    """Nothing to say."""


_extra_roots: WeakKeyDictionary[Kernel, tuple[Path, ...]] = WeakKeyDictionary()


async def _list(call: RpcCall) -> Mapping[str, object]:
    asked = cast("Sequence[str] | None", call.params.get("cwds")) or [call.request.cwd]
    return {"data": [await _entry(call, cwd) for cwd in asked]}


async def _entry(call: RpcCall, cwd: str) -> SkillsListEntry:
    where = folder(call, cwd)
    config = await config_at(call, cwd)
    extra: list[tuple[Path, Scope]] = [(root, "user") for root in _extra_roots.get(call.kernel, ())]
    folders = [*extra, *skill_folders(where, config.project_root, call.kernel.home)]
    found = await run_sync(partial(_found, folders))
    choices = _choices(config)
    return {
        "cwd": cwd,
        "skills": [
            {
                "name": skill.name,
                "description": skill.description,
                "path": skill.path,
                "scope": skill.scope,
                "enabled": _is_enabled(skill, choices),
            }
            for skill in found
            if isinstance(skill, Skill)
        ],
        "errors": [
            {"path": fault.path, "message": fault.message}
            for fault in found
            if isinstance(fault, SkillFault)
        ],
    }


def _found(folders: Sequence[tuple[Path, Scope]]) -> list[Skill | SkillFault]:
    return [found for place, scope in folders for found in find_skills(place, scope)]


def _choices(config: Config) -> Sequence[Mapping[str, object]]:
    return cast("Sequence[Mapping[str, object]]", config.get("skills.config", ()))


def _is_enabled(skill: Skill, choices: Sequence[Mapping[str, object]]) -> bool:
    """The last choice that names the skill counts."""
    enabled = True
    for choice in choices:
        if choice.get("path") == skill.path or choice.get("name") == skill.name:
            enabled = choice.get("enabled") is not False
    return enabled


async def _write(call: RpcCall) -> Mapping[str, object]:
    given = {key: call.params.get(key) for key in ("name", "path")}
    named = {key: value for key, value in given.items() if value is not None}
    if len(named) != 1:
        raise RpcError("skills/config/write requires exactly one of `name` and `path`")
    if "path" in named:
        absolute(named["path"])
    enabled = bool(call.params["enabled"])
    user = next((layer for layer in call.config.layers if layer.name == "user"), None)
    own = cast("Mapping[str, object]", user.values.get("skills", {}) if user else {})
    choices = [
        choice
        for choice in cast("Sequence[Mapping[str, object]]", own.get("config", ()))
        if any(choice.get(key) != value for key, value in named.items())
    ]
    if not enabled:
        choices.append({**named, "enabled": False})
    edit = ConfigEdit("skills.config", choices or None)
    await run_sync(partial(call.kernel.write_config, call.request, [edit]))
    return {"effectiveEnabled": enabled}


async def _set_extra_roots(call: RpcCall) -> Mapping[str, object]:
    roots = [Path(absolute(root)) for root in cast("list[str]", call.params["extraRoots"])]
    _extra_roots[call.kernel] = tuple(roots)
    call.broadcast("skills/changed", {})
    return {}


METHODS: Final = (
    RpcMethod("skills/list", _list, SkillsListParams, result=SkillsListResult),
    RpcMethod(
        "skills/config/write",
        _write,
        SkillsConfigWriteParams,
        result=SkillsConfigWriteResult,
    ),
    RpcMethod(
        "skills/extraRoots/set",
        _set_extra_roots,
        ExtraRootsParams,
        result=Nothing,
        notifications={"skills/changed": Nothing},
    ),
)
