"""To come."""

import typer

command = typer.Typer()
