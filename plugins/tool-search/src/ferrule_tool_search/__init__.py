"""Finding tools in large sets, which the model is told of only when it asks."""
