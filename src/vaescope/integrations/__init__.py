"""vaescope inside the training loops of other libraries, one module for each."""
