"""A model provider for a gateway that speaks Chat Completions."""
