"""Training: one loop, its state, and the run that keeps it."""
