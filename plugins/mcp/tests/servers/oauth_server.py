"""An MCP server over HTTP that wants its users to sign in: `oauth_server.py PORT SECONDS`.

It is its own issuer, agrees to everybody at once, and says that its tokens last SECONDS. They last
ten minutes more, so that a client on a slow machine can use one that it has just been given.
"""

import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

PORT, SECONDS = int(sys.argv[1]), int(sys.argv[2])
BASE = f"http://127.0.0.1:{PORT}"


class Issuer(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.tokens, self.renewals = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = secrets.token_urlsafe()
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.renewals.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        return self.issue(client, refresh_token.resource)

    async def load_access_token(self, token):
        found = self.tokens.get(token)
        return found if found is not None and found.expires_at > time.time() else None

    async def revoke_token(self, token):
        self.tokens.pop(token.token, None)

    def issue(self, client, resource):
        token, renewal = secrets.token_urlsafe(), secrets.token_urlsafe()
        common = {"client_id": client.client_id, "scopes": [], "resource": resource}
        ends = int(time.time()) + SECONDS + 600
        self.tokens[token] = AccessToken(token=token, expires_at=ends, **common)
        self.renewals[renewal] = RefreshToken(token=renewal, **common)
        return OAuthToken(access_token=token, expires_in=SECONDS, refresh_token=renewal)


auth = AuthSettings(
    issuer_url=BASE,
    resource_server_url=f"{BASE}/mcp",
    client_registration_options=ClientRegistrationOptions(enabled=True),
)
server = MCPServer("closed", auth_server_provider=Issuer(), auth=auth)


@server.tool()
def secret() -> str:
    """Tell it."""
    return "the secret"


server.run("streamable-http", host="127.0.0.1", port=PORT)
