"""Plugins that come and go: the wanted set, and the installers that Ferrule itself came by."""
