from ferrule_hookspecs import PluginContext, Tool, ToolCall, ToolContext, ToolResult


class DeskTool(Tool):
    name = "acme_desk"
    description = "File a ticket at the desk."

    def __init__(self, context: PluginContext) -> None:
        self.settings = context.settings

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        key = "with a token" if self.settings["token"] else "without a token"
        labels = ", ".join(self.settings["labels"])
        return ToolResult(f"filed at {self.settings['url']} {key}, labels: {labels}")
