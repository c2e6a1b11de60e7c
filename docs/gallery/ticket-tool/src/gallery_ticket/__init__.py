"""A tool with which the model files tickets in a tracker."""
