"""Extracts training graphs from TensorFlow, with the measured cost of every operation."""

__version__ = "0.1.0"
