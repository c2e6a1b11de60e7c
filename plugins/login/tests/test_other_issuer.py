"""Signing in at an issuer that is not of our making: Authlib's grants, served by Flask.

`FERRULE_TEST_AUTHLIB_PYTHON` names a Python that has both (`pip install authlib flask`); where it
is not set, this is skipped.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from ferrule_testkit.model_items import message

PYTHON = os.environ.get("FERRULE_TEST_AUTHLIB_PYTHON", "")
PROGRAM = Path(__file__).with_name("authlib_issuer.py")
pytestmark = pytest.mark.skipif(not PYTHON, reason="FERRULE_TEST_AUTHLIB_PYTHON names no Python")


@pytest.fixture
def other_issuer(free_port):
    process = subprocess.Popen(
        [PYTHON, "-u", "-W", "ignore", str(PROGRAM), str(free_port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"},
    )
    for line in process.stderr:
        if "Running on" in line:
            break
    else:
        raise AssertionError("the issuer did not start")
    yield f"http://127.0.0.1:{free_port}"
    process.kill()
    process.stderr.close()
    process.wait()


@pytest.fixture
def there(person, other_issuer):
    """The person signs in there."""
    table = f'[login]\nissuer = "{other_issuer}"\nclient_id = "ferrule"\n'
    person.home.configure(provider="requires_openai_auth = true", tables=table)
    return person


def test_signing_in_renewing_in_mid_turn_and_signing_out(there, other_issuer, model_server):
    code, said = there.sign_in()
    assert code == 0, said
    first = there.stored()["tokens"]

    refused = {"status": 401, "body": {"error": {"message": "expired"}}}
    model_server.play([refused, [message("hello")]])
    assert there.home.run("exec", "hi").returncode == 0
    second = there.stored()["tokens"]
    sent = [request.headers["authorization"] for request in model_server.requests]
    assert sent == [f"Bearer {each['access_token']}" for each in (first, second)]
    assert first["refresh_token"] != second["refresh_token"]

    finished = there.home.run("logout")
    assert (finished.stdout, finished.stderr) == ("Signed out\n", "")
    assert httpx.get(f"{other_issuer}/good/{second['refresh_token']}").json() is False


def test_signing_in_by_device_code(there):
    code, said = there.begin("--device-auth").end()
    assert code == 0, said
    assert there.stored()["tokens"]["refresh_token"]
