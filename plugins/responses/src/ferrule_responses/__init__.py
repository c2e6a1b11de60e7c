"""Model provider for the Responses API over HTTP."""
