"""What can be wrong with the name of a paper or a figure."""


class UnknownPaper(Exception):
    """No such paper, figure, or file of its experiments."""
