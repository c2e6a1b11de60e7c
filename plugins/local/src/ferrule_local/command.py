"""Placeholder until the commands follow."""

import typer

app = typer.Typer()
