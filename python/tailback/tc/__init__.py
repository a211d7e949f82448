"""The syntax of `tc` for algorithms and values: units, options, and error messages.

The options of each queue discipline are in `tailback.qdiscs`.
"""
