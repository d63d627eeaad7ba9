"""What is measured of attention: what flows where, symmetry, softmax, floors."""
