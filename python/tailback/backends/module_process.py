"""The process of a run with kernel modules or endpoints of the user (`modules.py`)."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import pickle
import signal
import struct
import sys
import threading
from pathlib import Path
from typing import Any

from tailback import _core
from tailback.backends.endpoints import Endpoints
from tailback.backends.modules import PROGRESS, RESULT, TASK, words_of
from tailback.backends.own_controls import TextControls
from tailback.kernel.module import private_copy

INTERVAL_S = 0.1

ERRORS: dict[type[Exception], str] = {
    _core.Cancelled: "cancelled", MemoryError: "memory", ValueError: "value", RuntimeError: "runtime",
}  # fmt: skip
"""The word of each error in a result (`modules.py`)."""


def main() -> None:
    """Does the task in the folder that the command line names."""
    folder = Path(sys.argv[1])
    task = json.loads((folder / TASK).read_text(encoding="utf-8"))
    _core.watch_over_modules()
    outcome = _tried(task) if task["kind"] == "try" else _run(task, folder)
    (folder / RESULT).write_bytes(pickle.dumps(outcome))


def _tried(task: dict[str, Any]) -> dict[str, Any]:
    try:
        _core.try_module(task["library"], [(name, value) for name, value in task["parameters"]])
    except ValueError as error:
        return {"message": str(error)}
    return {"ok": True}


def _run(task: dict[str, Any], folder: Path) -> dict[str, Any]:
    progress = _core.Progress(task["memory_limit"])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGVTALRM])
    threading.Thread(target=_tell, args=(progress, folder / PROGRESS, os.getppid()), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGVTALRM])
    controls = Controls(task["texts"], task["libraries"], folder)
    endpoints = Endpoints(task["endpoints"], folder)
    try:
        with controls.watched(), endpoints.watched():
            found = _found(task, progress, controls, endpoints)
    except _core.ControlFailed as failed:
        return _wrong(f"the congestion control failed: {controls.described(failed.__cause__ or failed)}")
    except _core.EndpointFailed as failed:
        return _wrong(f"the endpoint failed: {endpoints.described(failed.__cause__ or failed)}")
    except tuple(ERRORS) as error:
        kind = next(word for known, word in ERRORS.items() if isinstance(error, known))
        return {"error": kind, "message": str(error)}
    return {"result": dict(found)}


def _wrong(message: str) -> dict[str, Any]:
    return {"error": "value", "message": message}


def _found(task: dict[str, Any], progress: _core.Progress, controls: Controls, endpoints: Endpoints) -> _core.Outcome:
    if not task["endpoints"]:
        return _core.run(task["scenario"], progress, controls)
    return _core.run_with_endpoints(task["scenario"], progress, controls, endpoints)


class Controls:
    """Builds the controls of the run: objects of Python, or what the simulator needs to load a module."""

    def __init__(self, texts: dict[str, str], libraries: dict[str, str], folder: Path) -> None:
        self._python = TextControls(texts)
        self._libraries = libraries
        self._folder = folder

    def __call__(self, name: str, parameters: str) -> object:
        """An object; of a module, the path of a copy of its own and its parameters."""
        if name not in self._libraries:
            return self._python(name, parameters)
        return str(private_copy(Path(self._libraries[name]), self._folder)), words_of(json.loads(parameters))

    def watched(self) -> contextlib.AbstractContextManager[None]:
        """Ends a call of the user's code in Python that does not return."""
        return self._python.watched()

    def described(self, error: BaseException) -> str:
        """An exception of the user's code in Python."""
        return self._python.described(error)


def _tell(progress: _core.Progress, file: Path, parent: int) -> None:
    """Tells the progress, and ends this process with its parent."""
    waiting = threading.Event()
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 8) as shared:
        while not waiting.wait(INTERVAL_S):
            shared[:8] = struct.pack("d", progress.fraction)
            if os.getppid() != parent:
                os._exit(1)


if __name__ == "__main__":
    main()
