"""A tool with settings."""
