"""Sandbox in a container of podman, docker or nerdctl."""
