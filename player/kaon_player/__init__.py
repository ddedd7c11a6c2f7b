"""Runs programs that Kaon has written as StableHLO, under JAX."""

__version__ = "0.1.0"
