"""The protocol as it is published: JSON Schema and TypeScript, from the types that check it."""
