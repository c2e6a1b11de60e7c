"""The web search of the model's provider."""
