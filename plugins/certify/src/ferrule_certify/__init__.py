"""The conformance kit of sandbox backends: probes, verdicts and a signed certificate."""
