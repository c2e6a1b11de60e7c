"""The kernel of Ferrule: runs a model in a loop with tools; every part is a plugin."""

__version__ = "0.1.0"
