"""A reviewer's program that has a Rego policy decide, and a check of that policy."""
