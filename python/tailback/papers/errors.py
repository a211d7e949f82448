"""Errors about papers and figures."""


class UnknownPaper(Exception):
    """The paper, its figure, or its experiment does not exist."""
