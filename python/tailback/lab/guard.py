"""Who may talk to the lab: pages that came from it, opened by the address with its token, on this machine.

A page of somebody else in the same browser can send requests to this machine, and with a name of its own that leads
here also read the answers. So the name in `Host` must be one of this machine, `Origin` that of the page itself, and the
path must begin with the token, which only the printed address has.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

NAMES = frozenset(("127.0.0.1", "localhost", "::1"))
"""The names of this machine; of a tunnel, too, whose port may be another."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of each answer: nothing from elsewhere is loaded, and the address goes nowhere."""


class Guard:
    """Lets requests through that may come in, and refuses all others before anything reads them."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one socket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        wrong = refusal(scope, self._token)
        if wrong is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403, "reason": wrong})
        else:
            answer = PlainTextResponse(f"{wrong}\n", status_code=HTTPStatus.FORBIDDEN, headers=dict(HEADERS))
            await answer(scope, receive, send)


def refusal(scope: Scope, token: str) -> str | None:
    """Why a request may not come in; `None` if it may."""
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    if urlsplit(f"//{host}").hostname not in NAMES:
        return "the lab answers to 127.0.0.1 and localhost only"
    origin = headers.get("origin")
    if origin is None and scope["type"] == "websocket":
        return "a socket must say which page opened it"
    if origin is not None and origin != f"http://{host}":
        return "a page of another origin may not talk to the lab"
    given = scope["path"].removeprefix("/").split("/", 1)[0]
    if not secrets.compare_digest(given.encode(), token.encode()):
        return "open the address that `tailback lab` printed: it has the token"
    return None
