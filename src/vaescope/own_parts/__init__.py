"""Parts that the user wrote: by import path, or as objects of Python."""
