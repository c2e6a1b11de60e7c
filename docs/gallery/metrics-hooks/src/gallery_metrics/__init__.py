"""Hooks that write what sessions do to a file of metrics."""
