"""Tailback: one TCP experiment, described once, run on a simulator, a real kernel or a testbed."""
