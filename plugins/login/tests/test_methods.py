"""The methods `account/*`, as clients of a server call them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import httpx
import jsonschema
import pytest

from ferrule.host import LocalHost
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import RpcCall, RpcError
from ferrule_login.methods import account_methods

KEY = "sk-test-0123456789abcdef"
BUNDLE = (
    Path(__file__).parents[4]
    / "shared/conformance/app-server/schema-experimental"
    / "codex_app_server_protocol.v2.schemas.json"
)
RESULTS = {
    "account/read": "GetAccountResponse",
    "account/login/start": "LoginAccountResponse",
    "account/login/cancel": "CancelLoginAccountResponse",
    "account/logout": "LogoutAccountResponse",
}
NEWS = {
    "account/login/completed": "AccountLoginCompletedNotification",
    "account/updated": "AccountUpdatedNotification",
}


def check(definition, value):
    """Compare with what was published, where that is at hand."""
    if not BUNDLE.exists() or definition is None:
        return
    definitions = json.loads(BUNDLE.read_text())["definitions"]
    schema = {"$ref": f"#/definitions/{definition}", "definitions": definitions}
    jsonschema.validate(value, schema)


@dataclass
class Client:
    """A client of a server, and the server's end of it."""

    methods: dict
    config: object
    group: anyio.abc.TaskGroup
    name: str = "test"
    experimental: bool = True
    heard: list = field(default_factory=list)
    news: anyio.Event = field(default_factory=anyio.Event)

    def notify(self, method, params):
        check(NEWS.get(method), params)
        self.heard.append((method, params))
        self.news.set()
        self.news = anyio.Event()

    def start_soon(self, work):
        self.group.start_soon(work)

    def on_close(self, callback):
        raise NotImplementedError

    async def call(self, name, **params):
        call = RpcCall(
            params,
            self,
            kernel=None,
            config=self.config,
            broadcast=self.notify,
            request=ConfigRequest("/"),
        )
        result = await self.methods[name].handler(call)
        check(RESULTS.get(name), result)
        return result

    async def until(self, method):
        """Wait for a notification; returns its parameters."""
        with anyio.fail_after(120):
            while not (found := [params for name, params in self.heard if name == method]):
                await self.news.wait()
        return found[-1]


@pytest.fixture
def talk(person):
    """Run a conversation with a server that was just started."""

    def run(conversation, environ=None):
        async def main():
            environment = {**person.home.environ, **(environ or {})}
            host = LocalHost(person.home.path, environment)
            config = host.config(ConfigRequest(str(person.home.workspace)))
            offered = account_methods(person.home.path, environment)
            async with anyio.create_task_group() as group:
                client = Client({method.name: method for method in offered}, config, group)
                await conversation(client)
                group.cancel_scope.cancel()

        anyio.run(main)

    return run


async def _browse(url):
    async with httpx.AsyncClient(follow_redirects=True, timeout=120) as browser:
        return await browser.get(url)


def test_nobody_is_signed_in_at_first(talk):
    async def conversation(client):
        assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": True}
        status = await client.call("getAuthStatus")
        assert status == {"authMethod": None, "authToken": None, "requiresOpenaiAuth": True}

    talk(conversation)


def test_a_key_is_stored_and_every_client_told(talk, person):
    async def conversation(client):
        result = await client.call("account/login/start", type="apiKey", apiKey=KEY)
        assert result == {"type": "apiKey"}
        assert client.heard == [
            ("account/login/completed", {"loginId": None, "success": True, "error": None}),
            ("account/updated", {"authMode": "apikey", "planType": None}),
        ]
        read = await client.call("account/read", refreshToken=True)
        assert read == {"account": {"type": "apiKey"}, "requiresOpenaiAuth": True}
        status = await client.call("getAuthStatus", includeToken=True)
        assert (status["authMethod"], status["authToken"]) == ("apikey", None)

    talk(conversation)
    assert person.stored()["OPENAI_API_KEY"] == KEY


def test_a_key_in_the_environment_counts_as_signed_in(talk):
    async def conversation(client):
        assert (await client.call("account/read"))["account"] == {"type": "apiKey"}

    talk(conversation, environ={"SCRIPTED_KEY": KEY})


def test_a_provider_without_sign_in_has_no_account(talk, person, issuer):
    person.home.configure(tables=issuer.login_table())

    async def conversation(client):
        await client.call("account/login/start", type="apiKey", apiKey=KEY)
        assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": False}

    talk(conversation)


def test_signing_in_by_browser(talk, person, issuer):
    async def conversation(client):
        begun = await client.call("account/login/start", type="chatgpt")
        assert begun["type"] == "chatgpt"
        page = await _browse(begun["authUrl"])
        assert page.status_code == 200
        assert await client.until("account/updated") == {"authMode": "chatgpt", "planType": "pro"}
        done = await client.until("account/login/completed")
        assert done == {"loginId": begun["loginId"], "success": True, "error": None}
        assert [name for name, _ in client.heard] == ["account/login/completed", "account/updated"]
        read = await client.call("account/read")
        account = {"type": "chatgpt", "email": "ada@example.com", "planType": "pro"}
        assert read["account"] == account

    talk(conversation)
    assert person.stored()["tokens"]["access_token"] in issuer.state.access_tokens


