"""Asks a person for approval."""
