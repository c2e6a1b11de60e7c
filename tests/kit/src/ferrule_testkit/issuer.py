"""An issuer of tokens: authorization code with PKCE, device code, renewal and revocation.

It keeps to OAuth 2.0 (RFC 6749, 7009, 7636, 8414, 8628) where those say what must be refused: a
code serves once, with its verifier and redirect address; a refresh token serves once, and one
that comes twice ends the whole sign-in. Behind it stands one person, who agrees unless told not to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT_ID: Final = "ferrule-test"
EMAIL: Final = "ada@example.com"
ACCOUNT_ID: Final = "acct-7"
DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_OPENAI_CLAIM: Final = "https://api.openai.com/auth"

Answer = tuple[int, dict[str, Any]]


@dataclass
class IssuerState:
    """What the person and the issuer do; tests change it between requests.

    Attributes:
        is_denied: The person refuses.
        device_answers: Errors that polling for a device code gets first, such as `slow_down`.
        device_interval_s: How long a client is asked to wait between polls.
        lifetime_s: How long an access token lasts.
        has_revocation: Whether tokens can be given back.
        token_failure: An answer every request for tokens gets instead.
        asked: Set once somebody asks for tokens.
        hold: While it is unset, requests for tokens wait.
        token_requests: The forms of all requests for tokens.
        revoked: Tokens that were given back.
        access_tokens: Access tokens that are good now.
        nonce: Replaces the nonce of the next identity token.
        audience: Replaces the audience of identity tokens.
    """

    is_denied: bool = False
    device_answers: list[str] = field(default_factory=list[str])
    device_interval_s: float = 0
    lifetime_s: float = 3600
    has_revocation: bool = True
    token_failure: Answer | None = None
    asked: threading.Event = field(default_factory=threading.Event)
    hold: threading.Event = field(default_factory=threading.Event)
    token_requests: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    revoked: list[str] = field(default_factory=list[str])
    access_tokens: list[str] = field(default_factory=list[str])
    nonce: str = ""
    audience: str = CLIENT_ID
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    refresh_tokens: set[str] = field(default_factory=set[str])
    spent: set[str] = field(default_factory=set[str])
    devices: dict[str, str] = field(default_factory=dict[str, str])
    lock: threading.Lock = field(default_factory=threading.Lock)


class Issuer:
    """A running issuer.

    Attributes:
        url: Its identifier.
        state: What it does.
    """

    def __init__(self, server: ThreadingHTTPServer, state: IssuerState) -> None:
        """Keep both."""
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.state = state

    def login_table(self, **more: str) -> str:
        """The `[login]` table of a configuration that signs in here."""
        values = {"issuer": self.url, "client_id": CLIENT_ID, **more}
        return "[login]\n" + "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in values.items()
        )

    def grant(self) -> dict[str, Any]:
        """Hand out tokens without asking anybody, as if somebody had signed in."""
        with self.state.lock:
            return _new_tokens(self.url, self.state, nonce="")

    def forget_access(self) -> None:
        """Have no access token be good any more; refresh tokens stay so."""
        self.state.access_tokens.clear()


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    """Serve on a port of the system's choice."""
    state = IssuerState()
    state.hold.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    issuer = Issuer(server, state)
    server.issuer = issuer  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield issuer
    finally:
        state.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def issuer(self) -> Issuer:
        return self.server.issuer  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer the metadata, and the page where a person would agree."""
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            self._send((200, _metadata(self.issuer)))
        elif parts.path == "/authorize":
            self._authorize({key: value[0] for key, value in parse_qs(parts.query).items()})
        else:
            self._send((404, {"error": "not_found"}))

    def do_POST(self) -> None:
        """Answer a form."""
        length = int(self.headers.get("content-length", 0))
        text = self.rfile.read(length).decode()
        form = {key: value[0] for key, value in parse_qs(text).items()}
        answers: dict[str, Callable[[Issuer, dict[str, str]], Answer]] = {
            "/token": _token,
            "/device": _device,
            "/revoke": _revoke,
        }
        answer = answers.get(urlsplit(self.path).path)
        self._send(answer(self.issuer, form) if answer else (404, {"error": "not_found"}))

    def _authorize(self, query: dict[str, str]) -> None:
        """Send the browser back, as a person's click would."""
        state = self.issuer.state
        redirect = query.get("redirect_uri", "")
        is_right = (
            query.get("client_id") == CLIENT_ID
            and query.get("response_type") == "code"
            and query.get("code_challenge_method") == "S256"
            and urlsplit(redirect).hostname in ("127.0.0.1", "localhost")
        )
        if not is_right:
            self._send((400, {"error": "invalid_request"}))
            return
        if state.is_denied:
            back = {"error": "access_denied", "state": query.get("state", "")}
        else:
            code = secrets.token_urlsafe(16)
            state.codes[code] = query
            back = {"code": code, "state": query.get("state", "")}
        self.send_response(HTTPStatus.FOUND)
        self.send_header("location", f"{redirect}?{urlencode(back)}")
        self.send_header("content-length", "0")
        self.end_headers()

    def _send(self, answer: Answer) -> None:
        body = json.dumps(answer[1]).encode()
        self.send_response(answer[0])
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _metadata(issuer: Issuer) -> dict[str, Any]:
    found = {
        "issuer": issuer.url,
        "authorization_endpoint": f"{issuer.url}/authorize",
        "token_endpoint": f"{issuer.url}/token",
        "device_authorization_endpoint": f"{issuer.url}/device",
        "code_challenge_methods_supported": ["S256"],
    }
    if issuer.state.has_revocation:
        found["revocation_endpoint"] = f"{issuer.url}/revoke"
    return found


