"""The processes that simulate: one for each page, and one that waits for the next page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any

from tailback.lab.frames import LENGTH, pack
from tailback.lab.setting import Place

PATIENCE_S = 2.0
"""How long a worker may take to end its runs by itself."""


class Worker:
    """A process, as the server sees it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def begin(cls, place: Place) -> Worker:
        """Starts a process."""
        words = (str(place.folder), place.name, "trust" if place.trust else "no")
        program = (sys.executable, "-m", "tailback.lab.worker", *words)
        # A group of its own: Ctrl-C in the terminal is for the server, which ends its workers.
        return cls(await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE, start_new_session=True))

    async def send(self, message: dict[str, Any]) -> None:
        """Sends a message; nothing if the process has ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(pack(message))
            await self._process.stdin.drain()

    async def next(self) -> dict[str, Any] | None:
        """The next answer; `None` when the process has ended."""
        assert self._process.stdout is not None
        try:
            head = await self._process.stdout.readexactly(LENGTH.size)
            content = await self._process.stdout.readexactly(LENGTH.unpack(head)[0])
        except asyncio.IncompleteReadError:
            return None
        found: dict[str, Any] = json.loads(content)
        return found

    async def end(self) -> None:
        """Ends the process, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


class Spare:
    """Workers that have started before a page asks for one: importing what they need takes longer than a run."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._waiting: asyncio.Task[Worker] | None = None
        self._closed = False

    async def prepare(self) -> None:
        """Starts the next one."""
        if not self._closed:
            self._waiting = asyncio.create_task(Worker.begin(self._place))

    async def take(self) -> Worker:
        """One worker; the next one starts."""
        found, self._waiting = self._waiting, None
        worker = await (found or Worker.begin(self._place))
        await self.prepare()
        return worker

    async def close(self) -> None:
        """Ends the one that waits."""
        self._closed = True
        if self._waiting is not None:
            await (await self._waiting).end()
            self._waiting = None
