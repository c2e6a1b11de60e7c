"""The kernel's own prose for models."""
