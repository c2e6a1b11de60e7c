"""`ferrule reviewers`."""

import typer

app = typer.Typer(help="Which reviewers there are, and how well they decide.", no_args_is_help=True)
