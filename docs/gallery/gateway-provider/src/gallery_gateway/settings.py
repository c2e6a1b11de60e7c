"""What users configure, as `[plugins.settings.gateway]`. Imports nothing but pydantic.

The gateway itself (`base_url`, `env_key`) is a table of `model_providers`, as that of any provider.
"""

from pydantic import BaseModel, Field


class GatewaySettings(BaseModel):
    """What the gateway is told with every request."""

    team: str = Field("", description="Who pays: the header X-Team.", pattern=r"^[\w.-]*$")
