"""Decisions of the past, made again under other rules; reviewers, measured."""
