"""Graphs from PyTorch: from a step to its ATen operations, their costs and the files of a graph."""
