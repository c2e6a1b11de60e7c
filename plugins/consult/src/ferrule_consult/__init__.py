"""What plugins share that ask a model for a verdict."""
