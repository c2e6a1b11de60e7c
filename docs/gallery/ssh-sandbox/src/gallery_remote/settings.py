"""What users configure, as `[plugins.settings.remote]`. Imports nothing but pydantic.

No field may begin with a dash, so that none is taken for an option of ssh.
"""

from pydantic import BaseModel, Field

_NO_OPTION = r"^([^-]|$)"


class RemoteSettings(BaseModel):
    """Which machine. Without a host the backend says that it cannot be used."""

    host: str = Field("", description="The machine, as ssh knows it.", pattern=r"^([^-\s]\S*)?$")
    user: str = Field("", description="Who logs in.", pattern=r"^([^-\s]\S*)?$")
    port: int = Field(22, ge=1, le=65535, description="The port of its sshd.")
    identity: str = Field("", description="File with the private key.", pattern=_NO_OPTION)
    known_hosts: str = Field("", description="File with keys of machines.", pattern=_NO_OPTION)
    workspace: str = Field("", description="The working directory there.", pattern=r"^(/|$)")
