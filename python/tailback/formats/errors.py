"""Errors about files of other programs. Each message ends with a remedy on a line of its own."""


class NotReadable(Exception):
    """A file that is broken, or not of the kind it was taken for."""


class NotExportable(Exception):
    """Results that another program's format has no words for."""
