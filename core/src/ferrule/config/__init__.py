"""The configuration: read in layers, checked, explained and edited."""

from ferrule.config.load import load_config
from ferrule.config.provenance import LoadedConfig

__all__ = ["LoadedConfig", "load_config"]
