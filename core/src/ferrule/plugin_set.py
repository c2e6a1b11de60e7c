"""The plugins one session uses, loaded when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, cast

from ferrule.config.defaults import DEFAULT_COMPACTOR
from ferrule.reviewers import Reviewers
from ferrule_hookspecs.errors import ConfigError, PluginError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ferrule.manager import PluginManager
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelProvider
    from ferrule_hookspecs.review import Reviewer
    from ferrule_hookspecs.sandbox import Feature, ResolvedPolicy, SandboxBackend
    from ferrule_hookspecs.slots import Compactor


_PROVIDERS: Final = "ferrule.providers"


class Closable(Protocol):
    """What holds something until it is closed."""

    async def aclose(self) -> None:
        """Give everything back."""
        ...


class PluginSet:
    """Finds the drivers that a session's configuration names."""

    def __init__(
        self,
        manager: PluginManager,
        context: PluginContext,
        warn: Callable[[str], None] = lambda _: None,
        allowed: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._manager = manager
        self._warn = warn
        self._context = context
        self._allowed = allowed
        self._reviewers = Reviewers(manager, context, allowed)
        self._review_providers: dict[str, ModelProvider] = {}
        self._backends: dict[frozenset[Feature], SandboxBackend] = {}
        self._wires: dict[str, str] = {}
        self._told: set[str] = set()
        self._loaded_compactor: Compactor | None = None

    def check(self) -> None:
        """Fail before anything is started when a named driver is not installed.

        Raises:
            FerruleError: Something required or named is missing, or a reviewer cannot work.
        """
        if missing := self._manager.required_missing():
            raise PluginError("; ".join(missing))
        config = self._context.config
        named = {
            "ferrule.sandboxes": config.get("sandbox_backend"),
            "ferrule.compactors": config.get("compactor") if self.compactor else None,
        }
        for group, name in named.items():
            if isinstance(name, str) and name not in ("", "auto", *self._manager.names(group)):
                self._manager.driver(group, name, self._context)  # raises, and says what to do
        self._reviewers.check(self.reviewer_name)

    @cached_property
    def reviewer_name(self) -> str:
        """The configured reviewer."""
        name = str(self._context.config.get("approvals_reviewer") or "user")
        return self._reviewers.resolved(name)

    def reviewer(self, name: str = "") -> Reviewer:
        """Return the driver of a reviewer, of the configured one without a name."""
        return self._reviewers.get(self._reviewers.resolved(name) if name else self.reviewer_name)

    def resolve_reviewer(self, name: str) -> str:
        """Return the name by which a reviewer is installed.

        Raises:
            FerruleError: It is not, is not allowed, or cannot work.
        """
        resolved = self._reviewers.resolved(name)
        self._reviewers.check(resolved)
        return resolved

    def backend(self, policy: ResolvedPolicy) -> SandboxBackend:
        """The sandbox for a policy; raises rather than widen."""
        from ferrule.backend_choice import choose_backend, needed_features

        needed = needed_features(policy)
        if needed not in self._backends:
            name = str(self._context.config.get("sandbox_backend") or "auto")
            self._backends[needed] = choose_backend(
                self._manager, name, self._context, policy, self._warn_once
            )
        return self._backends[needed]

    def _warn_once(self, text: str) -> None:
        """Say of a choice what is not confined; a change of the mode need not repeat it."""
        if text not in self._told:
            self._told.add(text)
            self._warn(text)

    @cached_property
    def unconfined(self) -> SandboxBackend:
        """The backend for what nobody confines."""
        from ferrule.backend_choice import unconfined_backend

        name = str(self._context.config.get("sandbox_backend") or "auto")
        return unconfined_backend(self._manager, name, self._context)

    def switch(
        self, manager: PluginManager, changed: Collection[tuple[str, str]]
    ) -> list[Closable]:
        """Find everything in another manager from now on.

        Args:
            manager: The other manager.
            changed: Group and name of the entries that are not what they were.

        Returns:
            What was made of those and is no longer used; the caller closes it.
        """
        self._manager = manager
        self._reviewers.switch(manager, changed)
        old: list[Closable] = []
        if ("ferrule.compactors", str(self._context.config.get("compactor"))) in changed:
            self._loaded_compactor = None
        for features, backend in list(self._backends.items()):
            if ("ferrule.sandboxes", backend.name) in changed:
                old.append(self._backends.pop(features))
        if "unconfined" in self.__dict__ and ("ferrule.sandboxes", self.unconfined.name) in changed:
            old.append(self.__dict__.pop("unconfined"))
        asked = [n for n in self._review_providers if (_PROVIDERS, self._wires[n]) in changed]
        old += [self._review_providers.pop(name) for name in asked]
        wire = self._wires.get(self.provider_name)
        if "provider" in self.__dict__ and (_PROVIDERS, wire) in changed:
            old.append(self.__dict__.pop("provider"))
        return old

    def keep_provider(self, provider: ModelProvider) -> None:
        """Go on with a provider that was to be replaced."""
        self.__dict__["provider"] = provider

    async def aclose(self) -> None:
        """Close the sandboxes and the reviewers' providers that were loaded."""
        for provider in self._review_providers.values():
            await provider.aclose()
        for backend in self._backends.values():
            await backend.aclose()
        if "unconfined" in self.__dict__:
            await self.unconfined.aclose()

    @property
    def compactor(self) -> Callable[[], Compactor] | None:
        """Loads the configured compactor, if there is one; the default need not be installed."""
        name = self._context.config.get("compactor")
        if not isinstance(name, str) or not name:
            return None
        if name == DEFAULT_COMPACTOR and name not in self._manager.names("ferrule.compactors"):
            return None
        return lambda: self._compactor(name)

    def _compactor(self, name: str) -> Compactor:
        if self._loaded_compactor is None:
            driver = self._manager.driver("ferrule.compactors", name, self._context)
            self._loaded_compactor = cast("Compactor", driver)
        return self._loaded_compactor

    @cached_property
    def provider_name(self) -> str:
        """The configured model provider."""
        return str(self._context.config.get("model_provider"))

    @cached_property
    def provider(self) -> ModelProvider:
        """The driver of the configured model provider.

        Raises:
            ConfigError: The provider is not configured.
        """
        return self._open_provider("model_provider", self.provider_name, {})

    def review_provider(self, name: str) -> ModelProvider:
        """Open a provider for a reviewer's own requests, which it does not try again by itself.

        Raises:
            ConfigError: The provider is not configured.
        """
        name = name or self.provider_name
        if name not in self._review_providers:
            once = {"request_max_retries": 0, "stream_max_retries": 0}
            self._review_providers[name] = self._open_provider("auto_review.provider", name, once)
        return self._review_providers[name]

    def _open_provider(self, key: str, name: str, changes: Mapping[str, object]) -> ModelProvider:
        from ferrule.turn_settings import check_allowed

        check_allowed("model_provider", name, self._allowed)
        tables = self._context.table("model_providers")
        table = tables.get(name)
        if not isinstance(table, Mapping):
            known = ", ".join(sorted(tables))
            raise ConfigError(
                f"{key}: {name!r} is not configured; add a table"
                f" [model_providers.{name}] to config.toml or use one of: {known}"
            )
        settings = dict(cast("Mapping[str, object]", table))
        settings |= cast("Mapping[str, object]", settings.pop("settings", {}))
        settings |= changes
        wire_api = self._wires[name] = str(settings.get("wire_api") or "responses")
        context = self._context._replace(settings=settings)
        return cast("ModelProvider", self._manager.driver(_PROVIDERS, wire_api, context))
