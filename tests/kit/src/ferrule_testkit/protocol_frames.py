"""Checks what an app-server sends against the published JSON Schema of the protocol.

The schema lies outside of the repository, in `../shared/conformance/app-server`; where it is
missing, nothing is checked. Wrap any client with it: tell it what is sent and what is received.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

BUNDLE: Final = (
    Path(__file__).parents[5]
    / "shared/conformance/app-server/schema-experimental/codex_app_server_protocol.schemas.json"
)
_EXTENSIONS: Final = frozenset({"item/decision"})
"""What Ferrule tells beyond the protocol, to clients that ask for it."""
_RESULTS: Final = {
    "account/logout": "LogoutAccountResponse",
    "account/rateLimits/read": "GetAccountRateLimitsResponse",
    "account/login/start": "LoginAccountResponse",
    "account/login/cancel": "CancelLoginAccountResponse",
    "config/mcpServer/reload": "McpServerRefreshResponse",
    "config/value/write": "ConfigWriteResponse",
    "config/batchWrite": "ConfigWriteResponse",
    "configRequirements/read": "ConfigRequirementsReadResponse",
}
"""Results whose type is not named like the parameters."""


class FrameError(AssertionError):
    """A message does not fit the published schema."""


class FrameChecker:
    """Follows one connection."""

    def __init__(self) -> None:
        self._asked: dict[object, str] = {}
        self.checked = 0

    def sent(self, message: Mapping[str, Any]) -> None:
        """Take note of what the client sends, to know what the replies are to."""
        if "id" in message and "method" in message:
            self._asked[message["id"]] = message["method"]

    def received(self, message: Mapping[str, Any]) -> None:
        """Check what the server sent.

        Raises:
            FrameError: It does not fit.
        """
        if not BUNDLE.exists():
            return
        self.checked += 1
        method = message.get("method")
        if isinstance(method, str) and "id" in message:
            _check(message, "ServerRequest", method)
        elif isinstance(method, str):
            if not isinstance(message.get("emittedAtMs"), int):
                raise FrameError(f"{method}: no emittedAtMs: {message}")
            if method not in _EXTENSIONS:
                _check(message, "ServerNotification", method)
        elif "error" in message:
            _check_error(message)
        else:
            asked = self._asked.get(message.get("id"))
            if asked is None:
                raise FrameError(f"a reply to nothing that was asked: {message}")
            validator = _result_validator(asked)
            if validator is not None:
                _complain(validator, message["result"], f"the result of {asked}")


def _check_error(message: Mapping[str, Any]) -> None:
    error = message["error"]
    if not (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("message"), str)
        and "id" in message
    ):
        raise FrameError(f"a malformed error: {message}")


def _check(message: Mapping[str, Any], union: str, method: str) -> None:
    validator = _branch_validator(union, method)
    if validator is None:
        raise FrameError(f"{method} is no {union} of the published protocol")
    _complain(validator, message, method)


def _complain(validator: Validator, value: object, what: str) -> None:
    for error in validator.iter_errors(value):
        place = "/".join(str(part) for part in error.absolute_path)
        raise FrameError(f"{what}: at {place or 'top'}: {error.message[:600]}")


@cache
def _bundle() -> Mapping[str, Any]:
    return json.loads(BUNDLE.read_text(encoding="utf-8"))


@cache
def _branch_validator(union: str, method: str) -> Validator | None:
    for branch in _bundle()["definitions"][union]["oneOf"]:
        if branch["properties"]["method"].get("enum") == [method]:
            return _validator(branch)
    return None


@cache
def _result_validator(method: str) -> Validator | None:
    definitions = _bundle()["definitions"]
    name = _RESULTS.get(method)
    for branch in definitions["ClientRequest"]["oneOf"]:
        if name is None and branch["properties"]["method"].get("enum") == [method]:
            reference = branch["properties"].get("params", {}).get("$ref", "")
            name = reference.rpartition("/")[2].replace("Params", "Response")
    for table, prefix in ((definitions.get("v2", {}), "v2/"), (definitions, "")):
        if name and name in table:
            return _validator({"$ref": f"#/definitions/{prefix}{name}"})
    return None


def _validator(schema: Mapping[str, Any]) -> Validator:
    from jsonschema import Draft7Validator  # heavy, and only needed here

    whole = {**schema, "definitions": _bundle()["definitions"]}
    return cast("Validator", Draft7Validator(whole))
