"""Reads and searches files: read_file, list_dir, grep_files."""
