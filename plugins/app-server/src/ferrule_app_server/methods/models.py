"""`model/list` and `modelProvider/*`: which models there are, and who serves them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NotRequired, cast

from anyio.to_thread import run_sync
from typing_extensions import TypedDict

from ferrule_app_server.methods.pagination import page
from ferrule_hookspecs.host import ConfigEdit
from ferrule_hookspecs.models import ModelInfo
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.serving import RpcCall

_EFFORTS: Final[Mapping[str, str]] = {
    "none": "Does not think first",
    "minimal": "Thinks as little as it can",
    "low": "Thinks briefly; quickest answers",
    "medium": "Balances thinking and speed",
    "high": "Thinks longer, for hard problems",
    "xhigh": "Thinks longest, for the hardest problems",
}
"""The efforts that every client knows; others are not told."""
_WORD: Final = re.compile(r"[a-z0-9]+")
_MODALITIES: Final = ("text", "image")


class ModelListParams(TypedDict):
    """Which models: those of the configured provider, unless another is named."""

    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]
    includeHidden: NotRequired[bool | None]
    modelProvider: NotRequired[str | None]


class EffortOption(TypedDict):
    """How long a model may think."""

    reasoningEffort: str
    description: str


class Model(TypedDict):
    """A model that may be chosen."""

    id: str
    model: str
    displayName: str
    description: str
    hidden: bool
    isDefault: bool
    supportedReasoningEfforts: list[EffortOption]
    defaultReasoningEffort: str
    inputModalities: list[Literal["text", "image"]]
    supportsPersonality: bool
    upgrade: None


class ModelListResult(TypedDict):
    """The models, the configured one first."""

    data: list[Model]
    nextCursor: str | None


class Auth(TypedDict):
    """How a provider is given a key."""

    mode: Literal["none", "environmentVariable", "externallyConfigured"]
    envKey: NotRequired[str | None]


class ProviderSettings(TypedDict):
    """What kind of provider it is."""

    type: Literal["openai", "customGateway"]
    auth: NotRequired[Auth]


class ProviderSummary(TypedDict):
    """An entry of `model_providers`."""

    id: str
    name: str
    baseUrl: str | None
    canEdit: bool
    settings: ProviderSettings


class ProviderListResult(TypedDict):
    """The providers, and which one is used."""

    data: list[ProviderSummary]
    defaultProviderId: str
    canChangeDefault: bool


class NoParams(TypedDict):
    """Nothing to say."""


class Capabilities(TypedDict):
    """What the configured provider does beside answering."""

    imageGeneration: bool
    webSearch: bool


class GatewayPatch(TypedDict):
    """What to set of a provider of the user's own; what is absent or null stays."""

    type: Literal["customGateway"]
    providerId: NotRequired[str | None]
    name: NotRequired[str | None]
    baseUrl: NotRequired[str | None]
    envKey: NotRequired[str | None]


class ProviderWriteParams(TypedDict):
    """Settings of a provider; one without `providerId` is new, and named after its `name`."""

    settings: GatewayPatch


class ProviderWriteResult(TypedDict):
    """The provider as it is now."""

    provider: ProviderSummary


async def _list(call: RpcCall) -> Mapping[str, object]:
    config = call.config
    provider = str(call.params.get("modelProvider") or config.values["model_provider"])
    if provider not in _providers(config):
        raise RpcError(f"Model provider `{provider}` not found")
    known = await call.kernel.models(config)
    infos = [info for info in known if info.provider in ("", provider)]
    own = provider == config.values["model_provider"]
    chosen = str(config.values.get("model")) if own else None
    if chosen and all(info.name != chosen for info in infos):
        # Gateways serve models of others, as they are.
        infos += [info for info in known if info.name == chosen][:1] or [ModelInfo(chosen)]
    models = {info.name: _model(info, is_default=info.name == chosen) for info in infos}
    ordered = sorted(models.values(), key=lambda model: not model["isDefault"])
    return page(ordered, call.params)


