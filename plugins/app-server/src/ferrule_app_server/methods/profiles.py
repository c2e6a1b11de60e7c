"""`permissionProfile/list`: the permission profiles that a client may name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NotRequired

from typing_extensions import TypedDict

from ferrule_app_server.methods.folders import config_at
from ferrule_app_server.methods.pagination import page
from ferrule_hookspecs.serving import RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.serving import RpcCall


class ProfileListParams(TypedDict):
    """The folder the profiles would be used in."""

    cwd: NotRequired[str | None]
    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]


class Profile(TypedDict):
    """A profile, and whether the administrator allows it."""

    id: str
    description: str | None
    allowed: bool


class ProfileListResult(TypedDict):
    """The profiles."""

    data: list[Profile]
    nextCursor: str | None


async def _list(call: RpcCall) -> Mapping[str, object]:
    config = await config_at(call, call.params.get("cwd"))
    profiles: list[Profile] = [
        {"id": facts.id, "description": facts.description, "allowed": facts.is_allowed}
        for facts in call.kernel.permission_profiles(config)
    ]
    return page(profiles, call.params)


METHODS: Final = (
    RpcMethod("permissionProfile/list", _list, ProfileListParams, result=ProfileListResult),
)
