"""Goals that a thread works towards, with a budget."""
