"""The tool `web_search`, which the model's provider runs by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, cast

from ferrule_hookspecs.errors import ConfigError, ToolError
from ferrule_hookspecs.tools import HostedSchema, Tool, ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext

Mode = Literal["disabled", "cached", "indexed", "live"]
_ACCESS: Final[Mapping[str, Mapping[str, object]]] = {
    "cached": {"external_web_access": False},
    "indexed": {"external_web_access": True, "indexed_web_access": True},
    "live": {"external_web_access": True},
}
_SIZES: Final = ("low", "medium", "high")
_PLACE: Final = ("country", "region", "city", "timezone")
_WIDE: Final = ("indexed", "live")
_API: Final = "responses"
_WHERE: Final = "[tools.web_search]"


class WebSearch(Tool):
    """Has the provider search the web; nothing of it runs here."""

    name = "web_search"
    description = "Searches the web."
    read_only = True

    def __init__(self, context: PluginContext) -> None:
        """Read how the web may be searched.

        Raises:
            ConfigError: The configuration makes no sense.
        """
        super().__init__(context)
        self._mode = _mode(context.config)
        table = context.table("tools", self.name)
        self._settings = {**_ACCESS.get(self._mode, {}), **_wishes(table)}

    def is_enabled(self) -> bool:
        """Off where `web_search = "disabled"`."""
        wire_api = self._wire_api()
        if self.context.config.get("web_search") in _WIDE and wire_api != _API:
            self.context.warn(
                f"`web_search` is {self._mode!r}, but a provider with `wire_api` {wire_api!r} has"
                " no search that could be offered"
            )
        return self._mode != "disabled"

    def _wire_api(self) -> str:
        provider = str(self.context.config.get("model_provider"))
        return str(self.context.table("model_providers", provider).get("wire_api") or _API)

    def schema(self) -> HostedSchema:
        """What the provider is told."""
        return HostedSchema(self.name, self._settings)

    def item(self, call: ToolCall, cwd: str) -> None:
        """The provider's searches have items of their own."""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Refuse: a model that calls it like other tools has mistaken it for one of those."""
        raise ToolError("web_search is run by the model's provider itself, not by a call")


def _mode(config: Mapping[str, object]) -> Mode:
    """As configured; else from the provider's cache, and live where nothing is confined anyway."""
    chosen = config.get("web_search")
    if chosen is None:
        is_open = config.get("sandbox_mode") == "danger-full-access"
        return "live" if is_open else "cached"
    return cast("Mode", chosen)


def _wishes(table: Mapping[str, object]) -> dict[str, object]:
    wishes: dict[str, object] = {}
    if domains := table.get("allowed_domains"):
        if not _is_texts(domains):
            raise ConfigError(f"{_WHERE} `allowed_domains` must be a list of domain names")
        wishes["filters"] = {"allowed_domains": list(cast("list[str]", domains))}
    if location := table.get("location"):
        wishes["user_location"] = {"type": "approximate", **_location(location)}
    if (size := table.get("context_size")) is not None:
        if size not in _SIZES:
            raise ConfigError(
                f"{_WHERE} `context_size` is {size!r}; it must be low, medium or high"
            )
        wishes["search_context_size"] = size
    return wishes


def _location(value: object) -> dict[str, object]:
    given = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {"": value}
    if unknown := sorted(set(given) - set(_PLACE)):
        raise ConfigError(f"{_WHERE} `location` may hold {', '.join(_PLACE)}, not {unknown[0]!r}")
    if not all(isinstance(each, str) for each in given.values()):
        raise ConfigError(f"{_WHERE} `location` must hold texts")
    return {key: given[key] for key in _PLACE if key in given}


def _is_texts(value: object) -> bool:
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [None]
    return all(isinstance(item, str) for item in items)
