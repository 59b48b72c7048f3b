"""Pages and pictures, read as a browser would."""
