"""The language of `tc` for algorithms and values: units, options, and error messages.

What each queue discipline takes is in `tailback.qdiscs`.
"""
