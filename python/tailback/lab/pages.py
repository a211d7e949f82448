"""What browsers get: the page, its files, and a socket for each page."""

from __future__ import annotations

import json
from asyncio import to_thread
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import Any

from msgspec import Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from tailback.lab import simulator
from tailback.lab.guard import HEADERS, Guard
from tailback.lab.process import Spare
from tailback.lab.session import Session
from tailback.lab.setting import Place
from tailback.scenario import json_schema

MOST_KEPT = 64 << 20
"""Bytes of pictures that are kept."""

TYPES = {
    "index.html": "text/html; charset=utf-8",
    "lab.js": "text/javascript; charset=utf-8",
    "saved.html": "text/html; charset=utf-8",
    "simulator.js": "text/javascript; charset=utf-8",
    "standalone.js": "text/javascript; charset=utf-8",
    "lab.css": "text/css; charset=utf-8",
}
"""The files of the page."""


class Opened(Struct, frozen=True):
    """What a lab was opened with."""

    place: Place
    text: str
    """The experiment that a new page begins with."""
    token: str


class Pictures:
    """Pictures by the key of their scenario, the last ones that were asked for."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> Any:
        """The picture of these runs; `None` if it is not known."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return json.loads(found)

    def keep(self, key: str, picture: Any) -> None:
        """Keeps a picture, and forgets the ones that were not asked for longest."""
        content = json.dumps(picture, separators=(",", ":")).encode()
        self._size += len(content) - len(self._kept.pop(key, b""))
        self._kept[key] = content
        while self._size > self._most and self._kept:
            _, old = self._kept.popitem(last=False)
            self._size -= len(old)


def application(opened: Opened) -> Starlette:
    """The lab as an ASGI application."""
    spare, pictures = Spare(opened.place), Pictures()

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await spare.prepare()
        try:
            yield
        finally:
            await spare.close()

    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await Session(socket, spare, pictures).serve()

    async def start(_: Request) -> Response:
        found = {"file": opened.place.name, "text": opened.text, "trust": opened.place.trust}
        return JSONResponse(found, headers=dict(HEADERS))

    async def schema(_: Request) -> Response:
        return JSONResponse(json_schema(), headers=dict(HEADERS))

    async def module(_: Request) -> Response:
        return Response(await to_thread(simulator.letters), media_type="text/plain", headers=dict(HEADERS))

    root = f"/{opened.token}"
    return Starlette(
        routes=[
            Route(f"{root}/", partial(_file, "index.html")),
            *(Route(f"{root}/{name}", partial(_file, name)) for name in TYPES),
            Route(f"{root}/start.json", start),
            Route(f"{root}/schema.json", schema),
            Route(f"{root}/simulator", module),
            WebSocketRoute(f"{root}/socket", talk),
        ],
        middleware=[Middleware(Guard, token=opened.token)],
        lifespan=life,
    )


async def _file(name: str, _: Request) -> Response:
    content = (resources.files("tailback.lab") / "page" / name).read_bytes()
    return Response(content, media_type=TYPES[name], headers=dict(HEADERS))
