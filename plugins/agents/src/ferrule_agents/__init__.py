"""Subagents: threads that work for a thread, within its permissions."""
