"""Confines commands with bubblewrap and seccomp on Linux."""
