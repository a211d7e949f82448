"""Errors of plotting."""


class NotDrawable(Exception):
    """The plot, the results or the output do not fit together; the message says what to change."""
