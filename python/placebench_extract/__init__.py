"""Extracts the graphs of training steps from TensorFlow and JAX, with the cost of every operation, and runs placements of them."""
