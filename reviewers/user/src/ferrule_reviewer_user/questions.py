"""The questions a client is asked about calls: what is shown, and what may be answered."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.events import ServerRequest
    from ferrule_hookspecs.items import McpToolCallItem
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.review import ReviewRequest


def question(request: ReviewRequest) -> ServerRequest:
    """Build the question a client is asked; the session fills in its `id`."""
    item = request.item
    params: dict[str, object] = {"threadId": request.thread_id, "turnId": request.turn_id}
    if item is not None and item["type"] == "mcpToolCall" and request.network is None:
        method = "mcpServer/elicitation/request"
        params |= _tool_of_a_server(request, item)
    else:
        params |= {
            "itemId": request.call.call_id,
            "startedAtMs": time.time_ns() // 1_000_000,
            "reason": request.reason,
        }
        if request.lasting and request.permissions is not None:
            method = "item/permissions/requestApproval"
            params |= {
                "cwd": request.cwd,
                "environmentId": "local",
                "permissions": _with_entries(request.permissions),
            }
        elif item is not None and item["type"] == "fileChange" and request.network is None:
            method = "item/fileChange/requestApproval"
            params["grantRoot"] = None
        else:
            method = "item/commandExecution/requestApproval"
            params |= _command(request)
    return cast("ServerRequest", {"id": 0, "method": method, "params": params})


def what(request: ReviewRequest) -> str:
    """Show in a line what would run."""
    item = request.item
    if item is not None and item["type"] == "commandExecution":
        return item["command"]
    if item is not None and item["type"] == "fileChange":
        return "patch to " + ", ".join(change["path"] for change in item["changes"])
    return f"{request.call.tool} {request.call.text}"


def _command(request: ReviewRequest) -> dict[str, object]:
    item = request.item
    prefix = next((each for each in request.amendments if each.kind == "command_prefix"), None)
    hosts = [each.value for each in request.amendments if each.kind == "network_host"]
    decisions: list[object] = ["accept"]
    params: dict[str, object] = {
        "kind": "command",
        "environmentId": "local",
        "command": what(request),
        "cwd": request.cwd,
        "availableDecisions": decisions,
    }
    if item is not None and item["type"] == "commandExecution":
        params |= {"cwd": item["cwd"], "commandActions": item["commandActions"]}
    if request.network is not None:
        params["networkApprovalContext"] = {
            "host": request.network.host,
            "protocol": request.network.wire_protocol,
        }
        # One command may ask several times.
        params["approvalId"] = f"{request.call.call_id}:{':'.join(map(str, request.network))}"
    if request.permissions is not None:
        params["additionalPermissions"] = request.permissions.wire
    if prefix is not None:
        words = list(prefix.value)
        params["proposedExecpolicyAmendment"] = words
        decisions.append({"acceptWithExecpolicyAmendment": {"execpolicy_amendment": words}})
    if hosts:
        offered = [{"host": value[-1], "action": "allow"} for value in hosts]
        params["proposedNetworkPolicyAmendments"] = offered
        decisions += [
            {"applyNetworkPolicyAmendment": {"network_policy_amendment": each}} for each in offered
        ]
    if not request.amendments or request.network is not None:
        decisions.append("acceptForSession")
    decisions.append("cancel")
    return params


def _with_entries(permissions: AdditionalPermissions) -> Mapping[str, object]:
    """Add the newer spelling of files, which clients fill their answer from."""
    told = permissions.wire
    if permissions.read or permissions.write:
        entries = [
            {"path": {"type": "path", "path": path}, "access": access}
            for access, paths in (("read", permissions.read), ("write", permissions.write))
            for path in paths
        ]
        told["fileSystem"] = {**cast("dict[str, object]", told["fileSystem"]), "entries": entries}
    return told


def _tool_of_a_server(request: ReviewRequest, item: McpToolCallItem) -> dict[str, object]:
    """Clients know approval of an MCP call as a question of the server, with a mark."""
    arguments = item["arguments"]
    given = cast("Mapping[str, object]", arguments) if isinstance(arguments, dict) else {}
    meta: dict[str, object] = {
        "codex_approval_kind": "mcp_tool_call",
        "persist": ["session", *(["always"] if request.amendments else [])],
        "tool_name": item["tool"],
        "tool_params": given,
        "tool_params_display": [
            {"name": name, "value": value, "display_name": name} for name, value in given.items()
        ],
    }
    if description := request.details.get("tool_description"):
        meta["tool_description"] = description
    return {
        "serverName": item["server"],
        "mode": "form",
        "message": request.reason,
        "requestedSchema": {"type": "object", "properties": {}},
        "_meta": meta,
    }
