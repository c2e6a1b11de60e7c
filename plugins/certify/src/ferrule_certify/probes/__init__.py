"""The tables of probes, by what they try."""
