"""Sandbox by Landlock and seccomp, for hosts without bubblewrap or user namespaces."""
