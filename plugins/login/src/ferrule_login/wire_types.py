"""Parameters, results and notifications of `account/*`, as the app-server's clients know them."""

# No `from __future__ import annotations`: the checks of a server read these annotations as objects.
from typing import Annotated, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict


class GetAccountParams(TypedDict):
    """Of `account/read`; `refreshToken` has tokens renewed before the answer."""

    refreshToken: NotRequired[bool]


class ApiKeyAccount(TypedDict):
    """Signed in with an API key."""

    type: Literal["apiKey"]


class ChatgptAccount(TypedDict):
    """Signed in with an account."""

    type: Literal["chatgpt"]
    email: str | None
    planType: str


class GetAccountResponse(TypedDict):
    """Who is signed in, and whether the configured provider asks for it."""

    account: ApiKeyAccount | ChatgptAccount | None
    requiresOpenaiAuth: bool


class ApiKeyLogin(TypedDict):
    """Store an API key."""

    type: Literal["apiKey"]
    apiKey: str


class ChatgptLogin(TypedDict):
    """Sign in with a browser; the other fields are accepted and mean nothing here."""

    type: Literal["chatgpt"]
    appBrand: NotRequired[Literal["codex", "chatgpt"] | None]
    codexStreamlinedLogin: NotRequired[bool]
    useHostedLoginSuccessPage: NotRequired[bool]


class DeviceCodeLogin(TypedDict):
    """Sign in with a code that is entered elsewhere."""

    type: Literal["chatgptDeviceCode"]


class TokensLogin(TypedDict):
    """Tokens that the client manages; known, and refused."""

    type: Literal["chatgptAuthTokens"]


class BedrockLogin(TypedDict):
    """A key for Bedrock; known, and refused."""

    type: Literal["amazonBedrock"]


class BedrockKeysLogin(TypedDict):
    """Access keys for Bedrock; known, and refused."""

    type: Literal["amazonBedrockAccessKeys"]


LoginParams: Final = Annotated[
    ApiKeyLogin | ChatgptLogin | DeviceCodeLogin | TokensLogin | BedrockLogin | BedrockKeysLogin,
    Field(discriminator="type"),
]


class LoginResponse(TypedDict):
    """How the login goes on: at `authUrl`, or by entering `userCode` at `verificationUrl`."""

    type: Literal["apiKey", "chatgpt", "chatgptDeviceCode"]
    loginId: NotRequired[str]
    authUrl: NotRequired[str]
    verificationUrl: NotRequired[str]
    userCode: NotRequired[str]


class CancelParams(TypedDict):
    """Of `account/login/cancel`."""

    loginId: str


class CancelResponse(TypedDict):
    """Whether there was such a login."""

    status: Literal["canceled", "notFound"]


class AuthStatusParams(TypedDict):
    """Of `getAuthStatus`, which older clients call."""

    includeToken: NotRequired[bool | None]
    refreshToken: NotRequired[bool | None]


class AuthStatusResponse(TypedDict):
    """How one is signed in. The token is never told."""

    authMethod: Literal["apikey", "chatgpt"] | None
    authToken: None
    requiresOpenaiAuth: bool


class LoginCompleted(TypedDict):
    """Of `account/login/completed`: a login ended, well or not."""

    loginId: str | None
    success: bool
    error: str | None


class AccountUpdated(TypedDict):
    """Of `account/updated`: somebody signed in or out."""

    authMode: Literal["apikey", "chatgpt"] | None
    planType: str | None


NOTIFICATIONS: Final = {
    "account/login/completed": LoginCompleted,
    "account/updated": AccountUpdated,
}
