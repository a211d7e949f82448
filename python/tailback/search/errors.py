"""Errors of searches."""


class WrongSearch(Exception):
    """The space or the condition of a search is wrong; the message says what to do."""
