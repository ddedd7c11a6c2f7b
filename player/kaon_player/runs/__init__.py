"""Runs: processes, checkpoints, records."""
