"""Hooks that judge and observe."""
