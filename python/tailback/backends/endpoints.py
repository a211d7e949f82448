"""The endpoints of a run in the files of the user (`endpoint: ./libmine.so`, `endpoint: mine.py`), for the process of
that run (`module_process.py`).

A library has the functions of `include/tailback_endpoint.h`, and the simulator loads it (`crates/library`). A file in
Python has one class with `receive`, `poll` and `next_timeout` (`crates/python/src/own_endpoint.rs`).
"""

from __future__ import annotations

import base64
import contextlib
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.backends import qlog
from tailback.backends.own_controls import ControlWrong, TextControls, classes_in

METHODS = ("receive", "poll", "next_timeout")
"""What a class of an endpoint has."""

PYTHON = ".py"
LOG = "endpoint.log"
"""The file in the folder of a run with what its endpoints say."""


class Endpoints:
    """Makes the endpoints of one run from the content of their files, in base64."""

    def __init__(self, files: Mapping[str, str], folder: Path) -> None:
        contents = {name: base64.b64decode(content) for name, content in files.items()}
        texts = {name: each.decode("utf-8-sig") for name, each in contents.items() if name.endswith(PYTHON)}
        self._python = _Classes(texts)
        self._texts = texts
        self._libraries = {name: folder / name for name in contents if name not in texts}
        for name, file in self._libraries.items():
            file.write_bytes(contents[name])

    def __call__(self, name: str, options: str, setup: _core.EndpointSetup) -> object:
        """The path of a library, or an object of the class in a file of Python; `options` is a JSON object."""
        if name in self._libraries:
            return str(self._libraries[name])
        return self._python.made(name, json.loads(options), setup)

    def watched(self) -> contextlib.AbstractContextManager[None]:
        """Ends a call of the user's code in Python that does not return."""
        return self._python.watched()

    def described(self, error: BaseException) -> str:
        """An exception of the user's code in Python."""
        return self._python.described(error)


class _Classes(TextControls):
    """The classes of files in Python."""

    def made(self, name: str, options: Mapping[str, Any], setup: _core.EndpointSetup) -> object:
        """An object of the class in the file `name`."""
        if name not in self._classes:
            self._classes[name] = _endpoint_in(name, self._texts[name])
        made = self._classes[name]
        try:
            inspect.signature(made).bind(setup, **options)
        except TypeError as error:
            raise ControlWrong(f"{name}: the options of `{made.__name__}`: {error}") from None
        return made(setup, **options)


def _endpoint_in(name: str, text: str) -> type:
    found = classes_in(name, text, METHODS)
    if len(found) != 1:
        shown = ", ".join(f"`{each.__name__}`" for each in found) or "none"
        raise ControlWrong(f"{name} has to have one class with `receive`, `poll` and `next_timeout`; it has {shown}")
    missing = [method for method in METHODS if not hasattr(found[0], method)]
    if missing:
        raise ControlWrong(f"{name}: the class `{found[0].__name__}` has no `{missing[0]}`")
    return found[0]


def files_of(found: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a run with what its endpoints said, and with their events."""
    said: Sequence[str] = found.get("said", ())
    lines = {LOG: "".join(f"{line}\n" for line in said).encode()} if said else {}
    return {**lines, **qlog.files_of(found.get("events", ()))}
