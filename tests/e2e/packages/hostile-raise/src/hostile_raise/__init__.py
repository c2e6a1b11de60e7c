"""Raises in hooks."""
