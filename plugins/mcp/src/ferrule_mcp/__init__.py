"""Offers the tools of MCP servers."""
