"""Has a model review what needs approval."""
