"""What plugins keep with a thread: stored in its rollout, so that a resume or a fork finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.recorder import Recorder
    from ferrule_hookspecs.store import RolloutRecord

_KIND: Final = "kept"


class KeptValues:
    """The values of one thread, by name."""

    def __init__(self, recorder: Recorder, records: Sequence[RolloutRecord] = ()) -> None:
        """Read what the stored records of the thread say."""
        self._recorder = recorder
        self._values: dict[str, Mapping[str, object]] = {}
        for record in records:
            payload = record["payload"]
            if record["type"] == "event_msg" and payload.get("type") == _KIND:
                self._take(str(payload.get("name")), payload.get("value"))

    def get(self, name: str) -> Mapping[str, object] | None:
        """Return a value."""
        return self._values.get(name)

    def put(self, name: str, value: Mapping[str, object] | None) -> None:
        """Store a value, or that there is none any more."""
        self._recorder.record("event_msg", {"type": _KIND, "name": name, "value": value})
        self._take(name, value)

    def _take(self, name: str, value: object) -> None:
        if isinstance(value, dict):
            self._values[name] = cast("Mapping[str, object]", value)
        else:
            self._values.pop(name, None)
