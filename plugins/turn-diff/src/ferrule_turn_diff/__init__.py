"""Tells what a turn changed in the workspace, whoever changed it."""
