"""Model provider that plays a recorded conversation, and the demo command."""
