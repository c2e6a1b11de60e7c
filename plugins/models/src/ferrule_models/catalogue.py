"""The catalogue: files that tell what is known about models.

The built-in file comes last; `models.json` of the home and the file that `model_catalog_json`
names come before it. All have the form of Codex's model catalogue, of which other keys are passed
over, with `provider`, `max_output_tokens`, `tool_calls`, `disabled_tools` and `prices` beside.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar, cast

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.models import ModelInfo, ModelPrices

USER_FILE: Final = "models.json"
_BUILT_IN: Final = Path(__file__).parent / "catalog.json"
_SHELL_TOOLS: Final = ("exec_command", "write_stdin")
_BYTES_PER_TOKEN: Final = 4
_VERSION: Final = re.compile(r"(?:-\d{4}-?\d{2}-?\d{2}|[-:]latest)$")
_SAMPLE_KEYS: Final = 3

_T = TypeVar("_T")


def read_catalogue(home: Path, configured: str | None, model: str | None = None) -> list[ModelInfo]:
    """Read what the files say about a model, or about all; what counts most comes first.

    Where nobody knows the very name, what is known about it without its date counts, and then
    without the vendor before a slash, as gateways name models. These facts get the name asked for.

    Raises:
        ConfigError: A file cannot be read or makes no sense; names the file and the entry.
    """
    files = [(_BUILT_IN, "built-in")]
    own = home / USER_FILE
    if own.exists():
        files.insert(0, (own, str(own)))
    if configured:
        files.insert(0, (Path(configured), configured))
    entries = [(entry, source) for file, source in files for entry in _entries(file)]
    if model is None:
        return [entry.info(source) for entry, source in entries]
    undated = _VERSION.sub("", model)
    for name in (model, undated, undated.rpartition("/")[2]):
        found = [entry.info(source) for entry, source in entries if entry.name == name]
        if found:
            return [info._replace(name=model) for info in found]
    return []


def _entries(file: Path) -> Sequence[_Entry]:
    """Return the entries of a file, which is read anew when it has changed."""
    try:
        status = os.stat(file)
    except OSError as error:
        raise ConfigError(f"model catalogue {file}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):  # a pipe would keep everybody waiting
        raise ConfigError(f"model catalogue {file}: it is not a file")
    return _read_entries(file, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=8)
def _read_entries(file: Path, stamp: tuple[int, ...]) -> Sequence[_Entry]:
    try:
        parsed: object = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"model catalogue {file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"model catalogue {file}: it is not JSON: {error}") from None
    entries = cast("Mapping[str, object]", parsed).get("models") if _is_table(parsed) else None
    if not isinstance(entries, list):
        raise ConfigError(f'model catalogue {file}: it must be {{"models": [...]}}')
    return tuple(
        _Entry(entry, f"model catalogue {file}, entry {number}")
        for number, entry in enumerate(cast("list[object]", entries), 1)
    )


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


class _Entry:
    """Reads one entry; every complaint says where."""

    def __init__(self, entry: object, place: str) -> None:
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{place}: it must be a table")
        self._entry = cast("Mapping[str, object]", entry)
        name = self._entry.get("slug")
        if not isinstance(name, str) or not name:
            keys = ", ".join(list(self._entry)[:_SAMPLE_KEYS]) or "nothing"
            raise ConfigError(f"{place}: `slug`, the model's name, is missing (there is {keys})")
        self.name = name
        self._place = f"{place} ({name})"

    def info(self, source: str) -> ModelInfo:
        tool_calls = self._text("tool_calls") or "native"
        if tool_calls not in ("native", "text"):
            raise self._wrong("tool_calls", '"native" or "text"')
        return ModelInfo(
            name=self.name,
            provider=self._text("provider") or "",
            display_name=self._text("display_name") or "",
            context_window=self._count("context_window"),
            max_output_tokens=self._count("max_output_tokens"),
            tool_output_tokens=self._tool_output_tokens(),
            tool_calls=tool_calls,
            freeform_tools=self._text("apply_patch_tool_type") == "freeform",
            parallel_tool_calls=self._get("supports_parallel_tool_calls", bool) is not False,
            input_modalities=self._texts("input_modalities") or ("text",),
            reasoning_efforts=self._efforts(),
            default_effort=self._text("default_reasoning_level"),
            disabled_tools=self._disabled_tools(),
            prices=self._prices(),
            source=source,
            tool_search=self._get("supports_search_tool", bool) is True,
            searches_images=self._text("web_search_tool_type") == "text_and_image",
        )

    def _tool_output_tokens(self) -> int | None:
        policy = self._get("truncation_policy", dict)
        if policy is None:
            return None
        limit = policy.get("limit")
        if not isinstance(limit, int) or limit < 1 or policy.get("mode") not in ("bytes", "tokens"):
            raise self._wrong("truncation_policy", '{"mode": "bytes" or "tokens", "limit": N}')
        return limit if policy["mode"] == "tokens" else max(limit // _BYTES_PER_TOKEN, 1)

    def _efforts(self) -> tuple[str, ...]:
        levels = cast("list[object]", self._get("supported_reasoning_levels", list) or [])
        names = [
            cast("Mapping[str, object]", level).get("effort") if _is_table(level) else level
            for level in levels
        ]
        if not all(isinstance(name, str) for name in names):
            raise self._wrong("supported_reasoning_levels", '[{"effort": "…"}]')
        return tuple(cast("list[str]", names))

    def _disabled_tools(self) -> tuple[str, ...]:
        disabled = self._texts("disabled_tools")
        return (*disabled, *_SHELL_TOOLS) if self._text("shell_type") == "disabled" else disabled

    def _prices(self) -> ModelPrices | None:
        table = self._get("prices", dict)
        if table is None:
            return None
        unknown = set(table) - set(ModelPrices._fields)
        numbers = [value for value in table.values() if _is_price(value)]
        if unknown or len(numbers) != len(table) or not {"input", "output"} <= set(table):
            raise self._wrong(
                "prices", "dollars per million tokens: input, output, cached_input, cache_write"
            )
        return ModelPrices(**table)

    def _text(self, key: str) -> str | None:
        return self._get(key, str)

    def _count(self, key: str) -> int | None:
        value = self._get(key, int)
        if value is not None and value < 1:
            raise self._wrong(key, "a number above zero")
        return value

    def _texts(self, key: str) -> tuple[str, ...]:
        values = cast("list[object]", self._get(key, list) or [])
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(key, "a list of texts")
        return tuple(cast("list[str]", values))

    def _get(self, key: str, type_: type[_T]) -> _T | None:
        value = self._entry.get(key)
        if value is None or (
            isinstance(value, type_) and isinstance(value, bool) == (type_ is bool)
        ):
            return cast("_T | None", value)
        raise self._wrong(
            key, {str: "a text", int: "a number", bool: "true or false"}.get(type_, "")
        )

    def _wrong(self, key: str, wanted: str) -> ConfigError:
        value = json.dumps(self._entry[key])
        return ConfigError(f"{self._place}: `{key}` is {value}; it must be {wanted or 'a table'}")


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
