"""Hangs in a hook."""
