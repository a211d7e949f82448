"""Optional libraries, which come with an extra of the package: `pip install 'tailback[plot]'`."""

import importlib
from collections.abc import Mapping

from msgspec import Struct


class Extra(Struct, frozen=True):
    """An extra of the package."""

    name: str
    what: str
    """What needs it, in the plural."""


EXTRAS: Mapping[str, Extra] = {
    "matplotlib": Extra("plot", "figures and reports"),
    "polars": Extra("polars", "polars frames"),
    "pyarrow": Extra("arrow", "Arrow tables"),
    "distributed": Extra("cluster", "clusters"),
    "starlette": Extra("lab", "labs"),
    "uvicorn": Extra("lab", "labs"),
    "websockets": Extra("lab", "labs"),
    "cma": Extra("search", "searches"),
    "gymnasium": Extra("gym", "environments"),
}
"""The libraries that are optional."""


class ExtraMissing(ImportError):
    """An optional library is not installed; the message says which extra has it."""


def need(library: str) -> None:
    """Imports an optional library; raises `ExtraMissing`, before anything has been run whose result would be lost."""
    try:
        importlib.import_module(library)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        extra = EXTRAS[library]
        raise ExtraMissing(
            f"{extra.what} need {library}, which is not installed\n  hint: pip install 'tailback[{extra.name}]'",
            name=library,
        ) from error
