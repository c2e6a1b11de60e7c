"""Compactors for long threads: by a summary of the model, or by the provider."""
