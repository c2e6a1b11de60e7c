"""Denies what names a secret, and writes down how turns end."""

from pathlib import Path

from ferrule_hookspecs import ContextFragment, ToolCall, Verdict, hookimpl


@hookimpl
def ferrule_tool_before(call: ToolCall) -> Verdict | None:
    if "secret" in call.text:
        return Verdict.deny("ACME forbids secrets", rule="acme-1")
    return None


@hookimpl
async def ferrule_turn_end(turn, outcome) -> None:
    log = Path(turn.cwd, "turns.log")
    log.write_text(outcome["status"] + "\n")


@hookimpl
def ferrule_context_fragments(context) -> list[ContextFragment]:
    return [ContextFragment("ACME house rule: be kind.")]
