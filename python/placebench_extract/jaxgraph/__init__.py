"""Graphs from JAX: from a function to its operations, their costs and the files of a graph."""
