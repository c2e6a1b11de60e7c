"""What plugin authors start and check a plugin with: `ferrule plugins new` and `check`."""
