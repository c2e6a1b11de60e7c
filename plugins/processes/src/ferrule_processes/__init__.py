"""What plugins share that run programs of the user."""
