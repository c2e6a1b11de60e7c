"""Ferrule as a library: threads, turns and streaming items from Python."""

from ferrule_sdk.client import Ferrule
from ferrule_sdk.errors import (
    CallbackError,
    ConnectionLostError,
    OutputError,
    SdkError,
    ServerError,
    SlowReaderError,
    TurnFailedError,
)
from ferrule_sdk.requests import (
    ApprovalRequest,
    CommandRequest,
    Decision,
    ElicitationAnswer,
    McpToolRequest,
    PatchRequest,
    PermissionsRequest,
    Request,
)
from ferrule_sdk.thread import Thread
from ferrule_sdk.turn import Turn, TurnResult

__all__ = [
    "ApprovalRequest",
    "CallbackError",
    "CommandRequest",
    "ConnectionLostError",
    "Decision",
    "ElicitationAnswer",
    "Ferrule",
    "McpToolRequest",
    "OutputError",
    "PatchRequest",
    "PermissionsRequest",
    "Request",
    "SdkError",
    "ServerError",
    "SlowReaderError",
    "Thread",
    "Turn",
    "TurnFailedError",
    "TurnResult",
]
