"""What carries messages between this library and a server."""
