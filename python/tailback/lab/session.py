"""One page: what it asks for goes to its worker, one setting at a time, the newest next."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from tailback.lab.process import PATIENCE_S, Spare, Worker
from tailback.lab.setting import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

LONG_S = 0.5
"""A run that takes longer is given up for a newer setting; a shorter one shows what a knob does while it turns."""

LARGEST = 12 << 20
"""The longest message of a page in bytes."""


class Cache(Protocol):
    """Pictures that are known."""

    def get(self, key: str) -> Any:
        """The picture of these runs; `None` if it is not known."""

    def keep(self, key: str, picture: Any) -> None:
        """Keeps a picture."""


class Session:
    """The conversation with one page."""

    def __init__(self, socket: WebSocket, spare: Spare, pictures: Cache) -> None:
        self._socket, self._spare, self._pictures = socket, spare, pictures
        self._worker: Worker | None = None
        self._newest: tuple[str, Wanted] | None = None
        self._asked = asyncio.Event()
        self._stopped = asyncio.Event()

    async def serve(self) -> None:
        """Until the page is closed."""
        work = asyncio.create_task(self._work())
        try:
            await self._listen()
        finally:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, RuntimeError, WebSocketDisconnect):
                await work
            if self._worker is not None:
                await self._worker.end()

    async def _listen(self) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                await self._hear(await self._socket.receive_text())

    async def _hear(self, text: str) -> None:
        try:
            message = msgspec.json.decode(text, type=dict[str, Any])
            if message["type"] == "stop":
                self._newest = None
                self._stopped.set()
                return
            kind = message["type"] if message["type"] in ("check", "axis", "packets", "page") else "show"
            self._newest = kind, msgspec.convert(message["wanted"], Wanted)
        except (msgspec.MsgspecError, KeyError):
            await self._say({"type": "wrong", "message": "the lab does not understand this message"})
            return
        self._asked.set()

    async def _work(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            newest, self._newest = self._newest, None
            if newest is not None:
                self._stopped.clear()
                await self._do(*newest)

    async def _do(self, kind: str, wanted: Wanted) -> None:
        worker = self._worker = self._worker or await self._spare.take()
        await worker.send({"type": kind, "wanted": msgspec.to_builtins(wanted)})
        impatient = asyncio.create_task(self._end_when_unwanted(worker))
        try:
            while (answer := await worker.next()) is not None:
                if answer["id"] == wanted.id and await self._answered(worker, answer):
                    return
        finally:
            impatient.cancel()
        await worker.end()
        self._worker = None
        what = "stopped" if self._stopped.is_set() or self._asked.is_set() else "failed"
        why = "the process that simulates has ended: see the terminal of `tailback lab`"
        await self._say({"type": what, "id": wanted.id, "message": why})

    async def _answered(self, worker: Worker, answer: dict[str, Any]) -> bool:
        """Passes an answer to the page; returns whether the setting is done."""
        kind = answer["type"]
        if kind == "read":
            known = self._pictures.get(answer["key"])
            await self._say(answer)
            await worker.send({"type": "go" if known is None else "skip"})
            if known is not None:
                await self._say({"type": "picture", "id": answer["id"], "picture": known, "cached": True})
                return True
            return False
        if kind == "picture":
            self._pictures.keep(answer.pop("key"), answer["picture"])
        await self._say(answer)
        return kind in ("picture", "refused", "failed", "stopped", "others", "axis", "packets", "page")

    async def _end_when_unwanted(self, worker: Worker) -> None:
        """Ends the runs of a setting when the page stops it, or wants another one while they take long."""
        stop = asyncio.create_task(self._stopped.wait())
        newer = asyncio.create_task(self._long_and_newer())
        try:
            await asyncio.wait((stop, newer), return_when=asyncio.FIRST_COMPLETED)
            await worker.send({"type": "stop"})
            await asyncio.sleep(PATIENCE_S)
            await worker.end()
        finally:
            stop.cancel()
            newer.cancel()

    async def _long_and_newer(self) -> None:
        await asyncio.sleep(LONG_S)
        await self._asked.wait()

    async def _say(self, message: Mapping[str, Any]) -> None:
        await self._socket.send_text(msgspec.json.encode(message).decode())
