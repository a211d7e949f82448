"""Errors about files of other programs. Each message ends with a remedy on its own line."""


class NotReadable(Exception):
    """The file is damaged, or not of the expected kind."""


class NotExportable(Exception):
    """The format of the other program cannot represent these results."""
