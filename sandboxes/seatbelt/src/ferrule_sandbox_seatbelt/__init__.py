"""Sandbox by macOS Seatbelt: a profile made from the policy, run through sandbox-exec."""
