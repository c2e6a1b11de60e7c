"""What transports over a network share: who may come in, from where, and how much."""
