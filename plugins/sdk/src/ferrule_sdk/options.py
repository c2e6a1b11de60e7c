"""What threads, turns and the library itself may be told; keyword arguments of their functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from ferrule_hookspecs.events import ElicitationParams, UserQuestion
from ferrule_hookspecs.items import ImageDetail
from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode, SandboxPolicy
from ferrule_sdk.requests import ApprovalRequest, Decision, ElicitationAnswer

if TYPE_CHECKING:
    from ferrule_sdk.channels.channel import Channel

Where = str | Path
ApprovalCallback = Callable[[ApprovalRequest], Decision | Awaitable[Decision]]
QuestionAnswers = Mapping[str, str | Sequence[str]]
QuestionCallback = Callable[[Sequence[UserQuestion]], QuestionAnswers | Awaitable[QuestionAnswers]]
ElicitationCallback = Callable[
    [ElicitationParams], ElicitationAnswer | Awaitable[ElicitationAnswer]
]


class FerruleOptions(TypedDict, total=False):
    """How a server is found or started, and who answers its questions.

    Attributes:
        channel: `"in-process"` (the default: the kernel runs in this event loop), `"stdio"` (starts
            `ferrule app-server`), a command line that serves on its standard input and output, or
            the URL of a running server: `unix://PATH`, `ws://…`, `wss://…`, `http://…`,
            `https://…`; also a function that opens a channel of your own.
        home: Home of a server that is started here; else `$FERRULE_HOME` or `~/.ferrule`.
        cwd: Where threads work that say nothing else; the working directory by default.
        config: Configuration values by dotted key, beyond the files.
        environ: Environment of a server that is started here; this process's by default.
        token: Bearer token for a server that asks for one.
        approvals: Decides what may run; without it everything that needs approval is declined.
        questions: Answers what the model asks the user: texts by the id of the question.
        elicitations: Answers what MCP servers ask the user; without it they are declined.
        client_name: What this program is called in the server's logs.
    """

    channel: str | Sequence[str] | Callable[[], AbstractAsyncContextManager[Channel]]
    home: Where | None
    cwd: Where | None
    config: Mapping[str, object]
    environ: Mapping[str, str]
    token: str | None
    approvals: ApprovalCallback | None
    questions: QuestionCallback | None
    elicitations: ElicitationCallback | None
    client_name: str


class ThreadOptions(TypedDict, total=False):
    """What holds for a thread; what is left out comes from the configuration.

    Attributes:
        cwd: Where it works.
        model: The model.
        model_provider: Who serves the model.
        sandbox: What commands may touch.
        approval_policy: When somebody is asked.
        approvals_reviewer: Who is asked; `user` is the callback.
        base_instructions: Replaces the built-in base prompt.
        developer_instructions: Put before the model behind the base prompt.
        config: Configuration values by dotted key, for this thread.
        ephemeral: Store nothing; not for `resume`.
    """

    cwd: Where
    model: str
    model_provider: str
    sandbox: SandboxMode
    approval_policy: ApprovalPolicy
    approvals_reviewer: str
    base_instructions: str
    developer_instructions: str
    config: Mapping[str, object]
    ephemeral: bool


class TurnOptions(TypedDict, total=False):
    """What a turn is given beside its prompt. All but `images` and `detail` stick to the thread.

    Attributes:
        images: Files, `http(s):` and `data:` URLs.
        detail: How closely the model looks at the images.
        cwd: Where it works.
        model: The model.
        effort: How hard the model thinks.
        summary: What the model tells of its thinking.
        sandbox_policy: What commands may touch.
        approval_policy: When somebody is asked.
        approvals_reviewer: Who is asked; `user` is the callback.
    """

    images: Sequence[Where]
    detail: ImageDetail
    cwd: Where
    model: str
    effort: str
    summary: Literal["auto", "concise", "detailed", "none"]
    sandbox_policy: SandboxPolicy
    approval_policy: ApprovalPolicy
    approvals_reviewer: str
