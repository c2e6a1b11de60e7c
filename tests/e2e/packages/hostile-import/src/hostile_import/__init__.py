"""Raises when it is imported."""
