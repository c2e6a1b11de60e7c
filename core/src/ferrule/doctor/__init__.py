"""`ferrule doctor`: what is looked at, how it is run, and how it is shown."""
