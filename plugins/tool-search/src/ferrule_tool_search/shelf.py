"""The tools that can be found, ready to be searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from ferrule_tool_search.ranking import Ranking
from ferrule_tool_search.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_hookspecs.tool_finding import DeferredTool

_NAME_WEIGHT: Final = 3
_DEEPEST: Final = 4


class Shelf:
    """Finds tools by words about what they do."""

    def __init__(self, tools: Sequence[DeferredTool]) -> None:
        self._names = [tool.schema.name for tool in tools]
        self._short = {_short_name(tool): number for number, tool in enumerate(tools)}
        self._short |= {name: number for number, name in enumerate(self._names)}
        self._ranking = Ranking([_document(tool) for tool in tools])

    def find(self, query: str, limit: int) -> tuple[str, ...]:
        """Return names, best first: tools that are named themselves, then those that fit."""
        named = [self._short[part] for part in query.split() if part in self._short]
        fitting = self._ranking.best(words(query), limit + len(named))
        numbers = dict.fromkeys([*named, *fitting])
        return tuple(self._names[number] for number in numbers)[:limit]


def _short_name(tool: DeferredTool) -> str:
    if tool.namespace is None:
        return tool.schema.name
    return tool.schema.name.removeprefix(f"{tool.namespace.name}__")


def _document(tool: DeferredTool) -> list[str]:
    """The words of a tool: its name counts most, what it shares with others as much as the rest."""
    schema, space = tool.schema, tool.namespace
    shared = [] if space is None else [space.name, space.description]
    texts = [schema.description, *shared, *_parameter_texts(schema.parameters, _DEEPEST)]
    name = words(_short_name(tool))
    return name * _NAME_WEIGHT + [word for text in texts for word in words(text)]


def _parameter_texts(schema: object, depth: int) -> Iterator[str]:
    """Yield names and descriptions of parameters, those inside of others included."""
    if not isinstance(schema, Mapping) or not depth:
        return
    table = cast("Mapping[str, object]", schema)
    properties = table.get("properties")
    if isinstance(properties, Mapping):
        for name, value in cast("Mapping[str, object]", properties).items():
            yield name
            if isinstance(value, Mapping):
                described = cast("Mapping[str, object]", value).get("description")
                yield described if isinstance(described, str) else ""
                yield from _parameter_texts(cast("object", value), depth - 1)
    yield from _parameter_texts(table.get("items"), depth - 1)
