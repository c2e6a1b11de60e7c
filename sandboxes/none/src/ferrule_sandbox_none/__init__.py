"""Runs commands without any confinement, and says so."""
