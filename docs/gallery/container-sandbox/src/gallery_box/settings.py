"""What users configure, as `[plugins.settings.box]`. Imports nothing but pydantic."""

from pydantic import BaseModel, Field


class BoxSettings(BaseModel):
    """Which engine and image. Without an image the backend says that it cannot be used."""

    engine: str = Field("podman", description="podman, docker, or the path of one of them.")
    # It may not begin with a dash, so that it is not taken for an option of the engine.
    image: str = Field(
        "", description="An image that is here; it has /bin/sh.", pattern=r"^([^-\s]\S*)?$"
    )
