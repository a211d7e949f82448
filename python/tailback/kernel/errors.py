"""Errors about kernels. Each message ends with a remedy on its own line."""


class KernelMissing(Exception):
    """The kernel, its source, a tool or the checkout is missing on this machine."""


class BuildFailed(Exception):
    """A build failed."""


class CacheUnwritable(Exception):
    """The cache folder cannot be written."""
