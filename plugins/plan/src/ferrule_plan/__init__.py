"""Keeps the model's plan: update_plan."""
