"""A tool in fifteen lines."""

from pydantic import BaseModel

from ferrule_hookspecs import Tool, ToolCall, ToolContext, ToolResult


class Ticket(BaseModel):
    title: str
    urgent: bool = False


class TicketTool(Tool):
    name = "acme_ticket"
    description = "File a ticket in ACME's tracker."
    arguments_model = Ticket

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        return ToolResult(f"filed {call.arguments['title']!r}, urgent: {call.arguments['urgent']}")
