"""The provider `chat`."""
