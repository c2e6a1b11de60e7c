"""What model providers share: HTTP channels, credentials, server-sent events, failures."""
