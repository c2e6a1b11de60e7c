"""Signs in to model providers and keeps what they hand out."""
