"""Errors about names of papers and figures."""


class UnknownPaper(Exception):
    """No such paper, figure, or file of its experiments."""