def test_signing_in_by_device_code(talk, person, issuer):
    issuer.state.device_interval_s = 0.02
    issuer.state.device_answers = ["authorization_pending"] * 2

    async def conversation(client):
        begun = await client.call("account/login/start", type="chatgptDeviceCode")
        assert begun["userCode"] == "ABCD-1234"
        assert begun["verificationUrl"] == f"{issuer.url}/activate"
        done = await client.until("account/login/completed")
        assert done == {"loginId": begun["loginId"], "success": True, "error": None}

    talk(conversation)
    assert person.stored()["auth_mode"] == "chatgpt"


def test_a_refusal_is_told_as_a_failed_login(talk, person, issuer):
    issuer.state.is_denied = True

    async def conversation(client):
        begun = await client.call("account/login/start", type="chatgpt")
        await _browse(begun["authUrl"])
        done = await client.until("account/login/completed")
        assert done["success"] is False
        assert "access was denied" in done["error"]
        assert (await client.call("account/read"))["account"] is None

    talk(conversation)
    assert not person.auth_file.exists()


def test_a_login_may_be_cancelled(talk):
    async def conversation(client):
        begun = await client.call("account/login/start", type="chatgpt")
        cancel = partial(client.call, "account/login/cancel", loginId=begun["loginId"])
        assert await cancel() == {"status": "canceled"}
        done = await client.until("account/login/completed")
        assert (done["loginId"], done["success"]) == (begun["loginId"], False)
        assert await cancel() == {"status": "notFound"}
        with pytest.raises(httpx.ConnectError):
            await _browse(begun["authUrl"])

    talk(conversation)


@pytest.mark.parametrize("uri", ["http://127.0.0.1:0/auth/callback", "registered"])
def test_a_new_login_takes_the_place_of_one_that_waits(talk, person, issuer, free_port, uri):
    if uri == "registered":
        uri = f"http://127.0.0.1:{free_port}/auth/callback"
    table = issuer.login_table(redirect_uri=uri)
    person.home.configure(provider="requires_openai_auth = true", tables=table)

    async def conversation(client):
        first = await client.call("account/login/start", type="chatgpt")
        second = await client.call("account/login/start", type="chatgpt")
        assert client.heard[0][1]["loginId"] == first["loginId"]
        assert client.heard[0][1]["success"] is False
        await _browse(second["authUrl"])
        await client.until("account/updated")

    talk(conversation)


def test_a_login_that_cannot_begin_is_refused(talk, issuer):
    async def conversation(client):
        issuer_table = client.config.values["login"]
        assert issuer_table["issuer"] == issuer.url
        with pytest.raises(RpcError, match="not supported") as refused:
            await client.call("account/login/start", type="amazonBedrock")
        assert refused.value.code == -32600
        with pytest.raises(FerruleError, match="must not be empty"):
            await client.call("account/login/start", type="apiKey", apiKey=" ")
        assert client.heard == []

    talk(conversation)


def test_an_issuer_that_is_gone_refuses_the_call(talk, person, issuer):
    table = issuer.login_table(issuer="http://127.0.0.1:9")
    person.home.configure(tables=table)

    async def conversation(client):
        with pytest.raises(RpcError, match="cannot reach the issuer") as refused:
            await client.call("account/login/start", type="chatgpt")
        assert refused.value.code == -32603
        assert client.heard == []

    talk(conversation)


def test_without_an_issuer_only_a_key_can_be_given(talk, person):
    person.home.configure(provider="requires_openai_auth = true")

    async def conversation(client):
        with pytest.raises(FerruleError, match=r"needs `issuer` and `client_id`"):
            await client.call("account/login/start", type="chatgpt")

    talk(conversation)


def test_signing_out_revokes_and_tells_every_client(talk, signed_in, issuer):
    async def conversation(client):
        assert await client.call("account/logout") == {}
        assert client.heard == [("account/updated", {"authMode": None, "planType": None})]
        assert (await client.call("account/read"))["account"] is None

    talk(conversation)
    assert len(issuer.state.revoked) == 1


def test_reading_may_renew(talk, signed_in, issuer):
    before = signed_in.stored()["tokens"]

    async def conversation(client):
        await client.call("account/read", refreshToken=False)
        assert signed_in.stored()["tokens"] == before
        await client.call("account/read", refreshToken=True)

    talk(conversation)
    assert signed_in.stored()["tokens"]["refresh_token"] in issuer.state.refresh_tokens
    assert signed_in.stored()["tokens"] != before


def test_rate_limits_want_an_account(talk):
    async def conversation(client):
        with pytest.raises(RpcError) as refused:
            await client.call("account/rateLimits/read")
        words = "codex account authentication required to read rate limits"
        assert (str(refused.value), refused.value.code) == (words, -32600)

    talk(conversation)


def test_a_sign_in_kept_in_memory_leaves_no_file(talk, person, issuer):
    top = 'cli_auth_credentials_store = "ephemeral"'
    person.home.configure(top=top, provider="requires_openai_auth = true")

    async def conversation(client):
        await client.call("account/login/start", type="apiKey", apiKey=KEY)
        assert (await client.call("account/read"))["account"] == {"type": "apiKey"}
        await client.call("account/logout")
        assert (await client.call("account/read"))["account"] is None

    talk(conversation)
    assert not person.auth_file.exists()
