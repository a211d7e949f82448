"""Errors about files of other programs. Each message ends with a remedy on a line of its own."""


class NotReadable(Exception):
    """A file that is damaged, or not of the expected kind."""


class NotExportable(Exception):
    """Results that another program's format has no words for."""
