"""Serves threads to editors, terminals and other programs over app-server v2."""
