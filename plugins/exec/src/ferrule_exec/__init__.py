"""Headless front end: ferrule exec."""
