"""The hooks of the catalogue."""
