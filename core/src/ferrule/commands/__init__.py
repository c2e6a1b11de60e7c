"""Sub-commands that belong to the kernel."""
