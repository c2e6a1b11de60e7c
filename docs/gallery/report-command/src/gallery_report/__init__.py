"""A command that sums up what threads used, by day and model."""
