"""Serves the lab on the loopback interface until it is interrupted."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from msgspec import Struct

from tailback.lab.pages import Opened, application
from tailback.lab.session import LARGEST
from tailback.lab.setting import Place

ADDRESS = "127.0.0.1"


class PortTaken(Exception):
    """Nothing can be served at this port; the message says why."""


class Asked(Struct, frozen=True):
    """What the command line asks for."""

    path: Path
    """The experiment file; a page begins with its text, and may name files of its folder."""
    text: str
    trust: bool = False
    port: int = 0
    """0: any that is free."""


def serve(asked: Asked, ready: Callable[[str], None]) -> None:
    """Serves until Ctrl-C or SIGTERM. `ready` is called with the address once it answers."""
    token = secrets.token_urlsafe(24)
    place = Place(asked.path.resolve().parent, asked.path.name, asked.trust)
    listening = _listening(asked.port)
    address = f"http://{ADDRESS}:{listening.getsockname()[1]}/{token}/"
    config = uvicorn.Config(
        application(Opened(place, asked.text, token)), log_level="error", access_log=False, server_header=False,
        ws="websockets-sansio", ws_max_size=LARGEST, ws_per_message_deflate=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    with listening:
        _Server(config, lambda: ready(address)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that says when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to answer."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise PortTaken(f"cannot serve at port {port}: {reason}\n  hint: another --port, or none") from error
    return found
