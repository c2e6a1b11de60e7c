"""Runs shell commands: exec_command and write_stdin."""
