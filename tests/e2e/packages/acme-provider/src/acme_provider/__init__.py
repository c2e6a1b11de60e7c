"""A model provider that needs no network."""
