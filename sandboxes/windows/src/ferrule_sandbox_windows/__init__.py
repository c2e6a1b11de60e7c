"""Sandbox for Windows."""
