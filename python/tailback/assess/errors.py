"""Errors of assessments."""


class WrongSuite(Exception):
    """A suite, one of its rows or its control is wrong; the message says which and what to do."""
