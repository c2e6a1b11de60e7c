"""`ferrule login --device-auth`: a code that is entered in a browser elsewhere."""

import anyio
import pytest

from ferrule_login.device_flow import device_attempt
from ferrule_login.settings import read_login
from ferrule_wire.account import SignInError


@pytest.fixture
def settings(issuer):
    return read_login({"login": {"issuer": issuer.url, "client_id": "ferrule-test"}})


def test_the_code_and_the_page_are_shown_and_the_tokens_stored(person, issuer):
    issuer.state.device_interval_s = 0.05
    issuer.state.device_answers = ["authorization_pending"] * 2
    waiting = person.begin("--device-auth")
    code, said = waiting.end()
    assert code == 0, said
    assert "ABCD-1234" in said
    assert f"{issuer.url}/activate" in said
    assert person.stored()["tokens"]["access_token"] in issuer.state.access_tokens
    assert len(issuer.state.token_requests) == 3
    assert issuer.state.token_requests[0]["device_code"] not in said


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("access_denied", "access was denied"),
        ("expired_token", "the code has expired"),
        ("invalid_client", "does not know `client_id`"),
    ],
)
def test_an_end_without_tokens_is_worded(person, issuer, answer, words):
    issuer.state.device_interval_s = 0.05
    issuer.state.device_answers = ["authorization_pending", answer]
    code, said = person.begin("--device-auth").end()
    assert code == 1
    assert words in said
    assert not person.auth_file.exists()


def test_a_client_told_to_slow_down_waits_longer_from_then_on(settings, issuer, monkeypatch):
    issuer.state.device_interval_s = 0.01
    issuer.state.device_answers = ["slow_down", "authorization_pending", "slow_down"]
    pauses = []
    sleep = anyio.sleep

    async def noted(seconds):
        pauses.append(round(seconds, 3))
        await sleep(0)

    monkeypatch.setattr(anyio, "sleep", noted)

    async def main():
        attempt = await device_attempt(settings)
        return await attempt.account(slow_down_s=0.1)

    assert anyio.run(main).tokens is not None
    assert pauses == [0.01, 0.11, 0.11, 0.21]


def test_a_code_that_nobody_enters_expires(settings, issuer):
    issuer.state.device_interval_s = 0.01
    issuer.state.device_answers = ["authorization_pending"] * 1000

    async def main():
        attempt = await device_attempt(settings)
        await attempt._replace(ends_at=anyio.current_time()).account()

    with pytest.raises(SignInError, match="expired before it was entered"):
        anyio.run(main)


def test_an_issuer_that_is_gone_for_a_moment_is_asked_again(settings, issuer):
    issuer.state.device_interval_s = 0.01

    async def main():
        attempt = await device_attempt(settings)
        broken = attempt._replace(
            endpoints=attempt.endpoints._replace(token="http://127.0.0.1:9/token"),
            ends_at=anyio.current_time() + 0.1,
        )
        await broken.account(slow_down_s=0.02)

    with pytest.raises(SignInError, match="expired before it was entered"):
        anyio.run(main)


def test_ctrl_c_ends_it(person, issuer):
    issuer.state.device_interval_s = 5
    code, said = person.begin("--device-auth").interrupt()
    assert code == 130, said
    assert not person.auth_file.exists()
