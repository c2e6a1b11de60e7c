"""Model provider for the Messages API."""
