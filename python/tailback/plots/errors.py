"""Errors of plotting."""


class NotDrawable(Exception):
    """The plot cannot be drawn from these results, or not in this format; the message has the remedy."""
