"""The lab: a page on this machine where one turns a knob and sees what the queue does (docs/lab.md).

A server (`serving`, `pages`, `guard`) on the loopback interface gives each page a process that simulates (`worker`), to
which it passes what the page asks for (`session`, `process`). The page itself is in `page`, built from `web/`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailback.lab.serving import Asked, PortTaken, serve

__all__ = ["Asked", "PortTaken", "serve"]


def __getattr__(name: str) -> Any:
    # A worker needs nothing of the server, and starts faster without it.
    if name in __all__:
        from tailback.lab import serving

        return getattr(serving, name)
    raise AttributeError(name)
