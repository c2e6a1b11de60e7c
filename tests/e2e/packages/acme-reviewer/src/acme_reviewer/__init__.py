"""A reviewer that knows one rule."""
