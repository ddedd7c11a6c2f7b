"""Descriptions of jobs, read and checked."""
