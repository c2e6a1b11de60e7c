"""`ferrule mcp`: which MCP servers are configured, and whether they work."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigEdit, ConfigRequest
from ferrule_mcp.listing import (
    prompt_line,
    server_key,
    server_place,
    server_state,
    server_tables,
    shown_server,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import Config, Host, Kernel
    from ferrule_mcp.server_settings import ServerSettings
    from ferrule_mcp.sign_in_store import Wish
    from ferrule_mcp.trial import Trial

app = typer.Typer(
    help="List, add, remove and test MCP servers, which offer tools of other programs.",
    no_args_is_help=True,
)
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON; secrets are masked")]
NameArgument = Annotated[str, typer.Argument(help="the server's name")]


class McpCommandError(FerruleError):
    """The command cannot do what it was asked."""


@app.command("list")
def list_servers(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the configured servers."""
    host = cast("Host", context.obj)
    config = _config(host)
    tables = server_tables(config.values)
    if as_json:
        shown = [shown_server(config, name, host.home) for name in sorted(tables)]
        _print(json.dumps(shown, indent=2))
        return
    if not tables:
        _print("No MCP servers are configured; `ferrule mcp add` adds one.")
        return
    rows = [("name", "what", "state")]
    rows += [
        (name, server_place(tables[name]), server_state(config, name)) for name in sorted(tables)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        _print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


@app.command("get")
def get_server(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show one server and where it is configured."""
    host = cast("Host", context.obj)
    config = _config(host)
    _known(config, name)
    shown = shown_server(config, name, host.home)
    if as_json:
        _print(json.dumps(shown, indent=2))
        return
    for key, value in shown.items():
        _print(f"{key}: {value if isinstance(value, str) else json.dumps(value)}")


@app.command("add")
def add_server(
    context: typer.Context,
    name: NameArgument,
    command: Annotated[
        list[str] | None, typer.Argument(help="program and arguments, after `--`")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="reach it by streamable HTTP")] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", help="KEY=VALUE for its environment")
    ] = None,
    env_var: Annotated[
        list[str] | None, typer.Option("--env-var", help="hand on this variable of ours")
    ] = None,
    bearer: Annotated[
        str | None,
        typer.Option("--bearer-token-env-var", help="variable that holds the bearer token"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="replace a server of that name")
    ] = False,
) -> None:
    """Add a server to config.toml: `ferrule mcp add NAME -- PROGRAM ARGUMENT…`, or `--url URL`."""
    table = _table(command or [], url, env or [], env_var or [], bearer)
    host = cast("Host", context.obj)
    if name in server_tables(_config(host).values) and not replace:
        raise McpCommandError(f"there is an MCP server {name!r} already; --replace replaces it")
    _check(name, table)
    edits = [ConfigEdit(server_key(name), None)] if replace else []
    _write(host, [*edits, ConfigEdit(server_key(name), table)])
    _print(f"Added {name}; `ferrule mcp test {name}` tries it.")


@app.command("remove")
def remove_server(context: typer.Context, name: NameArgument) -> None:
    """Take a server out of config.toml."""
    host = cast("Host", context.obj)
    config = _config(host)
    _known(config, name)
    user = next((layer for layer in config.layers if layer.name == "user"), None)
    if user is None or name not in server_tables(user.values):
        origin = config.origin(server_key(name))
        raise McpCommandError(
            f"the MCP server {name!r} comes from {origin.file or origin.layer}; remove it there"
        )
    _write(host, [ConfigEdit(server_key(name), None)])
    _print(f"Removed {name}.")


@app.command("test")
def check_server(
    context: typer.Context,
    name: NameArgument,
    as_json: JsonOption = False,
    accepts: Annotated[
        bool,
        typer.Option("--accept-changes", help="approve approved tools as they are now"),
    ] = False,
) -> None:
    """Start a server, list what it offers, and end it; what it offers is remembered."""
    from ferrule_mcp.trial import try_server

    host = cast("Host", context.obj)
    settings = _usable(host, name)

    async def attempt(kernel: Kernel) -> Trial:
        return await try_server(kernel.runtime, host, settings, accepts=accepts)

    trial = host.run(attempt)
    if as_json:
        _print(json.dumps(trial._asdict(), indent=2))
        return
    _print(f"{name}: {trial.server} answered after {trial.seconds:.2f} s; it offers:")
    for tool in trial.tools:
        _print(f"  {tool}")
    if not trial.tools:
        _print("  no tools")
    for tool in trial.accepted:
        _print(f"{tool}: approved as it is now")


@app.command("prompts")
def use_prompts(
    context: typer.Context,
    name: NameArgument,
    prompt: Annotated[str | None, typer.Argument(help="fill in this prompt, and print it")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="KEY=VALUE for it")] = None,
    as_json: JsonOption = False,
) -> None:
    """List a server's prompts, or print one: `ferrule mcp prompts S P k=v | ferrule exec -`."""
    from ferrule_mcp.prompts import filled_prompt, prompt_list, text_of
    from ferrule_mcp.trial import lent

    host = cast("Host", context.obj)
    settings = _usable(host, name)
    given = dict(_pair(each, "an argument of a prompt is") for each in arguments or [])

    async def attempt(kernel: Kernel) -> object:
        async with lent(kernel.runtime, host, settings) as server:
            if prompt is None:
                return await prompt_list(server)
            return await filled_prompt(server, prompt, given)

    found = host.run(attempt)
    if as_json:
        _print(json.dumps(found, indent=2))
    elif prompt is not None:
        _print(text_of(cast("Mapping[str, object]", found)))
    else:
        for each in cast("Sequence[Mapping[str, object]]", found):
            _print(prompt_line(each))


@app.command("login")
def log_in(context: typer.Context, name: NameArgument) -> None:
    """Sign in to a server of the network, in a browser."""
    host = cast("Host", context.obj)
    settings, port, wish = _remote(host, name)

    async def show(url: str) -> None:
        import webbrowser

        _print(f"Open this address and agree:\n{url}")
        webbrowser.open(url)

    async def attempt(kernel: Kernel) -> str:
        from ferrule_mcp.sign_in import Browser, sign_in

        return await sign_in(settings, host.home, Browser(show, port), wish, host.environ)

    place = host.run(attempt)
    _print(f"Signed in to {name}; what is kept of it is {place}.")


@app.command("logout")
def log_out(context: typer.Context, name: NameArgument) -> None:
    """Forget the sign-in at a server."""
    from ferrule_mcp.sign_in_store import SignInStore

    host = cast("Host", context.obj)
    settings, _, _ = _remote(host, name)

    async def attempt(kernel: Kernel) -> bool:
        return await SignInStore(host.home, settings).forget()

    was_there = host.run(attempt)
    _print(f"Signed out of {name}." if was_there else f"Nobody was signed in to {name}.")


def _remote(host: Host, name: str) -> tuple[ServerSettings, int, Wish]:
    """Return a server that is reached by URL, the port a browser comes back to, and the store."""
    from ferrule_mcp.server_settings import read_server

    config = _config(host)
    _known(config, name)
    settings = read_server(name, server_tables(config.values)[name], "/")
    if not settings.url:
        raise McpCommandError(f"the MCP server {name!r} has no URL to sign in to")
    wish = config.get("mcp_oauth_credentials_store", "auto")
    if wish not in ("auto", "keyring", "file"):
        raise McpCommandError(
            "`mcp_oauth_credentials_store` must be auto, keyring or file: a command leaves nothing "
            "in the memory of other programs"
        )
    return settings, cast("int", config.get("mcp_oauth_callback_port", 0)), cast("Wish", wish)


def _usable(host: Host, name: str) -> ServerSettings:
    """Return a server that may be started."""
    import os

    from ferrule_mcp.server_settings import read_server

    config = _config(host)
    _known(config, name)
    if (state := server_state(config, name)) != "enabled":
        raise McpCommandError(f"the MCP server {name!r} is {state}")
    return read_server(name, server_tables(config.values)[name], os.getcwd())


def _config(host: Host) -> Config:
    import os

    config = host.config(ConfigRequest(cwd=os.getcwd()))
    for warning in config.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    return config


def _write(host: Host, edits: Sequence[ConfigEdit]) -> None:
    async def write(kernel: Kernel) -> None:
        kernel.write_config(ConfigRequest(cwd=str(host.home)), edits)

    host.run(write)


def _known(config: Config, name: str) -> None:
    tables = server_tables(config.values)
    if name not in tables:
        known = ", ".join(sorted(tables)) or "none"
        raise McpCommandError(f"no MCP server {name!r} is configured; there are: {known}")


def _table(
    command: Sequence[str],
    url: str | None,
    env: Sequence[str],
    env_vars: Sequence[str],
    bearer: str | None,
) -> dict[str, object]:
    table: dict[str, object] = {}
    if command:
        table |= {"command": command[0], "args": list(command[1:])}
    if url is not None:
        table["url"] = url
    if env:
        table["env"] = dict(_pair(each, "--env takes") for each in env)
    if env_vars:
        table["env_vars"] = list(env_vars)
    if bearer is not None:
        table["bearer_token_env_var"] = bearer
    return table


def _pair(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise McpCommandError(f"{what} KEY=VALUE")
    return name, value


def _check(name: str, table: Mapping[str, object]) -> None:
    from ferrule_mcp.server_settings import read_server

    read_server(name, table, "/")
    misplaced = [key for key in ("env", "env_vars") if key in table and "url" in table]
    if misplaced or ("bearer_token_env_var" in table and "command" in table):
        raise McpCommandError(
            "--env and --env-var are for programs, --bearer-token-env-var is for URLs"
        )


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
