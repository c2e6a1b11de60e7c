"""What the three tools have in common: they only look, and are off unless switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ferrule_hookspecs.tools import FunctionSchema, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping


class FileTool(Tool):
    """Looks at files through the sandbox; changes nothing."""

    parallel = True
    read_only = True
    parameters: ClassVar[Mapping[str, object]]

    def is_enabled(self) -> bool:
        """Whether it is switched on: one by one, or all three by the feature `file_tools`."""
        table = self.context.table("tools", self.name)
        if self.context.table("features").get("file_tools") is True:
            return table.get("enabled") is not False
        return table.get("enabled") is True

    def schema(self) -> FunctionSchema:
        """How the model is told to call it."""
        return FunctionSchema(self.name, self.description, self.parameters)
