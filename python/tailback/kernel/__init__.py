"""Builds, stores and finds kernels that run as a program in virtual time.

kernel = build(Recipe(package("6.12"), STOCK), print)
kernel = find_kernel("mine")
"""

from tailback.kernel.agent import build_agent, find_agent
from tailback.kernel.build import WIFI, Recipe, build, prepare, remove
from tailback.kernel.cache import STOCK, Kernel, find_kernel, kernels
from tailback.kernel.errors import BuildFailed, CacheUnwritable, KernelMissing
from tailback.kernel.headers import Headers, find_headers
from tailback.kernel.source import package, tree

__all__ = [
    "STOCK",
    "WIFI",
    "BuildFailed",
    "CacheUnwritable",
    "Headers",
    "Kernel",
    "KernelMissing",
    "Recipe",
    "build",
    "build_agent",
    "find_agent",
    "find_headers",
    "find_kernel",
    "kernels",
    "package",
    "prepare",
    "remove",
    "tree",
]
