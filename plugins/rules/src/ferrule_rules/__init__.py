"""Rules for commands: which run unasked, which are asked about, and which never run."""
