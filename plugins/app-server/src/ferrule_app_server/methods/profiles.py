"""`permissionProfile/list`: the built-in permission profiles, which are the sandbox modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NotRequired

from typing_extensions import TypedDict

from ferrule_app_server.methods.folders import config_at
from ferrule_app_server.methods.pagination import page
from ferrule_app_server.permission_profiles import PROFILES
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.policies import SandboxMode
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


def profile_mode(name: str) -> SandboxMode:
    """Return the sandbox mode a profile stands for.

    Raises:
        RpcError: There is no such profile.
    """
    mode = PROFILES.get(name)
    if mode is None:
        raise RpcError(f"unknown permission profile `{name}`; there are {', '.join(PROFILES)}")
    return mode


async def _list(call: RpcCall) -> Mapping[str, object]:
    config = await config_at(call, call.params.get("cwd"))
    allowed = config.allowed.get("sandbox_mode")
    profiles: list[Profile] = [
        {"id": name, "description": None, "allowed": allowed is None or mode in allowed}
        for name, mode in PROFILES.items()
    ]
    return page(profiles, call.params)


METHODS: Final = (
    RpcMethod("permissionProfile/list", _list, ProfileListParams, result=ProfileListResult),
)
