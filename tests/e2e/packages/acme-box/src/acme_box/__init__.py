"""A sandbox backend of a stranger."""
