"""Output for people: progress on stderr, nothing but the last message on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_exec.errors import error_text
from ferrule_exec.shapes import content_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_exec.outcome import Outcome
    from ferrule_exec.stream import Stream
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session, SessionFacts

_RULE: Final = "--------"
_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PLAN_MARKS: Final = {"completed": "✓", "inProgress": "→", "pending": "•"}


def wants_color(choice: str, stderr: Stream, environ: Mapping[str, str]) -> bool:
    """Decide about colours as `--color`, the terminal and NO_COLOR say."""
    if choice != "auto":
        return choice == "always"
    return stderr.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def sandbox_line(facts: SessionFacts) -> str:
    """Say in one line what commands may do."""
    policy, mode = facts.sandbox_policy, facts.sandbox_mode
    if policy["type"] == "dangerFullAccess":
        return mode
    has_network = policy.get("networkAccess") in (True, "enabled")
    network = " (network access enabled)" if has_network else ""
    if policy["type"] != "workspaceWrite":
        return mode + network
    roots = ["workdir"]
    roots += [] if policy.get("excludeSlashTmp") else ["/tmp"]  # noqa: S108 -- a name to show
    roots += [] if policy.get("excludeTmpdirEnvVar") else ["$TMPDIR"]
    roots += [*policy.get("writableRoots", []), *facts.writable_roots]
    return f"{mode} [{', '.join(dict.fromkeys(roots))}]{network}"


class HumanOutput:
    """Writes progress as it happens."""

    def __init__(
        self, stdout: Stream, stderr: Stream, *, version: str, has_color: bool = False
    ) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._version = version
        self._has_color = has_color
        self._open_command: str | None = None
        self._last_error: str | None = None
        self._has_started = False

    def opened(self, session: Session, prompt: str | None) -> None:
        """Say what the session settled on."""
        facts = session.facts
        approval = facts.approval_policy
        self._line(f"Ferrule v{self._version}", "bold")
        self._line(_RULE)
        for name, value in (
            ("workdir", session.thread["cwd"]),
            ("model", facts.model),
            ("provider", facts.model_provider),
            ("approval", approval if isinstance(approval, str) else "granular"),
            ("sandbox", sandbox_line(facts)),
            ("reasoning effort", facts.reasoning_effort or "default"),
            ("reasoning summaries", facts.reasoning_summary or "none"),
            ("session id", session.thread["id"]),
            *(("dev plugin", name) for name in session.thread.get("devPlugins", ())),
        ):
            self._line(f"{self._styled(name + ':', 'bold')} {value}")
        self._line(_RULE)
        if prompt is not None:
            self._line("user", "cyan")
            self._line(prompt)

    def happened(self, event: Outgoing) -> None:
        """Show what a person wants to know about the event, if anything."""
        params = cast("dict[str, Any]", event["params"])
        match event["method"]:
            case "item/started":
                self._item_started(params["item"])
            case "item/completed":
                self._item_completed(params["item"])
            case "turn/plan/updated":
                self._plan_updated(params)
            case "error":
                self._failed(error_text(params))
            case "warning":
                self._warned(params["message"])
            case _:
                pass

    def ended(self, outcome: Outcome) -> None:
        """Show the end, and the last message on stdout."""
        if outcome.status == "interrupted":
            self._line(outcome.message, "red")
            return
        if outcome.status == "failed":
            self._failed(outcome.message)
            return
        usage = outcome.usage
        used = usage["inputTokens"] + usage["outputTokens"] - usage["cachedInputTokens"]
        self._line("tokens used", "dim")
        cost = outcome.cost.run_usd
        self._line(f"{max(used, 0):,}" + (f" (about ${cost:.4f})" if cost else ""))
        # On a terminal the message has just been shown: stderr and stdout are the same screen.
        if outcome.last_message is not None and not (
            self._stdout.isatty() and self._stderr.isatty()
        ):
            self._stdout.write(outcome.last_message.removesuffix("\n") + "\n")

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._has_color else text

    def _line(self, text: str, style: str | None = None) -> None:
        self._stderr.write((self._styled(text, style) if style else text) + "\n")

    def _warned(self, message: str) -> None:
        self._line(f"warning: {message}", "yellow")

    def _failed(self, message: str) -> None:
        # The error of a turn comes twice: when it happens and when the turn ends.
        if message != self._last_error:
            self._line(f"ERROR: {message}", "red")
        self._last_error = message

    def _item_started(self, item: dict[str, Any]) -> None:
        if item["type"] == "commandExecution":
            self._command_header(item)
        elif item["type"] == "mcpToolCall":
            self._line(f"mcp: {item['server']}/{item['tool']} started", "dim")

    def _item_completed(self, item: dict[str, Any]) -> None:
        show = self._completions.get(item["type"])
        if show is not None:
            show(self, item)

    def _command_header(self, item: dict[str, Any]) -> None:
        self._open_command = item["id"]
        self._line("exec", "cyan")
        self._line(f"{self._styled(item['command'], 'bold')} in {item['cwd']}")

    def _command_completed(self, item: dict[str, Any]) -> None:
        if self._open_command != item["id"]:  # another one was started meanwhile
            self._command_header(item)
        self._open_command = None
        took = f"in {item.get('durationMs') or 0}ms:"
        if item["status"] == "completed":
            self._line(f" succeeded {took}", "green")
        elif item["status"] == "declined":
            self._line(" declined:", "red")
        elif item.get("exitCode") is None:
            self._line(" failed:", "red")
        else:
            self._line(f" exited {item['exitCode']} {took}", "red")
        self._line(item.get("aggregatedOutput") or "", "dim")

    def _file_change(self, item: dict[str, Any]) -> None:
        self._line("apply patch", "cyan")
        self._line(f"patch: {item['status']}", "green" if item["status"] == "completed" else "red")
        for change in item["changes"]:
            self._line(f"{change['kind']['type']} {change['path']}")
        if item["status"] == "completed":
            for change in item["changes"]:
                self._line(change["diff"].removesuffix("\n"), "dim")

    def _mcp_call(self, item: dict[str, Any]) -> None:
        self._line(f"mcp: {item['server']}/{item['tool']} ({item['status']})", "dim")

    def _tool_call(self, item: dict[str, Any]) -> None:
        has_failed = item["status"] in ("failed", "declined")
        style = "red" if has_failed else "dim"
        self._line(f"tool: {item['tool']} ({item['status']})", style)
        if has_failed:
            self._line(content_text(item), "red")

    def _agent_message(self, item: dict[str, Any]) -> None:
        if item["text"]:
            self._line("ferrule", "cyan")
            self._line(item["text"])

    def _reasoning(self, item: dict[str, Any]) -> None:
        if any(item["summary"]):
            self._line("\n".join(item["summary"]), "dim")

    def _agent_call(self, item: dict[str, Any]) -> None:
        style = "red" if item["status"] == "failed" else "dim"
        states = (each["status"] for each in item["agentsStates"].values())
        self._line(f"agents: {item['tool']} ({', '.join(states) or item['status']})", style)

    def _web_search(self, item: dict[str, Any]) -> None:
        self._line(f"web search: {item['query']}", "dim")

    def _image_view(self, item: dict[str, Any]) -> None:
        self._line(f"view image: {item['path']}", "dim")

    def _compaction(self, item: dict[str, Any]) -> None:
        if item.get("status") != "failed":  # of one that failed a warning tells
            self._line("the history was shortened to fit the model's context", "dim")

    def _entered_review(self, item: dict[str, Any]) -> None:
        self._line("user", "cyan")
        self._line(item["review"])

    def _plan_updated(self, params: dict[str, Any]) -> None:
        self._line(params["explanation"] or "plan", "cyan")
        for step in params["plan"]:
            self._line(f"  {_PLAN_MARKS[step['status']]} {step['step']}")

    _completions: Final[dict[str, Callable[[HumanOutput, dict[str, Any]], None]]] = {
        "collabAgentToolCall": _agent_call,
        "commandExecution": _command_completed,
        "enteredReviewMode": _entered_review,
        "fileChange": _file_change,
        "mcpToolCall": _mcp_call,
        "dynamicToolCall": _tool_call,
        "agentMessage": _agent_message,
        "reasoning": _reasoning,
        "webSearch": _web_search,
        "imageView": _image_view,
        "contextCompaction": _compaction,
    }
