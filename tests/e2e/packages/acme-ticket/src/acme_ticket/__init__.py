"""A tool that files a ticket."""
