"""`skills/*`: which skills there are, and which of them are on."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired, cast

from anyio.to_thread import run_sync
from typing_extensions import TypedDict

from ferrule_hookspecs.host import ConfigEdit
from ferrule_hookspecs.serving import RpcError, RpcMethod
from ferrule_skills.catalogue import find_catalogue
from ferrule_skills.extra_roots import extra_roots, set_extra_roots

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.plugins import PluginContext
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
    scope: Literal["user", "repo", "admin"]
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


def methods(context: PluginContext) -> Sequence[RpcMethod]:
    """The methods of a server; `context` is the plugin's outside of any thread."""
    changed = {"skills/changed": Nothing}
    return (
        RpcMethod(
            "skills/list", partial(_list, context), SkillsListParams, result=SkillsListResult
        ),
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
            notifications=changed,
        ),
    )


async def _list(context: PluginContext, call: RpcCall) -> Mapping[str, object]:
    asked = cast("Sequence[str] | None", call.params.get("cwds")) or [call.request.cwd]
    return {"data": [await _entry(context, call, cwd) for cwd in asked]}


async def _entry(context: PluginContext, call: RpcCall, cwd: str) -> SkillsListEntry:
    where = _folder(call.request.cwd, cwd)
    config = call.config
    if where != call.request.cwd:
        config = await run_sync(call.kernel.config, call.request._replace(cwd=where))
    there = context._replace(
        config=config.values,
        cwd=where,
        project_root=config.project_root,
        is_trusted=config.is_trusted,
        runtime=call.kernel.runtime,
    )
    found = await run_sync(partial(find_catalogue, there, extra_roots(there)))
    untrusted = [] if found.untrusted is None else [found.untrusted]
    return {
        "cwd": cwd,
        "skills": [
            {
                "name": each.skill.name,
                "description": each.skill.description,
                "path": each.skill.path,
                "scope": each.skill.scope,
                "enabled": each.is_enabled,
            }
            for each in found.listed
        ],
        "errors": [
            {"path": fault.path, "message": fault.message if not fault.line else str(fault)}
            for fault in (*untrusted, *found.faults)
        ],
    }


async def _write(call: RpcCall) -> Mapping[str, object]:
    given = {key: call.params.get(key) for key in ("name", "path")}
    named = {key: value for key, value in given.items() if value is not None}
    if len(named) != 1:
        raise RpcError("skills/config/write requires exactly one of `name` and `path`")
    if "path" in named:
        _absolute(str(named["path"]))
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
    roots = [Path(_absolute(root)) for root in cast("list[str]", call.params["extraRoots"])]
    set_extra_roots(call.kernel.runtime, roots)
    call.broadcast("skills/changed", {})
    return {}


def _folder(base: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(base, _path(cwd)))


def _absolute(path: str) -> str:
    if not os.path.isabs(path):
        raise RpcError(f"Invalid request: the path {path!r} is not absolute")
    return _path(path)


def _path(text: str) -> str:
    if "\0" in text:
        raise RpcError("Invalid request: a path cannot hold a NUL character")
    return text
