"""What users configure, as `[plugins.settings.ticket]`. Imports nothing but pydantic."""

from pydantic import BaseModel, Field, SecretStr


class TicketSettings(BaseModel):
    """Where tickets go. Neither has a default, so the tool is not offered until both are set."""

    url: str = Field(description="Where a ticket is posted to.", pattern=r"^https?://[^/\s]+")
    # Shown by no command of Ferrule; the tool itself is given the text.
    token: SecretStr = Field(description="What lets one in.", min_length=1)
