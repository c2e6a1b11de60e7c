"""Composes reviewers."""
