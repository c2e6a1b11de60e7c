"""A sandbox backend that marks what it runs."""
