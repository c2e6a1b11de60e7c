"""What every check of the kernel may look at: one configuration on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.plugins import PluginContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.config.provenance import LoadedConfig
    from ferrule.host import LocalHost
    from ferrule.kernel import LocalKernel
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.host import ConfigRequest


@dataclass
class Examination:
    """One run of the doctor.

    Attributes:
        host: The process it runs in.
        kernel: A running kernel; owns whatever the checks start.
        request: How the configuration is read.
        may_connect: Whether checks may use the network.
        fault: Why the configuration cannot be used; empty when it can.
    """

    host: LocalHost
    kernel: LocalKernel
    request: ConfigRequest
    may_connect: bool = True
    fault: str = ""

    @cached_property
    def config(self) -> LoadedConfig | None:
        """The configuration; None when it cannot be used, and `fault` says why."""
        try:
            return self.host.read(self.request)
        except FerruleError as error:
            self.fault = str(error)
            return None

    @cached_property
    def manager(self) -> PluginManager | None:
        """The plugins; None without a configuration, as it alone says which may be imported."""
        if self.config is None:
            return None
        try:
            return self.kernel.manager(self.config.values)
        except Exception as error:  # noqa: BLE001 -- the doctor must be able to tell of it
            self.fault = str(error) or type(error).__name__
            return None

    @property
    def cwd(self) -> str:
        """Absolute working directory."""
        return self.request.cwd

    @property
    def environ(self) -> Mapping[str, str]:
        """The process environment."""
        return self.kernel.environ

    @property
    def context(self) -> PluginContext:
        """What plugins are told; the configuration is empty where it cannot be used."""
        values: Mapping[str, object] = self.config.values if self.config else {}
        return PluginContext(self.kernel.home, values, self.cwd, environ=self.environ)
