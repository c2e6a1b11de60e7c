"""Sandbox for Windows: an MXC container where Windows has them, else a restricted token."""
