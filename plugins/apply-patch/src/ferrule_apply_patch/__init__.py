"""Edits files by patch, all or nothing."""
