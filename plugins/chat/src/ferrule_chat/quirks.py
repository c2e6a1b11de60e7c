"""What one vendor does differently, read from `quirks.toml` and from the user's own table."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast
from urllib.parse import urlsplit

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Role = Literal["developer", "system", "user"]


class Quirks(NamedTuple):
    """How one vendor wants requests and what it answers; docs/providers.md explains every key."""

    instructions_role: Role
    late_instructions_role: Role
    merge_messages: bool
    bridge_tool_to_user: bool
    tool_images: Literal["user", "tool"]
    short_call_ids: bool
    tool_calls: Literal["native", "text"]
    text_calls: bool
    parallel_tool_calls: bool
    reasoning_fields: Sequence[str]
    reasoning_back: str
    reasoning_back_always: bool
    echo_fields: Sequence[str]
    think_tags: Literal["off", "leading", "open"]
    reasoning_effort: Literal["field", "object", "off"]
    efforts: Mapping[str, str]
    verbosity: bool
    output_schema: Literal["json_schema", "json_object", "off"]
    output_schema_beside_tools: bool
    stream_usage: bool
    max_tokens_field: str
    max_tokens: int
    prompt_cache_key: bool
    extra_body: Mapping[str, object]
    mend_unreachable: str
    mend_model: str


_CHOICES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "instructions_role": ("developer", "system", "user"),
        "late_instructions_role": ("developer", "system", "user"),
        "tool_images": ("user", "tool"),
        "tool_calls": ("native", "text"),
        "think_tags": ("off", "leading", "open"),
        "reasoning_effort": ("field", "object", "off"),
        "output_schema": ("json_schema", "json_object", "off"),
    }
)
_MATCHING: Final = ("names", "hosts")


def read_quirks(table: Mapping[str, object], base_url: str) -> Quirks:
    """Find the vendor's quirks and lay the user's over them.

    Args:
        table: The provider's table, `settings` merged in.
        base_url: Where requests go.

    Raises:
        ConfigError: A key is unknown, or its value is not of the kind it must be.
    """
    name = str(table.get("name") or "chat")
    known = _load()
    defaults = known.pop("defaults")
    vendor = _chosen_vendor(table, known, name) or _found_vendor(known, name, base_url)
    values = {**defaults, **known.get(vendor, {})}
    own = table.get("quirks", {})
    if not isinstance(own, dict):
        raise ConfigError(f"{_place(name, 'quirks')} must be a table of quirks")
    for key, value in cast("dict[str, object]", own).items():
        _check(name, key, value, defaults)
        values[key] = value
    return Quirks._make(values[key] for key in Quirks._fields)


def _load() -> dict[str, dict[str, object]]:
    import tomllib
    from pathlib import Path

    path = Path(__file__).with_name("quirks.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _place(name: str, key: str) -> str:
    return f"`settings.{key}` of the model provider {name!r}"


def _chosen_vendor(
    table: Mapping[str, object], known: Mapping[str, object], name: str
) -> str | None:
    vendor = table.get("vendor")
    if vendor is None or (isinstance(vendor, str) and vendor in known):
        return vendor
    raise ConfigError(
        f"{_place(name, 'vendor')} names no known vendor: {vendor!r}; "
        f"known are {', '.join(sorted(known))}"
    )


def _found_vendor(known: Mapping[str, Mapping[str, object]], name: str, base_url: str) -> str:
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    places = (host, f"{parts.netloc.rpartition('@')[2].lower()}")
    for vendor, table in known.items():
        hosts = cast("Sequence[str]", table["hosts"])
        if any(each in places or (each[0] == "." and host.endswith(each)) for each in hosts):
            return vendor
    names = {
        each: vendor
        for vendor, table in known.items()
        for each in cast("Sequence[str]", table["names"])
    }
    return names.get(plain, "")


def _check(name: str, key: str, value: object, defaults: Mapping[str, object]) -> None:
    place = _place(name, f"quirks.{key}")
    if key not in defaults or key in _MATCHING:
        raise ConfigError(
            f"{place} is no quirk Ferrule knows; known are {', '.join(sorted(defaults))}"
        )
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            raise ConfigError(f"{place} must be one of {', '.join(_CHOICES[key])}, not {value!r}")
        return
    expected = type(defaults[key])
    if type(value) is not expected or (expected is int and cast("int", value) < 0):
        raise ConfigError(f"{place} must be {_KINDS[expected]}, not {value!r}")
    parts: list[object] = []
    if isinstance(value, list):
        parts = cast("list[object]", value)
    elif key == "efforts":
        parts = list(cast("dict[str, object]", value).values())
    if not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"{place} must hold texts only, not {value!r}")


_KINDS: Final[Mapping[type, str]] = MappingProxyType(
    {
        bool: "true or false",
        int: "a number, zero or more",
        str: "a text",
        list: "a list of texts",
        dict: "a table",
    }
)
