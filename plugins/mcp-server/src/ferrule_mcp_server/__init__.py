"""Ferrule as an MCP server."""
