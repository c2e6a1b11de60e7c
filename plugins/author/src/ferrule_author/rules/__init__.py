"""The rules of `ferrule plugins check`, by what they look at."""
