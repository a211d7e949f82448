"""Compares our reading of `tc`'s syntax with a real `tc` on a real kernel, for the same strings."""
