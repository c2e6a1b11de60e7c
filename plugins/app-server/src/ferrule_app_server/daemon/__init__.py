"""The server in the background, and the way to it from a program that speaks over pipes."""
