"""Ferrule as a library: threads, turns and streaming items from Python."""
