"""Files of the user that become part of the resolved scenario, so that results keep them and another content is another
run. Nothing here executes them.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from tailback import resolved
from tailback.limits import FileRefused, read_regular
from tailback.plain import has_control
from tailback.tc.errors import WordError
from tailback.tc.units import on_one_line, shown


def read_file(word: object, folder: Path, hint: str, largest: int) -> bytes:
    """The content of the file that `word` names relative to `folder`; errors say `hint`."""
    if not isinstance(word, str) or not word.strip() or "\0" in word or has_control(word):
        raise WordError(f"`{shown(word)}` is not the name of a file", hint)
    path = folder / word
    try:
        return read_regular(path, largest)
    except (OSError, FileRefused) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it cannot be read"
        raise WordError(f"`{shown(word)}` cannot be read: {reason} ({on_one_line(path)})", hint) from None


def kept(word: object, content: bytes) -> resolved.BroughtFile:
    """The file with this content that was named so."""
    digest = hashlib.sha256(content).hexdigest()
    return resolved.BroughtFile(name=Path(str(word)).name, sha256=digest, content=base64.b64encode(content).decode())
