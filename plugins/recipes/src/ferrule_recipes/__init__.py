"""What package managers and build tools need of the sandbox, by name."""
