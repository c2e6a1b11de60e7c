"""The tool that the model is offered."""

from pydantic import BaseModel, Field

from ferrule_hookspecs import Tool, ToolCall, ToolContext, ToolError, ToolResult


class Ticket(BaseModel):
    """What the model says; a call that does not fit never reaches `run`."""

    title: str = Field(description="One line: what is wrong.", min_length=1, max_length=200)
    body: str = Field("", description="The rest, as Markdown.")


class TicketTool(Tool):
    """Posts a ticket as JSON, and tells the model where it can be seen."""

    name = "file_ticket"
    description = "File a ticket in the team's tracker."
    arguments_model = Ticket

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """File it; a `ToolError` is read by the model, which can tell the user or try again."""
        import httpx  # takes a while, and most sessions file no ticket

        url, token = (str(self.context.settings[key]) for key in ("url", "token"))
        try:
            async with httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}) as http:
                answer = await http.post(url, json=dict(call.arguments), timeout=120)
            return ToolResult(f"filed as {answer.raise_for_status().json()['url']}")
        except httpx.HTTPError as error:
            raise ToolError(f"the ticket was not filed: {error!r}") from error
