"""What is told of a turn that did not end well, in the classes of errors that clients know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from ferrule.approval_question import TurnCancelledError
from ferrule.budget_account import BudgetExceededError
from ferrule_hookspecs.errors import FerruleError, ProviderError

if TYPE_CHECKING:
    from ferrule_hookspecs.threads import TurnError

_WITH_STATUS: Final = frozenset(
    {"httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected"}
)


def failure_of(error: BaseException) -> tuple[Literal["failed", "interrupted"], TurnError]:
    """Describe what ended a turn; looks through the groups that task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, TurnCancelledError):
        told: TurnError = {"message": str(error)}
        if error.error_info:
            told["codexErrorInfo"] = error.error_info
        return "interrupted", told
    if isinstance(error, ProviderError):
        return "failed", provider_failure(error)
    if isinstance(error, BudgetExceededError):
        return "failed", {"message": str(error), "codexErrorInfo": "sessionBudgetExceeded"}
    if isinstance(error, FerruleError):
        return "failed", {"message": str(error), "codexErrorInfo": "other"}
    text = f"internal error: {type(error).__name__}: {error}"
    return "failed", {"message": text, "codexErrorInfo": "other"}


def provider_failure(error: ProviderError) -> TurnError:
    """Describe a request that failed for good."""
    info = error_class(error.kind, error.status)
    told: TurnError = {"message": str(error), "codexErrorInfo": info}
    if error.details:
        told["additionalDetails"] = error.details
    return told


def error_class(kind: str, status: int | None) -> str | dict[str, object]:
    """Return the class of an error; some carry the HTTP status."""
    return {kind: {"httpStatusCode": status}} if kind in _WITH_STATUS else kind
