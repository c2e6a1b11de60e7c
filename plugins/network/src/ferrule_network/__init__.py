"""The managed way out of the sandbox: a proxy that lets through what a policy names."""
