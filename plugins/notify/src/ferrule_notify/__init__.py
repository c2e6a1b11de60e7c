"""Runs the configured notify program."""
