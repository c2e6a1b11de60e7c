"""What plugin authors test with: a scripted model, a temporary home, and ready-made fixtures."""
