"""Compactors for long threads, by a summary or by the provider, and the ledger that survives them."""
