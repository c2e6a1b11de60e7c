"""A sandbox backend that runs commands on another machine by ssh."""
