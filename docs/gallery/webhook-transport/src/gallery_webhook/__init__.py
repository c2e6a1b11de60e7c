"""A transport for chat programs: signed webhooks in, answers and buttons out."""
