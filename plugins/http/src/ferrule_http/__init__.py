"""Carries a server over HTTP requests and server-sent events."""
