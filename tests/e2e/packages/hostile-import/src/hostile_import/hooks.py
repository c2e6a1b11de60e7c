"""Raises."""

raise RuntimeError("hostile import")
