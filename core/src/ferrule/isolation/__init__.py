"""Tools of a plugin in a confined process of their own."""
