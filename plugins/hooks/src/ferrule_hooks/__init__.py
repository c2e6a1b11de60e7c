"""Runs programs of the user at the events of a session."""
