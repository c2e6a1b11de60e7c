"""The catalogue of models, and the command that lists it."""
