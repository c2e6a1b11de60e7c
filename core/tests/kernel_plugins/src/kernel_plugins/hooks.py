"""Every hook: writes down its call and answers what the stage says."""

from __future__ import annotations

from inspect import isawaitable

from ferrule_hookspecs import hookimpl
from kernel_plugins import stage


def _called(name, **arguments):
    stage.hook_calls.append((name, arguments))
    answer = stage.hooks.get(name)
    if isinstance(answer, Exception):
        raise answer
    return answer(**arguments) if callable(answer) else answer


@hookimpl
def ferrule_tools(context):
    return _called("ferrule_tools", context=context)


@hookimpl
def ferrule_context_fragments(context):
    return _called("ferrule_context_fragments", context=context)


@hookimpl
def ferrule_context_updates(context, told):
    return _called("ferrule_context_updates", context=context, told=told)


@hookimpl
def ferrule_models(context, model):
    return _called("ferrule_models", context=context, model=model)


@hookimpl
def ferrule_checks(context):
    return _called("ferrule_checks", context=context)


@hookimpl
def ferrule_rpc_methods(context):
    return _called("ferrule_rpc_methods", context=context)


@hookimpl
def ferrule_recipes(context):
    return _called("ferrule_recipes", context=context)


@hookimpl
def ferrule_egress(context):
    return _called("ferrule_egress", context=context)


@hookimpl
def ferrule_review_task(target, context):
    return _called("ferrule_review_task", target=target, context=context)


@hookimpl
def ferrule_workspace_view(context, policy):
    return _called("ferrule_workspace_view", context=context, policy=policy)


@hookimpl
def ferrule_tool_rewrite(call, turn):
    return _called("ferrule_tool_rewrite", call=call, turn=turn)


@hookimpl
def ferrule_tool_before(call, turn, context):
    return _called("ferrule_tool_before", call=call, turn=turn, context=context)


@hookimpl
def ferrule_amendment(amendment, context):
    return _called("ferrule_amendment", amendment=amendment, context=context)


@hookimpl
async def ferrule_permission_request(request, turn):
    return _called("ferrule_permission_request", request=request, turn=turn)


@hookimpl
def ferrule_session_start(context, source):
    return _called("ferrule_session_start", context=context, source=source)


@hookimpl
def ferrule_session_end(context, reason):
    return _called("ferrule_session_end", context=context, reason=reason)


@hookimpl
async def ferrule_prompt_submit(prompt, turn):
    answer = _called("ferrule_prompt_submit", prompt=prompt, turn=turn)
    return await answer if isawaitable(answer) else answer


@hookimpl
def ferrule_turn_start(turn):
    return _called("ferrule_turn_start", turn=turn)


@hookimpl
def ferrule_turn_end(turn, outcome):
    return _called("ferrule_turn_end", turn=turn, outcome=outcome)


@hookimpl
def ferrule_request_before(request, turn):
    return _called("ferrule_request_before", request=request, turn=turn)


@hookimpl
def ferrule_request_after(request, items, usage, error, turn):
    return _called(
        "ferrule_request_after", request=request, items=items, usage=usage, error=error, turn=turn
    )


@hookimpl
def ferrule_tool_after(call, result, turn):
    return _called("ferrule_tool_after", call=call, result=result, turn=turn)


@hookimpl
def ferrule_tool_output(call, result, failure, turn):
    return _called("ferrule_tool_output", call=call, result=result, failure=failure, turn=turn)


@hookimpl
def ferrule_tool_failure(call, reason, turn):
    return _called("ferrule_tool_failure", call=call, reason=reason, turn=turn)


@hookimpl
def ferrule_compact_before(turn, reason):
    return _called("ferrule_compact_before", turn=turn, reason=reason)


@hookimpl
def ferrule_compact_after(turn, summary):
    return _called("ferrule_compact_after", turn=turn, summary=summary)


@hookimpl
def ferrule_subagent_start(context, parent_thread_id):
    return _called("ferrule_subagent_start", context=context, parent_thread_id=parent_thread_id)


@hookimpl
def ferrule_subagent_stop(context, parent_thread_id):
    return _called("ferrule_subagent_stop", context=context, parent_thread_id=parent_thread_id)


@hookimpl
def ferrule_turn_diff(turn, context):
    return _called("ferrule_turn_diff", turn=turn, context=context)


@hookimpl
def ferrule_turn_stop(turn, last_message):
    return _called("ferrule_turn_stop", turn=turn, last_message=last_message)


@hookimpl
def ferrule_notify(notification):
    return _called("ferrule_notify", notification=notification)
