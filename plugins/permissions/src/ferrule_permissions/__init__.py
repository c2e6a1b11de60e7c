"""Asks for permissions ahead of the calls that need them."""
