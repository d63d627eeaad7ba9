"""What is measured of attention."""
