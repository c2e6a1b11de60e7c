"""Signing in to a server of the network by OAuth."""

import json
import os
import re
import subprocess
import time
import urllib.request
from types import SimpleNamespace

import anyio
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import RpcCall
from ferrule_mcp.callback import Callback

SECRET = ("mcp__net__secret", {})


def configure(talk, url):
    keys = 'default_tools_approval_mode = "approve"'
    talk.configure(f'[mcp_servers.net]\nurl = "{url}"\n{keys}\n')


def log_in(talk):
    """Run `ferrule mcp login` and do what a browser would."""
    environ = {**talk.home.environ, "BROWSER": "true"}
    command = talk.home.command(["mcp", "login", "net"])
    with subprocess.Popen(
        command, env=environ, cwd=talk.home.workspace, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if re.match("https?://", line):
                urllib.request.urlopen(line.strip()).read()
        return process.wait(120)


def sign_in_file(talk):
    (file,) = (talk.home.path / "mcp-auth").iterdir()
    return file


def test_without_a_sign_in_it_is_said_what_to_do(talk, http, port):
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url)
        talk.run()

    assert any("run `ferrule mcp login net`" in each["message"] for each in talk.of("warning"))


def test_after_signing_in_sessions_are_let_in(talk, http, port):
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url)
        assert log_in(talk) == 0
        (item,) = talk.run(SECRET)

    assert item["result"]["content"][0]["text"] == "the secret"
    assert sign_in_file(talk).stat().st_mode & 0o777 == 0o600


def test_a_token_that_ended_is_renewed_without_anybody(talk, http, port):
    with http(port, "oauth_server.py", port, 2) as url:
        configure(talk, url)
        assert log_in(talk) == 0
        before = json.loads(sign_in_file(talk).read_text())["tokens"]["access_token"]
        time.sleep(2.1)
        (item,) = talk.run(SECRET)

    assert item["result"]["content"][0]["text"] == "the secret"
    assert json.loads(sign_in_file(talk).read_text())["tokens"]["access_token"] != before


def test_a_client_of_the_app_server_signs_in(talk, http, port):
    told, started, rows = [], [], []

    async def main(kernel):
        request = ConfigRequest(cwd=str(talk.home.workspace))
        config = kernel.config(request)
        methods = {method.name: method.handler for method in await kernel.rpc_methods(config)}

        async def ask(method, **params):
            client = SimpleNamespace(start_soon=lambda work: group.start_soon(work))
            call = RpcCall(params, client, kernel, config, tell, request)
            return await methods[method](call)

        def tell(method, params):
            told.append((method, params))
            done.set()

        done = anyio.Event()
        async with anyio.create_task_group() as group:
            rows.append((await ask("mcpServerStatus/list"))["data"][0])
            started.append(await ask("mcpServer/oauth/login", name="net"))
            await anyio.to_thread.run_sync(visit, started[0]["authorizationUrl"])
            with anyio.fail_after(120):
                await done.wait()
            rows.append((await ask("mcpServerStatus/list"))["data"][0])

    def visit(url):
        return urllib.request.urlopen(url).read()

    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url)
        talk.host().run(main)

    ((method, params),) = told
    assert method == "mcpServer/oauthLogin/completed"
    assert (params["name"], params["success"], params["error"]) == ("net", True, None)
    assert [row["authStatus"] for row in rows] == ["notLoggedIn", "oAuth"]
    assert list(rows[1]["tools"]) == ["secret"]


def test_signing_out_forgets_it(talk, http, port):
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url)
        assert log_in(talk) == 0
        assert "Signed out" in talk.home.run("mcp", "logout", "net").stdout
        talk.run()

    assert not os.listdir(talk.home.path / "mcp-auth")
    assert any("ferrule mcp login" in each["message"] for each in talk.of("warning"))


def test_a_server_that_asks_nobody_needs_no_sign_in(talk, http, port):
    with http(port) as url:
        configure(talk, url)
        run = talk.home.run("mcp", "login", "net")

    assert run.returncode != 0
    assert "asks nobody to sign in" in run.stderr


def test_a_person_who_does_not_agree_ends_it():
    def visit(url):
        return urllib.request.urlopen(url + "?error=access_denied").read()

    async def main():
        async with Callback(0) as callback:
            await anyio.to_thread.run_sync(visit, callback.url)
            await callback.answer()

    with pytest.raises(FerruleError, match="nobody agreed: access_denied"):
        anyio.run(main)
