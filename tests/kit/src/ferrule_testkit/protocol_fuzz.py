"""Messages for an app-server, right and wrong, made from the published schema by a seed.

They do no harm wherever they are carried out: programs are `true`, `echo` and the like, and every
absolute path lies in the folder that the caller names.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, cast

from ferrule_testkit.protocol_frames import BUNDLE

Json = Any

_DEPTH: Final = 6
_ARGV: Final = (["true"], ["false"], ["echo", "x"], ["/no/such/program"], [], [""], ["echo", "\0"])
_LINES: Final = ("true", "false", "echo x", "", "zq-no-such-program")
_TEXTS: Final = (
    "",
    "zq",
    "zq q",
    "\0",
    "\ud800",
    "ünï\u202e",
    "../zq",
    "-q",
    "q" * 5000,
    "{}",
    "1",
)
_NUMBERS: Final = (0, 1, -1, 2, 25, 65_536, 2**31, 2**53 + 1, -(2**63), 10**30)
_WRONG: Final = (
    None,
    True,
    -1,
    2**70,
    1.5,
    1e308,
    "",
    "zq",
    "\ud800",
    [],
    {},
    ["zq"],
    [[]],
    {"": 0},
)
_IDS: Final = (-1, 0, 2**63, 10**40, "", "a", "1", "\0", "ü", "\ud800", "q" * 2000)
_NO_IDS: Final = (None, True, 1.5, [], {}, [1])
_KEYS: Final = ("model", "model_reasoning_effort", "zq.q", "", ".", "tui.theme", "approval_policy")
_UUIDS: Final = ("0198f0a0-0000-7000-8000-000000000000", "not-an-id", "../../etc/passwd", "")
_OFTEN: Final = (
    "thread/start",
    "turn/start",
    "turn/interrupt",
    "thread/resume",
    "thread/unsubscribe",
)
_GARBAGE: Final = (b"\xff\xfe", b"{", b"]", b"nul", b'"\\ud800', b"{'id': 1}", b'{"id":1,}', b"NaN")


class Message(NamedTuple):
    """What is sent.

    Attributes:
        raw: Its bytes, without a line break.
        method: What is asked for, where it is a request with an id that can be answered.
        key: Under which id it is answered, as JSON; `null` where there is none, empty where none
            may come.
        is_long: Whether it is longer than the limit the caller named.
    """

    raw: bytes
    method: str
    key: str
    is_long: bool = False


@dataclass
class Fuzzer:
    """Makes messages.

    Attributes:
        folder: Where every absolute path lies.
        chance: Where all choices come from.
        limit: Messages longer than this are sent now and then; 0 for never.
        bytes_too: Whether bytes are sent that are no UTF-8.
        threads: Ids of threads to talk about, and
        turns: ids of turns; the caller adds to them.
    """

    folder: str
    chance: random.Random
    limit: int = 0
    bytes_too: bool = True
    threads: list[str] = field(default_factory=list[str])
    turns: list[str] = field(default_factory=list[str])
    _next: int = 1000
    _recent: list[tuple[Json, str]] = field(default_factory=list[tuple[Json, str]])

    def message(self) -> Message:
        """Make one."""
        makers: list[tuple[int, Callable[[], Message]]] = [
            (50, self._valid),
            (16, self._mutated),
            (8, self._truncated),
            (5, self._with_id_of_another),
            (5, self._with_strange_id),
            (6, self._unasked_answer),
            (3, self._garbage),
            (3, self._no_request),
            (2, self._initialize),
            (2, self._unknown_method),
        ]
        if self.limit and self.chance.random() < 0.002:
            return self._too_long()
        weights = [weight for weight, _ in makers]
        return self.chance.choices([make for _, make in makers], weights)[0]()

    def _valid(self) -> Message:
        return self._request(self._fresh_id(), *self._call())

    def _call(self) -> tuple[str, Json]:
        methods = sorted(_methods())
        name = self.chance.choice(_OFTEN if self.chance.random() < 0.3 else methods)
        schema = _methods()[name]
        return name, (None if schema is None else self._tamed(name, self._value(schema, "", 0)))

    def _mutated(self) -> Message:
        name, params = self._call()
        if isinstance(params, dict) and params:
            fields = cast("dict[str, Json]", params)
            key = self.chance.choice(sorted(fields))
            match self.chance.randrange(4):
                case 0:
                    del fields[key]
                case 1:
                    fields[self.chance.choice(_TEXTS)] = self.chance.choice(_WRONG)
                case _:
                    fields[key] = self.chance.choice(_WRONG)
            params = self._tamed(name, fields)
        else:
            params = self.chance.choice(_WRONG)
        return self._request(self._fresh_id(), name, params)

    def _truncated(self) -> Message:
        text = self._valid().raw.decode()
        return _broken(text[: self.chance.randrange(1, len(text))].encode())

    def _with_id_of_another(self) -> Message:
        if not self._recent:
            return self._valid()
        used, method = self.chance.choice(self._recent[-20:])
        schema = _methods()[method]
        params = None if schema is None else self._tamed(method, self._value(schema, "", 0))
        return self._request(used, method, params)

    def _with_strange_id(self) -> Message:
        if self.chance.random() < 0.5:
            return self._request(self.chance.choice(_IDS), "thread/loaded/list", {})
        name, params = self._call()
        body = {"id": self.chance.choice(_NO_IDS), "method": name, "params": params}
        return Message(_written(body), "", "null")

    def _unasked_answer(self) -> Message:
        answers = (
            {"result": {"decision": self.chance.choice(("accept", "cancel", "decline", "zq", 1))}},
            {"result": self.chance.choice(_WRONG)},
            {"error": {"code": -1, "message": "no"}},
            {"error": self.chance.choice(_WRONG)},
            {},
        )
        number = self.chance.choice((self.chance.randrange(40), 10**30, "0", -1))
        return Message(_written({"id": number, **self.chance.choice(answers)}), "", "")

    def _garbage(self) -> Message:
        usable = [each for each in _GARBAGE if self.bytes_too or each.isascii()]
        return _broken(self.chance.choice(usable) + b"\t" * self.chance.randrange(3))

    def _no_request(self) -> Message:
        whole = {"id": self._fresh_id(), "method": "thread/loaded/list", "params": {}}
        match self.chance.randrange(5):
            case 0:
                return Message(_written([whole, whole]), "", "null")
            case 1:
                return Message(
                    _written({**whole, "method": self.chance.choice((1, None, []))}), "", "null"
                )
            case 2:
                return Message(
                    _written(self.chance.choice((1, "zq", None, [], {}, True))), "", "null"
                )
            case 3:
                return _broken(b"[" * 10_000)
            case _:
                name = self.chance.choice(("initialized", "zq/zq", "turn/interrupt"))
                return Message(
                    _written({"method": name, "params": self.chance.choice(_WRONG)}), "", ""
                )

    def _initialize(self) -> Message:
        info = {"name": "again", "version": "1"}
        return self._request(self._fresh_id(), "initialize", {"clientInfo": info})

    def _unknown_method(self) -> Message:
        name = self.chance.choice(
            ("zq/zq", "", "thread/", "Thread/Start", "\0", "rpc.discover", "__init__")
        )
        return self._request(self._fresh_id(), name, {})

    def _too_long(self) -> Message:
        whole = {
            "id": self._fresh_id(),
            "method": "thread/loaded/list",
            "params": {"zq": "q" * self.limit},
        }
        return Message(_written(whole), "", "null", is_long=True)

    def _fresh_id(self) -> int | str:
        self._next += 1
        return self._next if self._next % 3 else f"id-{self._next}"

    def _request(self, id_: int | str, method: str, params: Json) -> Message:
        if method in _methods() and method != "initialize":
            self._recent.append((id_, method))
        body = {"id": id_, "method": method}
        if params is not None or self.chance.random() < 0.2:
            body["params"] = params
        is_text = not isinstance(id_, str) or id_.isprintable() or id_ == "\0"
        return Message(_written(body), method, json.dumps(id_ if is_text else None))

    def _tamed(self, method: str, params: Json) -> Json:
        """Take out what would do more than the test bears."""
        if not isinstance(params, dict):
            return params
        fields = cast("dict[str, Json]", params)
        if method == "fs/copy":  # folders would grow without end
            fields["recursive"] = False
        if method == "thread/unsubscribe" or self.chance.random() < 0.9:
            fields.pop("disableTimeout", None)
        return fields

    def _value(self, schema: Json, name: str, depth: int) -> Json:
        if not isinstance(schema, dict):
            return self.chance.choice(_WRONG)
        fields = cast("dict[str, Json]", schema)
        if "$ref" in fields:
            return self._value(_resolved(fields["$ref"]), name, depth)
        for union in ("anyOf", "oneOf"):
            if union in fields:
                return self._value(self.chance.choice(fields[union]), name, depth)
        if "allOf" in fields:
            return self._value(fields["allOf"][0], name, depth)
        if "enum" in fields:
            return self.chance.choice(fields["enum"])
        kind = fields.get("type")
        if isinstance(kind, list):
            kind = self.chance.choice(cast("list[str]", kind))
        match kind:
            case "object":
                return self._object(fields, depth)
            case "array":
                return self._array(fields, name, depth)
            case "string":
                return self._text(name)
            case "integer" | "number":
                return self.chance.choice(_NUMBERS)
            case "boolean":
                return self.chance.random() < 0.5
            case "null":
                return None
            case _:
                return self.chance.choice(_WRONG)

    def _object(self, schema: Mapping[str, Json], depth: int) -> Json:
        required = schema.get("required", ())
        made: dict[str, Json] = {}
        for name, each in schema.get("properties", {}).items():
            if name in required or (depth < _DEPTH and self.chance.random() < 0.3):
                made[name] = self._value(each, name, depth + 1)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict) and depth < _DEPTH:
            made[self.chance.choice(_TEXTS)] = self._value(cast("Json", extra), "", depth + 1)
        return made

    def _array(self, schema: Mapping[str, Json], name: str, depth: int) -> Json:
        if name == "command":
            return list(self.chance.choice(_ARGV))
        count = 0 if depth >= _DEPTH else self.chance.choice((0, 1, 1, 2))
        return [self._value(schema.get("items"), name, depth + 1) for _ in range(count)]

    def _text(self, name: str) -> str:
        lower = name.lower()
        if lower == "command":
            return self.chance.choice(_LINES)
        if "threadid" in lower:
            return self.chance.choice((*self.threads[-8:], *self.threads[-8:], *_UUIDS))
        if "turnid" in lower:
            return self.chance.choice((*self.turns[-8:], *_UUIDS))
        if any(word in lower for word in ("path", "cwd", "root", "dir", "file")):
            return self._path()
        if lower == "keypath":
            return self.chance.choice(_KEYS)
        if "url" in lower:
            return "http://127.0.0.1:9/zq"
        return self.chance.choice(_TEXTS)

    def _path(self) -> str:
        name = self.chance.choice(
            ("a", "b/c", "missing", "ü", "\0", "\ud800", "q" * 300, "", "x y")
        )
        return f"{self.folder}/{name}" if self.chance.random() < 0.9 else name


def _broken(raw: bytes) -> Message:
    """A message that is no JSON, unless by chance it is some."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return Message(raw, "", "null")
    return Message(raw + b"}", "", "null")


def _written(value: Json) -> bytes:
    return json.dumps(value).encode()


@cache
def _bundle() -> Mapping[str, Json]:
    return json.loads(BUNDLE.read_text(encoding="utf-8"))["definitions"]


def _resolved(reference: str) -> Json:
    found: Json = _bundle()
    for part in reference.split("/")[2:]:
        found = found[part]
    return found


@cache
def _methods() -> Mapping[str, Json]:
    """The schema of each method's parameters; None where it has none."""
    found: dict[str, Json] = {}
    for branch in _bundle()["ClientRequest"]["oneOf"]:
        name = branch["properties"]["method"]["enum"][0]
        params = branch["properties"].get("params", {"type": "null"})
        found[name] = None if params.get("type") == "null" else params
    return found
