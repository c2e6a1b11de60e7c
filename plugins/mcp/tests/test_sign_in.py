"""Signing in to a server of the network by OAuth."""

import json
import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import RpcCall
from ferrule_mcp.callback import Callback

SERVERS = Path(__file__).parent / "servers"

SECRET = ("mcp__net__secret", {})


def configure(talk, url, *lines, store="file"):
    """Write the configuration; the keyring of whoever runs the tests is left alone."""
    keys = ['default_tools_approval_mode = "approve"', *lines]
    table = "\n".join(["[mcp_servers.net]", f'url = "{url}"', *keys, ""])
    talk.configure(table, top=f'mcp_oauth_credentials_store = "{store}"\n')


def log_in(talk, said=None):
    """Run `ferrule mcp login` and do what a browser would."""
    environ = {**talk.home.environ, "BROWSER": "true"}
    command = talk.home.command(["mcp", "login", "net"])
    with subprocess.Popen(
        command, env=environ, cwd=talk.home.workspace, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if said is not None:
                said.append(line)
            if re.match("https?://", line):
                urllib.request.urlopen(line.strip()).read()
        return process.wait(120)


def sign_in_file(talk):
    (file,) = (talk.home.path / "mcp-auth").iterdir()
    return file


def tokens(drawer):
    (kept,) = json.loads(drawer.read_text()).values()
    return json.loads(kept)["tokens"]


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


@pytest.fixture
def drawer(talk, tmp_path):
    """A keyring that keeps what it is given in a file; returns the file."""
    place = tmp_path / "drawer.json"
    talk.home.environ.update(
        PYTHON_KEYRING_BACKEND="drawer.Drawer", PYTHONPATH=str(SERVERS), DRAWER=str(place)
    )
    return place


@pytest.mark.parametrize("store", [pytest.param("keyring", marks=pytest.mark.slow), "auto"])
def test_the_keyring_holds_the_tokens_and_the_file_none(talk, http, port, drawer, store):
    with http(port, "oauth_server.py", port, 2) as url:
        configure(talk, url, store=store)
        assert log_in(talk) == 0
        before = tokens(drawer)
        time.sleep(2.1)  # so that the session renews them
        run = talk.exec(SECRET)
        shown = [
            talk.home.run("mcp", *words).stdout for words in (["list", "--json"], ["get", "net"])
        ]

    assert run.items("mcp_tool_call")[0]["result"]["content"][0]["text"] == "the secret"
    assert json.loads(sign_in_file(talk).read_text()) == {"kept_in": "keyring"}
    after = tokens(drawer)
    assert before["access_token"] != after["access_token"]
    everywhere = [file.read_text() for file in talk.home.path.rglob("*") if file.is_file()]
    secrets = {token for kept in (before, after) for token in kept.values() if len(str(token)) > 20}
    assert len(secrets) == 4
    assert "in the keyring of this system" in shown[1]
    assert not [text for text in (*everywhere, *shown, run.stdout) for s in secrets if s in text]


@pytest.mark.slow
def test_signing_out_empties_the_keyring(talk, http, port, drawer):
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url, store="keyring")
        assert log_in(talk) == 0
        assert "Signed out" in talk.home.run("mcp", "logout", "net").stdout

    assert json.loads(drawer.read_text()) == {}
    assert not os.listdir(talk.home.path / "mcp-auth")


@pytest.mark.slow
def test_a_keyring_that_was_asked_for_is_never_replaced_by_a_file(talk, http, port, drawer):
    talk.home.environ["DRAWER_IS_LOCKED"] = "1"
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url, store="keyring")
        assert log_in(talk) != 0

    assert not (talk.home.path / "mcp-auth").exists()


@pytest.mark.slow
def test_where_the_keyring_has_gone_signing_in_again_to_the_file_helps(talk, http, port, drawer):
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url, store="keyring")
        assert log_in(talk) == 0
        talk.home.environ["DRAWER_IS_LOCKED"] = "1"
        assert log_in(talk) != 0
        configure(talk, url, store="file")
        assert log_in(talk) == 0

    assert "access_token" in sign_in_file(talk).read_text()


@pytest.mark.slow
def test_auto_takes_the_file_where_there_is_no_keyring_and_says_so(talk, http, port, drawer):
    talk.home.environ["DRAWER_IS_LOCKED"] = "1"
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url, store="auto")
        said = []
        assert log_in(talk, said) == 0

    assert str(sign_in_file(talk)) in said[-1]
    assert "access_token" in sign_in_file(talk).read_text()


def test_a_client_that_is_registered_already_needs_its_secret(talk, http, port):
    oauth = 'oauth = { client_id = "us", client_secret_env_var = "NET_SECRET" }'
    with http(port, "oauth_server.py", port, 600) as url:
        configure(talk, url, oauth)
        run = talk.home.run("mcp", "login", "net")

    assert "client_secret_env_var names the variable NET_SECRET, which is not set" in run.stderr


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
