"""Messages between the server and a worker: JSON after its length, over the pipes of a process."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

LENGTH = struct.Struct(">I")

MOST = 256 << 20
"""The longest message in bytes."""


def pack(message: dict[str, Any]) -> bytes:
    """The bytes of a message."""
    content = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return LENGTH.pack(len(content)) + content


def read(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; `None` at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    content = stream.read(LENGTH.unpack(head)[0])
    found: dict[str, Any] = json.loads(content)
    return found
