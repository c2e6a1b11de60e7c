"""A sandbox backend that runs each command in a container of its own."""
