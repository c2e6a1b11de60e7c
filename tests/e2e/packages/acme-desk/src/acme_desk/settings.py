from pydantic import BaseModel, Field, SecretStr


class DeskSettings(BaseModel):
    url: str = Field("https://desk.example", description="Where tickets are filed.")
    retries: int = Field(3, ge=0, description="How often it is tried again.")
    token: SecretStr | None = Field(None, description="What lets one in.")
    labels: list[str] = Field([], json_schema_extra={"project": True})
