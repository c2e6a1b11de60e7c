"""Carries a server over WebSockets, on a TCP port or a unix socket."""
