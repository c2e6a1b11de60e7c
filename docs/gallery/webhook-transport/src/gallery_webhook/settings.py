"""What users configure, as `[plugins.settings.webhook]`. Imports nothing but pydantic."""

from pydantic import BaseModel, Field, SecretStr


class WebhookSettings(BaseModel):
    """Who may talk, and where answers may go. No field of it is open to a project's file."""

    secret: SecretStr | None = Field(
        None, description="What both sides sign with; nothing is served without.", min_length=16
    )
    response_hosts: list[str] = Field(
        ["127.0.0.1", "localhost"], description="Hosts that answers may be posted to."
    )
