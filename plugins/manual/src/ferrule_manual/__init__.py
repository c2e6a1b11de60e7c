"""Help topics, and the question whether there is a newer version."""
