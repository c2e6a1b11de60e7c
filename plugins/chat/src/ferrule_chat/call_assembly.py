"""Puts the fragments of tool calls together, however a server cuts and numbers them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ferrule_chat.functions import WrittenCall
from ferrule_chat.untyped import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OWN_FIELDS: Final = frozenset({"index", "id", "type", "function"})


class _Call:
    """A call of which more may come."""

    def __init__(self) -> None:
        self.call_id = ""
        self.name = ""
        self.extra: dict[str, object] = {}
        self._arguments: list[str] = []

    @property
    def arguments(self) -> str:
        return "".join(self._arguments)

    @property
    def has_arguments(self) -> bool:
        return bool(self._arguments)

    def add(self, fragment: Mapping[str, object]) -> None:
        function = table(fragment.get("function"))
        self.call_id = self.call_id or text(fragment.get("id"))
        name = text(function.get("name"))
        if name != self.name and not self.has_arguments:  # some servers repeat it every time
            self.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            if arguments:
                self._arguments.append(arguments)
        elif arguments is not None:  # an object where the API wants its text
            self._arguments = [json.dumps(arguments, ensure_ascii=False)]
        self.extra |= {
            key: value
            for key, value in fragment.items()
            if key not in _OWN_FIELDS and value is not None
        }

    def is_whole(self) -> bool:
        """Whether the arguments are complete JSON."""
        if not (self.has_arguments and self._arguments[-1].rstrip().endswith("}")):
            return False  # spares reading them again and again
        try:
            json.loads(self.arguments)
        except (ValueError, RecursionError):
            return False
        return True


class CallAssembly:
    """The calls of one answer, in the order in which they began.

    Attributes:
        echo_fields: Fields beside the usual ones that the vendor wants back with a call.
    """

    def __init__(self, echo_fields: Sequence[str] = ()) -> None:
        """Start without calls."""
        self.echo_fields = echo_fields
        self._open: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._ids: set[str] = set()
        self._count = 0

    def add(self, fragment: Mapping[str, object]) -> list[WrittenCall]:
        """Take a fragment; returns the calls that are complete because another one began."""
        call, index = self._call_of(fragment), fragment.get("index")
        is_new = call is None
        complete = self.take_whole() if is_new else []
        if call is None:
            call = _Call()
            self._open.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        call.add(fragment)
        return complete

    def take_whole(self) -> list[WrittenCall]:
        """Take out the calls that need nothing more; order is kept, so one may hold up others."""
        count = 0
        while count < len(self._open) and self._open[count].is_whole():
            count += 1
        taken, self._open = self._open[:count], self._open[count:]
        return [self._written(call) for call in taken]

    def take_all(self) -> list[WrittenCall]:
        """Take out every call, complete or not: nothing more comes."""
        taken, self._open = self._open, []
        return [self._written(call) for call in taken if call.name or call.has_arguments]

    def _call_of(self, fragment: Mapping[str, object]) -> _Call | None:
        """Find the open call a fragment continues; None where it begins another one."""
        index, call_id = fragment.get("index"), text(fragment.get("id"))
        has_name = bool(text(table(fragment.get("function")).get("name")))
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is None or (call_id and call.call_id and call_id != call.call_id):
                return None  # some servers number every call 0
            is_next = not call_id and has_name and call.has_arguments and call.is_whole()
            return None if is_next else call
        if call_id:
            return next((call for call in self._open if call.call_id == call_id), None)
        if has_name or not self._open:
            return None
        return self._open[-1]

    def _written(self, call: _Call) -> WrittenCall:
        self._count += 1
        call_id = call.call_id
        if call_id in self._ids:
            call_id = f"{call_id}_{self._count}"
        if call_id:
            self._ids.add(call_id)
        extra = {key: call.extra[key] for key in self.echo_fields if key in call.extra}
        return WrittenCall(call_id, call.name, call.arguments, extra)
