"""What `[auto_review]` says, and the policy text that comes of it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.plugins import PluginContext

_TIMEOUT_MS: Final = 90_000
_NO_POLICY: Final = "There is none beyond this text."


class GuardianSettings(NamedTuple):
    """How reviews are made.

    Attributes:
        model: The model; empty for the default of a provider of its own, else the session's.
        provider: The model provider; empty for the session's.
        timeout_s: How long one review may take.
        is_strict: Whether a turn that is ended for too many refusals ends with an error of its own.
        policy: The whole text the reviewing model begins with.
    """

    model: str
    provider: str
    timeout_s: float
    is_strict: bool
    policy: str

    @classmethod
    def read(cls, context: PluginContext) -> GuardianSettings:
        """Read the settings of a session; the administrator's are already laid over them."""
        table = context.table("auto_review")
        provider = _text(table, "provider")
        own_default = _text(context.table("model_providers", provider), "default_model")
        timeout = table.get("timeout_ms")
        return cls(
            _text(table, "model") or (own_default if provider else ""),
            provider,
            (timeout if isinstance(timeout, int) else _TIMEOUT_MS) / 1000,
            table.get("circuit_break_action") == "strict",
            policy_text(_text(table, "policy"), _text(table, "extra_policy")),
        )


def policy_text(policy: str, extra: str) -> str:
    """Return the reviewing model's instructions with somebody's policy in them."""
    given = "\n\n".join(part.strip() for part in (policy, extra) if part.strip())
    text = files("ferrule_reviewer_guardian").joinpath("policy.md").read_text(encoding="utf-8")
    return text.replace("{policy}", given or _NO_POLICY, 1)


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
