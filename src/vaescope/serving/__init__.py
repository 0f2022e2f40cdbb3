"""`vaescope serve`: pages over all runs of a folder, which stay as they are."""
