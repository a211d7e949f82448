"""Errors about kernels. Each message ends with a remedy on a line of its own."""


class KernelMissing(Exception):
    """Something that a kernel needs is not on this machine: the kernel itself, its source, a tool, the checkout."""


class BuildFailed(Exception):
    """A build that was started and did not end well."""


class CacheUnwritable(Exception):
    """The cache folder cannot be written: a full disk, no rights."""
