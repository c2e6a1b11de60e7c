"""What sandboxes on Linux share: the system call filter, bounds, and the reading of failures."""
