"""The provider `anthropic`."""
