"""Turns in a copy-on-write view of the workspace, and what becomes of their changes."""