def _token(issuer: Issuer, form: dict[str, str]) -> Answer:
    state = issuer.state
    state.asked.set()
    state.hold.wait(30)
    with state.lock:
        state.token_requests.append(form)
        if state.token_failure is not None:
            return state.token_failure
        if form.get("client_id") != CLIENT_ID:
            return 401, {"error": "invalid_client"}
        grants: dict[str, Callable[[Issuer, dict[str, str]], Answer]] = {
            "authorization_code": _by_code,
            "refresh_token": _by_refresh,
            DEVICE_GRANT: _by_device,
        }
        grant = grants.get(form.get("grant_type", ""))
        return grant(issuer, form) if grant else (400, {"error": "unsupported_grant_type"})


def _by_code(issuer: Issuer, form: dict[str, str]) -> Answer:
    asked = issuer.state.codes.pop(form.get("code", ""), None)
    if asked is None or asked["redirect_uri"] != form.get("redirect_uri"):
        return 400, {"error": "invalid_grant"}
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    if challenge != asked["code_challenge"]:
        return 400, {"error": "invalid_grant", "error_description": "PKCE verification failed"}
    nonce = issuer.state.nonce or asked.get("nonce", "")
    return 200, _new_tokens(issuer.url, issuer.state, nonce=nonce)


def _by_refresh(issuer: Issuer, form: dict[str, str]) -> Answer:
    state = issuer.state
    token = form.get("refresh_token", "")
    if token in state.spent:  # it was stolen, or two processes renew at once
        state.refresh_tokens.clear()
        state.access_tokens.clear()
        return 400, {"error": "invalid_grant", "error_description": "token reuse"}
    if token not in state.refresh_tokens:
        return 400, {"error": "invalid_grant"}
    state.refresh_tokens.discard(token)
    state.spent.add(token)
    return 200, _new_tokens(issuer.url, state, nonce="")


def _device(issuer: Issuer, form: dict[str, str]) -> Answer:
    if form.get("client_id") != CLIENT_ID:
        return 401, {"error": "invalid_client"}
    code = secrets.token_urlsafe(16)
    issuer.state.devices[code] = "ABCD-1234"
    return 200, {
        "device_code": code,
        "user_code": "ABCD-1234",
        "verification_uri": f"{issuer.url}/activate",
        "expires_in": 900,
        "interval": issuer.state.device_interval_s,
    }


def _by_device(issuer: Issuer, form: dict[str, str]) -> Answer:
    state = issuer.state
    if form.get("device_code") not in state.devices:
        return 400, {"error": "invalid_grant"}
    if state.device_answers:
        return 400, {"error": state.device_answers.pop(0)}
    if state.is_denied:
        return 400, {"error": "access_denied"}
    del state.devices[form["device_code"]]
    return 200, _new_tokens(issuer.url, state, nonce="")


def _revoke(issuer: Issuer, form: dict[str, str]) -> Answer:
    state = issuer.state
    if not state.has_revocation:
        return 404, {"error": "not_found"}
    with state.lock:
        token = form.get("token", "")
        state.revoked.append(token)
        state.refresh_tokens.discard(token)
        state.access_tokens.clear()
    return 200, {}


def _new_tokens(url: str, state: IssuerState, *, nonce: str) -> dict[str, Any]:
    now = time.time()
    claims = {
        "iss": url,
        "aud": state.audience,
        "sub": "user-1",
        "exp": now + 3600,
        "email": EMAIL,
        _OPENAI_CLAIM: {"chatgpt_plan_type": "pro", "chatgpt_account_id": ACCOUNT_ID},
    }
    if nonce:
        claims["nonce"] = nonce
    tokens = {
        "access_token": f"access-{secrets.token_urlsafe(24)}",
        "refresh_token": f"refresh-{secrets.token_urlsafe(24)}",
        "id_token": ".".join([_part({"alg": "none"}), _part(claims), secrets.token_urlsafe(24)]),
        "token_type": "Bearer",
        "expires_in": state.lifetime_s,
    }
    state.access_tokens.append(tokens["access_token"])
    state.refresh_tokens.add(tokens["refresh_token"])
    return tokens


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
