"""What users configure, as `[plugins.settings.metrics]`. Imports nothing but pydantic."""

from pydantic import BaseModel, Field


class MetricsSettings(BaseModel):
    """Where the metrics go. It has a default, so the plugin works as it is installed."""

    path: str = Field("metrics.prom", description="The file; a relative one is in Ferrule's home.")
