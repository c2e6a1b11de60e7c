"""AGENTS.md: instructions of the user and of the project."""
