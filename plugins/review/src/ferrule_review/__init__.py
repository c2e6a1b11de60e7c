"""Reviews of changes by a model, with structured findings."""
