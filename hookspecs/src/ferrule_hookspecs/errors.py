"""The exception family of Ferrule. Every message is one sentence a user can act on."""

from __future__ import annotations


class FerruleError(Exception):
    """Root of every error a user may see: the message names the thing, its place and the mend."""


class ConfigError(FerruleError):
    """A configuration value is missing, unknown or of the wrong type."""


class PluginError(FerruleError):
    """A plugin is missing, broken, clashing or not trusted."""


class SessionRefusedError(FerruleError):
    """Something without which a session must not open is missing; no fault of the plugin."""


class ThreadNotFoundError(FerruleError):
    """No thread with the given id or name is stored."""


class ThreadBusyError(FerruleError):
    """Another process holds the writer lock of the thread."""


class StoreError(FerruleError):
    """A stored thread cannot be read or written."""


class ConfigConflictError(ConfigError):
    """The configuration file is not the one that was to be changed: it was changed meanwhile."""


class SandboxUnavailableError(FerruleError):
    """The sandbox itself could not start; the command did not run."""


class PolicyUnenforceableError(SandboxUnavailableError):
    """The backend cannot enforce something the policy asks for, so nothing was run."""


class ToolArgumentError(FerruleError):
    """The arguments of a tool call do not fit its schema; the message goes to the model."""


class ToolError(FerruleError):
    """A tool could not do what was asked; the message goes to the model."""


class InterruptedByUserError(FerruleError):
    """A signal ended the work; `signal` is its number."""

    def __init__(self, signal: int) -> None:
        """Name the signal."""
        super().__init__(f"interrupted by signal {signal}")
        self.signal = signal


class ProviderError(FerruleError):
    """A model request failed.

    Attributes:
        retryable: Whether the same request may succeed later.
        retry_after_s: How long the provider asks to wait, in seconds.
        kind: The app-server error class, such as ``unauthorized`` or ``contextWindowExceeded``.
        status: HTTP status, when there was one.
        max_retries: Tighter bound than the configured one; None keeps the configured bound.
        details: What the server itself said, where the message does not carry it.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        kind: str = "other",
        status: int | None = None,
        max_retries: int | None = None,
        details: str | None = None,
    ) -> None:
        """Record what the retry loop needs to know beside the message."""
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.kind = kind
        self.status = status
        self.max_retries = max_retries
        self.details = details
