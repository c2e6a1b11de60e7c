"""`ferrule login` and `ferrule logout`, loaded only when one of them runs.

What is shown is where and as whom one is signed in; a key or a token is never shown, in no part.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_wire.account import Account, SignInError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.host import Host, Kernel

_LONGEST_KEY: Final = 8192
_NOT_SIGNED_IN: Final = 1

login_app = typer.Typer(help="Sign in to a model provider, or store its API key.")
logout_app = typer.Typer(help="Sign out, and forget what was stored.")


@login_app.callback(invoke_without_command=True)
def login(
    context: typer.Context,
    *,
    device_auth: Annotated[
        bool, typer.Option("--device-auth", help="Enter a code in a browser elsewhere.")
    ] = False,
    with_api_key: Annotated[
        bool, typer.Option("--with-api-key", help="Read an API key from standard input.")
    ] = False,
) -> None:
    """Sign in to a model provider, or store its API key.

    Without an option a browser is used, at the issuer that the table [login] names.
    """
    if context.invoked_subcommand is not None:
        return
    host = cast("Host", context.obj)
    config = host.config(ConfigRequest(str(Path.cwd()))).values
    if device_auth and with_api_key:
        raise FerruleError("--device-auth and --with-api-key exclude each other; give one of them")
    _refuse_ephemeral(config)
    if with_api_key:
        _store_key(host, config)
    else:
        _sign_in(host, config, by_device=device_auth)
    _say_what_counts(host)


@login_app.command()
def status(context: typer.Context) -> None:
    """Tell whether and as whom one is signed in. Exit code 1: nobody is."""
    from ferrule_wire.vault import Vault

    host = cast("Host", context.obj)
    vault = Vault(host.home)
    account = vault.read()
    if account is None:
        _say("Not signed in")
        _say_what_counts(host)
        raise typer.Exit(_NOT_SIGNED_IN)
    from ferrule_login.keeping import where

    _say(f"{_described(account)}, kept {where(host.home, vault.store)}")
    _say_what_counts(host)


@logout_app.callback(invoke_without_command=True)
def logout(context: typer.Context) -> None:
    """Sign out: the issuer revokes the sign-in where it can, and it is forgotten here."""
    from ferrule_login.keeping import give_back

    host = cast("Host", context.obj)

    async def main(kernel: Kernel) -> bool:
        return await give_back(host.home, _warn)

    _say("Signed out" if host.run(main) else "Not signed in")


def _store_key(host: Host, config: Mapping[str, object]) -> None:
    from ferrule_login.keeping import keep, where
    from ferrule_login.settings import check_method, store_wish

    check_method(config, "api")
    account = Account(api_key=_read_key())

    async def main(kernel: Kernel) -> None:
        store = await keep(host.home, account, store_wish(config), _warn)
        _say(f"The API key is kept {where(host.home, store)}; it is tried at the next request")

    host.run(main)


def _sign_in(host: Host, config: Mapping[str, object], *, by_device: bool) -> None:
    from ferrule_login.keeping import keep, where
    from ferrule_login.settings import read_login, store_wish

    settings = read_login(config)

    async def main(kernel: Kernel) -> None:
        if by_device:
            from ferrule_login.device_flow import device_attempt

            attempt = await device_attempt(settings)
            _say(f"Open {attempt.url} in a browser on any machine, and enter the code")
            _say(f"\n    {attempt.user_code}\n")
            _say("Enter it only if you began this yourself. Waiting (ctrl-c ends it) …")
            account = await attempt.account()
        else:
            from ferrule_login.browser_flow import browser_attempt

            async with browser_attempt(settings) as attempt:
                opened = _open_browser(attempt.url, host.environ)
                _say("A browser opens; if it does not, go to" if opened else "Go to this page:")
                _say(f"\n{attempt.url}\n\nWaiting for you to sign in (ctrl-c ends it) …")
                account = await attempt.account()
        store = await keep(host.home, account, store_wish(config), _warn)
        _say(f"{_described(account)}, kept {where(host.home, store)}")

    host.run(main)


def _refuse_ephemeral(config: Mapping[str, object]) -> None:
    if config.get("cli_auth_credentials_store") == "ephemeral":
        raise FerruleError(
            'cli_auth_credentials_store = "ephemeral" keeps nothing beyond this command; '
            'choose "file", "keyring" or "auto"'
        )


def _read_key() -> str:
    """Read the key where neither other users nor the screen see it.

    Raises:
        SignInError: What came is no key.
    """
    if sys.stdin.isatty():
        import getpass

        text = getpass.getpass("API key (it is not shown): ")
    else:
        text = sys.stdin.read(_LONGEST_KEY + 1)
    key = text.strip()
    if not key:
        raise SignInError(
            "no API key came on standard input; "
            "pipe it in, such as `printenv OPENAI_API_KEY | ferrule login --with-api-key`"
        )
    if len(text) > _LONGEST_KEY or not key.isascii() or any(letter.isspace() for letter in key):
        raise SignInError("what came on standard input is no API key: give the bare key alone")
    return key


def _open_browser(url: str, environ: Mapping[str, str]) -> bool:
    """Open a browser of the desktop; a text browser would take the terminal over."""
    is_watched = sys.stdin.isatty() and sys.stdout.isatty()
    has_desktop = sys.platform in ("darwin", "win32") or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if not (is_watched and has_desktop) or environ.get("SSH_CONNECTION"):
        return False
    import webbrowser

    return webbrowser.open(url)


def _described(account: Account) -> str:
    tokens = account.tokens
    if tokens is None:
        return "Signed in with an API key"
    who = f" as {tokens.email}" if tokens.email.isprintable() and tokens.email else ""
    at = f" at {account.issuer.url}" if account.issuer else ""
    plan = f" (plan {tokens.plan})" if tokens.plan.isprintable() and tokens.plan else ""
    text = f"Signed in{who}{at}{plan}"
    if account.is_renewable:
        return text
    if tokens.expires_at:
        until = datetime.fromtimestamp(tokens.expires_at, tz=UTC)
        text += f" until {until:%Y-%m-%d %H:%M} UTC, then sign in again"
    return text


def _say_what_counts(host: Host) -> None:
    """Variables count before what is stored; a person who forgot one looks in the wrong place."""
    for name in ("CODEX_API_KEY", "OPENAI_API_KEY"):
        if host.environ.get(name, "").strip():
            _warn(f"{name} is set: where a provider reads it, it counts before what is stored")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _warn(text: str) -> None:
    sys.stderr.write(f"{text}\n")
