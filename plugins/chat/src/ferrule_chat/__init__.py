"""Model provider for Chat Completions."""
