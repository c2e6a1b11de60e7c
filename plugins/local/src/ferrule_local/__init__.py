"""A small embedded model that needs no key and no account."""