def _model(info: ModelInfo, *, is_default: bool) -> Model:
    efforts = [effort for effort in info.reasoning_efforts if effort in _EFFORTS]
    default = info.default_effort if info.default_effort in efforts else None
    if default is None:
        default = "medium" if "medium" in efforts else efforts[0] if efforts else "none"
    window = info.context_window
    return {
        "id": info.name,
        "model": info.name,
        "displayName": info.display_name or info.name,
        "description": f"{window:,} tokens of context" if window else "",
        "hidden": False,
        "isDefault": is_default,
        "supportedReasoningEfforts": [
            {"reasoningEffort": effort, "description": _EFFORTS[effort]} for effort in efforts
        ],
        "defaultReasoningEffort": default,
        "inputModalities": [each for each in _MODALITIES if each in info.input_modalities],
        "supportsPersonality": False,
        "upgrade": None,
    }


async def _list_providers(call: RpcCall) -> Mapping[str, object]:
    config = call.config
    allowed: Sequence[str] = config.allowed.get("model_provider", ())
    return {
        "data": [
            _summary(config, name, table) for name, table in sorted(_providers(config).items())
        ],
        "defaultProviderId": str(config.values["model_provider"]),
        "canChangeDefault": len(allowed) != 1,
    }


def _summary(config: Config, name: str, table: Mapping[str, object]) -> ProviderSummary:
    settings: ProviderSettings = {"type": "openai"}
    if name != "openai":
        settings = {"type": "customGateway", "auth": _auth(table)}
    url = table.get("base_url")
    return {
        "id": name,
        "name": str(table.get("name") or name),
        "baseUrl": url if isinstance(url, str) else None,
        "canEdit": config.origin(f"{_key(name)}.base_url").layer == "user",
        "settings": settings,
    }


def _key(name: str) -> str:
    """Write the key of a provider as in config.toml."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'model_providers."{quoted}"'


def _auth(table: Mapping[str, object]) -> Auth:
    key = table.get("env_key")
    if isinstance(key, str):
        return {"mode": "environmentVariable", "envKey": key}
    is_configured = "auth" in table or "experimental_bearer_token" in table
    return {"mode": "externallyConfigured" if is_configured else "none"}


def _providers(config: Config) -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", config.get("model_providers", {}))


async def _write_provider(call: RpcCall) -> Mapping[str, object]:
    patch = cast("Mapping[str, object]", call.params["settings"])
    name = str(patch.get("providerId") or _id_from(patch.get("name")))
    keys = {"name": "name", "baseUrl": "base_url", "envKey": "env_key"}
    values = {key: patch[given] for given, key in keys.items() if patch.get(given) is not None}
    if not values:
        raise RpcError("modelProvider/config/write requires something to set")
    edit = ConfigEdit(_key(name), values, merge=True)
    config = await run_sync(partial(call.kernel.write_config, call.request, [edit]))
    return {"provider": _summary(config, name, _providers(config)[name])}


def _id_from(name: object) -> str:
    found = "-".join(_WORD.findall(str(name or "").lower()))
    if not found:
        raise RpcError("modelProvider/config/write requires `providerId` or `name`")
    return found


async def _capabilities(call: RpcCall) -> Mapping[str, object]:
    """Images are made by no tool of ours; the web is searched by providers of one API."""
    config = call.config
    provider = _providers(config).get(str(config.values["model_provider"]), {})
    searches = provider.get("wire_api", "responses") == "responses"
    is_off = config.values.get("web_search") == "disabled"
    return {"imageGeneration": False, "webSearch": searches and not is_off}


METHODS: Final = (
    RpcMethod("model/list", _list, ModelListParams, result=ModelListResult),
    RpcMethod("modelProvider/list", _list_providers, NoParams, result=ProviderListResult),
    RpcMethod(
        "modelProvider/config/write",
        _write_provider,
        ProviderWriteParams,
        result=ProviderWriteResult,
    ),
    RpcMethod("modelProvider/capabilities/read", _capabilities, NoParams, result=Capabilities),
)
