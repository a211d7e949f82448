"""Twins of real kernel runs: simulates the same experiments and compares the results."""
