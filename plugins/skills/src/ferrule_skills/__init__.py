"""SKILL.md: skills of the user and of the project, read by the model when it needs them."""
