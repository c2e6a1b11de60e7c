"""Brings a Codex home over."""
