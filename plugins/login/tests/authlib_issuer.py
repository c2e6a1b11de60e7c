"""An issuer made of Authlib's grants, so that somebody else's reading of the RFCs is met as well.

A program: `python authlib_issuer.py PORT`. It keeps all in memory, and its one person agrees.
"""

import sys
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import (
    DeviceAuthorizationEndpoint,
    DeviceCodeGrant,
    DeviceCredentialDict,
)
from flask import Flask, jsonify

PORT = int(sys.argv[1])
URL = f"http://127.0.0.1:{PORT}"
PERSON = "ada"
codes = {}
devices = {}
tokens = []


class Client(ClientMixin):
    def get_client_id(self):
        return "ferrule"

    def get_default_redirect_uri(self):
        return ""

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri.startswith("http://127.0.0.1:")

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "none"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return True


CLIENT = Client()


class Code(AuthorizationCodeMixin):
    def __init__(self, code, payload):
        self.code = code
        self.redirect_uri = payload.redirect_uri
        self.scope = payload.scope
        self.code_challenge = payload.data.get("code_challenge")
        self.code_challenge_method = payload.data.get("code_challenge_method")

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


class Token(TokenMixin):
    def __init__(self, values):
        self.values = values
        self.is_over = False

    def check_client(self, client):
        return True

    def get_scope(self):
        return self.values.get("scope", "")

    def get_expires_in(self):
        return self.values["expires_in"]

    def is_revoked(self):
        return self.is_over

    def is_expired(self):
        return False

    def get_user(self):
        return PERSON

    def get_client(self):
        return CLIENT


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def save_authorization_code(self, code, request):
        codes[code] = Code(code, request.payload)

    def query_authorization_code(self, code, client):
        return codes.get(code)

    def delete_authorization_code(self, authorization_code):
        del codes[authorization_code.code]

    def authenticate_user(self, authorization_code):
        return PERSON


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        return _find(refresh_token)

    def authenticate_user(self, refresh_token):
        return PERSON

    def revoke_old_credential(self, refresh_token):
        refresh_token.is_over = True


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = ("none",)

    def query_token(self, token_string, token_type_hint):
        return _find(token_string)

    def revoke_token(self, token, request):
        token.is_over = True


class DeviceGrant(DeviceCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def query_device_credential(self, device_code):
        return devices.get(device_code)

    def query_user_grant(self, user_code):
        """Agree when asked for the second time."""
        found = next(each for each in devices.values() if each["user_code"] == user_code)
        found["asked"] = found.get("asked", 0) + 1
        return (PERSON, True) if found["asked"] > 1 else None

    def should_slow_down(self, credential):
        return False


class DeviceEndpoint(DeviceAuthorizationEndpoint):
    CLIENT_AUTH_METHODS = ("none",)
    INTERVAL = 1

    def get_verification_uri(self):
        return f"{URL}/activate"

    def save_device_credential(self, client_id, scope, data):
        more = {"client_id": client_id, "scope": scope, "expires_at": time.time() + 900}
        devices[data["device_code"]] = DeviceCredentialDict({**data, **more})


def _find(text):
    for token in tokens:
        names = (token.values["access_token"], token.values.get("refresh_token"))
        if text in names and not token.is_over:
            return token
    return None


app = Flask(__name__)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
server = AuthorizationServer(
    app,
    query_client=lambda client_id: CLIENT if client_id == "ferrule" else None,
    save_token=lambda token, request: tokens.append(Token(token)),
)
server.register_grant(CodeGrant, [CodeChallenge(required=True)])
server.register_grant(RefreshGrant)
server.register_grant(DeviceGrant)
server.register_endpoint(Revocation)
server.register_endpoint(DeviceEndpoint)


@app.get("/.well-known/oauth-authorization-server")
def metadata():
    return jsonify(
        issuer=URL,
        authorization_endpoint=f"{URL}/authorize",
        token_endpoint=f"{URL}/token",
        revocation_endpoint=f"{URL}/revoke",
        device_authorization_endpoint=f"{URL}/device",
    )


@app.get("/authorize")
def authorize():
    grant = server.get_consent_grant(end_user=PERSON)
    return server.create_authorization_response(grant_user=PERSON, grant=grant)


@app.post("/token")
def token():
    return server.create_token_response()


@app.post("/revoke")
def revoke():
    return server.create_endpoint_response("revocation")


@app.post("/device")
def device():
    return server.create_endpoint_response("device_authorization")


@app.get("/good/<text>")
def good(text):
    """Tell whether a token is good."""
    return jsonify(_find(text) is not None)


app.run("127.0.0.1", PORT, threaded=True)
