"""Questions of a thread as clients are asked them, and what their answers mean to the thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ferrule_mcp_server.codex_items import command_facts
from ferrule_mcp_server.decisions import TITLES, offered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.events import ServerRequest
    from ferrule_mcp_server.caller import Answer, AskingWay, Caller

Result = dict[str, object]

_SERVER_FORM: Final = "mcpServer/elicitation/request"
_COMMAND: Final = "item/commandExecution/requestApproval"
_PATCH: Final = "item/fileChange/requestApproval"
_PERMISSIONS: Final = "item/permissions/requestApproval"
_USER_INPUT: Final = "item/tool/requestUserInput"


class Asked(NamedTuple):
    """A question of a thread.

    Attributes:
        number: Its number in the thread.
        method: What kind of question it is.
        params: The thread's own words.
        call_id: The tool call that waits for it, as the client named it.
        changes: The patch that waits, by path.
    """

    number: int
    method: str
    params: Mapping[str, Any]
    call_id: str
    changes: Mapping[str, object]

    @classmethod
    def of(cls, question: ServerRequest, call_id: object, changes: Mapping[str, object]) -> Asked:
        """Take what a thread asks."""
        params = cast("Mapping[str, Any]", question["params"])
        return cls(question["id"], question["method"], params, str(call_id), changes)

    def can_be_put(self, caller: Caller) -> bool:
        """Whether a client can be asked it."""
        if caller.asking == "never" or (self.params.get("mode") == "url" and not caller.takes_urls):
            return False
        return self.method in (_SERVER_FORM, _COMMAND, _PATCH, _PERMISSIONS, _USER_INPUT)

    def put(self, way: AskingWay) -> dict[str, object]:
        """Return the parameters of `elicitation/create`."""
        if self.method == _SERVER_FORM:
            passed = ("mode", "message", "requestedSchema", "url", "elicitationId", "_meta")
            told = {key: self.params[key] for key in passed if self.params.get(key) is not None}
            return {**told, "threadId": self.params["threadId"]}
        form = {"type": "object", "properties": {}} if way == "bare" else self._form()
        return {"message": self._message(), "requestedSchema": form, **self._codex()}

    def result(self, answer: Answer) -> Result:
        """Say what an answer means; one that does not say yes means no."""
        if self.method == _SERVER_FORM:
            return {"action": answer.action, "content": answer.content}
        if self.method == _USER_INPUT:
            return {"answers": _chosen(answer)}
        decision = self._decision(answer)
        if self.method == _PERMISSIONS:
            is_granted = decision in ("accept", "acceptForSession")
            return {
                "permissions": self.params["permissions"] if is_granted else {},
                "scope": "session" if decision == "acceptForSession" else "turn",
            }
        return {"decision": decision}

    def refusal(self) -> Result:
        """Return the answer where nobody can be asked."""
        match self.method:
            case "mcpServer/elicitation/request":
                return {"action": "decline"}
            case "item/tool/requestUserInput":
                return {"answers": {}}
            case "item/permissions/requestApproval":
                return {"permissions": {}, "scope": "turn"}
            case "item/tool/call":
                return {"contentItems": [], "success": False}
            case _:
                return {"decision": "unanswered"}

    def _decision(self, answer: Answer) -> object:
        if answer.action == "decline":
            return "decline"
        if answer.action == "cancel":
            return "cancel"
        # Clients of Codex put it beside the content, and some amendments into an object.
        said = answer.decision or (answer.content or {}).get("decision")
        if isinstance(said, dict) and len(cast("dict[str, object]", said)) == 1:
            said = next(iter(cast("dict[str, object]", said)))
        return offered(self.params).get(str(said), "unanswered")

    def _form(self) -> dict[str, object]:
        if self.method == _USER_INPUT:
            questions = self.params["questions"]
            fields = {question["id"]: _field(question) for question in questions}
            return {"type": "object", "properties": fields, "required": list(fields)}
        choices = [{"const": name, "title": TITLES[name]} for name in offered(self.params)]
        decision = {"type": "string", "title": "Decision", "oneOf": choices}
        return {"type": "object", "properties": {"decision": decision}, "required": ["decision"]}

    def _message(self) -> str:
        params = self.params
        because = f"\n{params['reason']}" if params.get("reason") else ""
        match self.method:
            case "item/fileChange/requestApproval":
                return "Allow these changes to files?" + because + _listed(self.changes)
            case "item/permissions/requestApproval":
                return f"Grant more permissions in `{params['cwd']}`?" + because + _granting(params)
            case "item/tool/requestUserInput":
                return "\n".join(question["question"] for question in params["questions"])
            case _ if params.get("networkApprovalContext"):
                network = params["networkApprovalContext"]
                where = f"{network['host']} ({network['protocol']})"
                return f"Allow `{params.get('command')}` to connect to {where}?" + because
            case _:
                return f"Allow to run `{params.get('command')}` in `{params.get('cwd')}`?" + because

    def _codex(self) -> dict[str, object]:
        """What clients of Codex read of a question beside its message."""
        facts: dict[str, object] = {
            "threadId": self.params["threadId"],
            "codex_mcp_tool_call_id": self.call_id,
            "codex_event_id": self.params["turnId"],
            "codex_call_id": self.params["itemId"],
        }
        if self.method == _PATCH:
            return {**facts, "codex_elicitation": "patch-approval", "codex_changes": self.changes}
        if self.method == _COMMAND:
            told = {f"codex_{key}": value for key, value in command_facts(self.params).items()}
            return {**facts, "codex_elicitation": "exec-approval", **told}
        return facts


def _field(question: Mapping[str, Any]) -> dict[str, object]:
    field: dict[str, object] = {"type": "string", "title": question["question"]}
    options = question.get("options") or []
    if options and not question["isOther"]:
        field["oneOf"] = [
            {"const": option["label"], "title": f"{option['label']}: {option['description']}"}
            for option in options
        ]
    elif options:
        field["description"] = "; ".join(
            f"{option['label']}: {option['description']}" for option in options
        )
    return field


def _chosen(answer: Answer) -> Result:
    if answer.action != "accept":
        return {}
    return {name: {"answers": [str(value)]} for name, value in (answer.content or {}).items()}


def _listed(changes: Mapping[str, object]) -> str:
    return "".join(
        f"\n{cast('Mapping[str, object]', change)['type']} {path}"
        for path, change in changes.items()
    )


def _granting(params: Mapping[str, Any]) -> str:
    permissions = params["permissions"]
    lines = ["network"] if (permissions.get("network") or {}).get("enabled") else []
    files = permissions.get("fileSystem") or {}
    for access in ("read", "write"):
        lines += [f"{access} {path}" for path in files.get(access) or ()]
    return "".join(f"\n{line}" for line in lines)
