"""Methods that are not about threads and turns: configuration, models, files, commands."""
