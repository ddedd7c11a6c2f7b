"""Tensors, files of examples, and the order in which steps are fed."""
