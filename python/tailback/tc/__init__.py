"""The language of `tc` in which an experiment file names algorithms and values: units, options, and what is wrong.

What each queue discipline takes is in `tailback.qdiscs`.
"""
