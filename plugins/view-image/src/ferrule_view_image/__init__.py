"""Shows the model an image file: view_image."""
