"""What `[reviewers.command]` and `[reviewers.command.INSTANCE]` may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, NoReturn, cast
from urllib.parse import urlsplit

from ferrule_hookspecs.errors import ConfigError

_DEFAULT_TIMEOUT_MS: Final = 30_000
_KEYS: Final = (
    "command",
    "url",
    "timeout_ms",
    "env",
    "http_headers",
    "env_http_headers",
    "on_error",
)
_HTTP_ONLY: Final = ("http_headers", "env_http_headers")
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")


class Settings(NamedTuple):
    """Checked settings of one instance.

    Attributes:
        command: The program and its arguments; empty where a service is asked.
        url: The service; empty where a program is asked.
        timeout_s: How long an answer may take.
        env: Variables the program gets beside the harmless ones.
        headers: Headers of the service by name.
        env_headers: Headers whose value is in a variable, by name.
        on_error: What happens where no answer can be had.
    """

    command: tuple[str, ...]
    url: str
    timeout_s: float
    env: tuple[str, ...]
    headers: Mapping[str, str]
    env_headers: Mapping[str, str]
    on_error: Literal["decline", "user"]

    @property
    def asked(self) -> str:
        """Name in messages what is asked."""
        if self.command:
            return f"the reviewer program {self.command[0]!r}"
        return f"the reviewer at {urlsplit(self.url).netloc}"


def read_settings(name: str, table: Mapping[str, object]) -> Settings:
    """Check a table.

    Args:
        name: What the reviewer was asked for as, such as `command:lint`.
        table: Its settings. Tables in it are other instances, unless they are headers.

    Raises:
        ConfigError: Names the key that is wrong.
    """
    return _Reader(name, table).settings()


class _Reader:
    def __init__(self, name: str, table: Mapping[str, object]) -> None:
        self._place = f"[reviewers.{name.replace(':', '.')}]"
        self._table = table

    def settings(self) -> Settings:
        self._check_keys()
        command, url = self._words("command"), self._text("url")
        if bool(command) == bool(url):
            self._refuse("it needs either `command` or `url`")
        if command and any(key in self._table for key in _HTTP_ONLY):
            self._refuse("it has headers, which only a `url` gets")
        if url:
            self._check_url(url)
        on_error = self._text("on_error") or "decline"
        if on_error not in ("decline", "user"):
            self._refuse(f"on_error must be 'decline' or 'user', not {on_error!r}")
        return Settings(
            command,
            url,
            self._timeout(),
            self._words("env"),
            self._texts("http_headers"),
            self._texts("env_http_headers"),
            on_error,
        )

    def _check_keys(self) -> None:
        for key, value in self._table.items():
            if key not in _KEYS and not isinstance(value, Mapping):
                self._refuse(f"it has an unknown key {key!r} (known: {', '.join(_KEYS)})")

    def _check_url(self, url: str) -> None:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (
            parts.scheme == "http" and parts.hostname in _THIS_MACHINE
        )
        if not parts.hostname or not is_safe:
            self._refuse(f"url must be https (http only on this machine), not {url!r}")

    def _timeout(self) -> float:
        value = self._table.get("timeout_ms", _DEFAULT_TIMEOUT_MS)
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            self._refuse(f"timeout_ms must be a number of milliseconds above 0, not {value!r}")
        return value / 1000

    def _text(self, key: str) -> str:
        value = self._table.get(key, "")
        if not isinstance(value, str):
            self._refuse(f"{key} must be a text, not {value!r}")
        return value

    def _words(self, key: str) -> tuple[str, ...]:
        value = self._table.get(key, ())
        words = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (None,)
        if not all(isinstance(word, str) and word and "\0" not in word for word in words):
            self._refuse(f"{key} must be a list of texts, not {value!r}")
        return cast("tuple[str, ...]", tuple(words))

    def _texts(self, key: str) -> Mapping[str, str]:
        value = self._table.get(key, {})
        texts = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {"": None}
        if not all(isinstance(text, str) for text in texts.values()):
            self._refuse(f"{key} must be a table of texts, not {value!r}")
        return cast("Mapping[str, str]", dict(texts))

    def _refuse(self, fault: str) -> NoReturn:
        raise ConfigError(f"{self._place} in config.toml: {fault}")
