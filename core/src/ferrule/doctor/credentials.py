"""Where a provider's key would come from, and what of it may be told: never the key itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from ferrule.doctor.program import run_program
from ferrule.doctor.stored_key import ID, Key, stored_key
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from pathlib import Path

_SIGN_IN_KEY: Final = "CODEX_API_KEY"
_SHORT: Final = 20
_LONG: Final = 400
_COMMAND_S: Final = 5.0


def find_key(table: Mapping[str, object], name: str, environ: Mapping[str, str], home: Path) -> Key:
    """Look for the key of a `model_providers` table as its provider would.

    Args:
        table: The table.
        name: Its name, for messages.
        environ: The process environment.
        home: `$FERRULE_HOME`, where a token command runs.
    """
    variable = table.get("env_key")
    if table.get("requires_openai_auth") is True and (key := _signed_in(table, environ, home)):
        return key
    if isinstance(variable, str):
        return _from_variable(variable, table, environ)
    token = table.get("experimental_bearer_token")
    if isinstance(token, str):
        text = f"the key of {name} stands in config.toml, {_length(token)}"
        mend = "put it into an environment variable and name that in `env_key`"
        return Key(Check(ID, "warn", text, mend), token)
    auth = table.get("auth")
    if isinstance(auth, Mapping):
        return _from_command(cast("Mapping[str, object]", auth), environ, home)
    return Key(Check(ID, "ok", f"{name} is configured without a key"))


def _signed_in(table: Mapping[str, object], environ: Mapping[str, str], home: Path) -> Key | None:
    """Look for what stands for a sign-in; None leaves it to the other places."""
    if environ.get(_SIGN_IN_KEY, "").strip():
        return _from_variable(_SIGN_IN_KEY, table, environ)
    is_elsewhere = "experimental_bearer_token" in table or "auth" in table
    if is_elsewhere or environ.get(str(table.get("env_key")), "").strip():
        return None
    return stored_key(home)


def _from_variable(variable: str, table: Mapping[str, object], environ: Mapping[str, str]) -> Key:
    value = environ.get(variable, "")
    if not value.strip():
        hint = str(table.get("env_key_instructions") or f"set {variable} to your key")
        state = "is not set" if variable not in environ else "is blank"
        return Key(Check(ID, "fail", f"the environment variable {variable} {state}", hint))
    if oddity := _oddity(value):
        text = f"the key in {variable} {oddity}"
        return Key(Check(ID, "warn", text, f"set {variable} to the bare key"), value.strip())
    return Key(Check(ID, "ok", f"a key is in {variable}, {_length(value)}"), value.strip())


def _oddity(value: str) -> str:
    bare = value.strip()
    if bare != value:
        return "begins or ends with blanks"
    if bare[0] in "\"'" or bare[-1] in "\"'":
        return "is in quotes, which count as part of it"
    if any(sign.isspace() for sign in bare):
        return "has a blank or a line break in it"
    return "" if bare.isascii() else "has letters in it that keys do not have"


def _length(value: str) -> str:
    size = len(value.strip())
    kind = "short" if size < _SHORT else "long" if size > _LONG else "of usual length"
    return f"it is {kind}"


def _from_command(auth: Mapping[str, object], environ: Mapping[str, str], home: Path) -> Key:
    """Run the user's own program, as each session does."""
    program = str(auth.get("command") or "")
    arguments = auth.get("args")
    words = [str(each) for each in cast("list[object]", arguments)] if arguments else []
    limit = auth.get("timeout_ms")
    limit_s = limit / 1000 if isinstance(limit, int) else _COMMAND_S
    mend = "run it by hand, and correct `auth` of the provider"
    try:
        where = str(auth.get("cwd") or home)
        ended = run_program([program, *words], environ=environ, limit_s=limit_s, cwd=where)
    except TimeoutError:
        text = f"the token command {program!r} gave no token within {limit_s:g} s"
        return Key(Check(ID, "fail", text, mend))
    except OSError as error:
        text = f"the token command {program!r} cannot be started: {error.strerror}"
        return Key(Check(ID, "fail", text, mend))
    token = ended.output.strip()
    if ended.code or not token:
        how = f"failed with exit code {ended.code}" if ended.code else "printed nothing"
        return Key(Check(ID, "fail", f"the token command {program!r} {how}", mend))
    return Key(Check(ID, "ok", f"{program!r} gave a token, {_length(token)}"), token)
