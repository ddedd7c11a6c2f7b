"""Runs programs that Kaon has written as StableHLO, under JAX."""
