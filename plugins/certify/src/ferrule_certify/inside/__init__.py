"""What runs inside of the sandbox: copied out of the package and run without any of it."""
