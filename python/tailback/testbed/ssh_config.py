"""The directives that a configuration of ssh may have which a testbed file names.

Some directives execute programs (`ProxyCommand`, `Match exec`, `LocalCommand`, `KnownHostsCommand`, `PKCS11Provider`,
`SecurityKeyProvider`), and others read further files. A testbed file may come from somebody else, so that only these
are taken: those that say where a machine is and with what keys it is reached. The user's own `~/.ssh/config` is not
looked at; nor is anything after `--trust`. [ssh_config(5)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tailback.limits import FileRefused, read_regular, trust
from tailback.testbed.schema import DESTINATION, JUMP, USER

LARGEST = 1_000_000
"""Maximum size in bytes of a configuration."""

ANY = r"[^`$;|&<>\n]*"

TAKEN: dict[str, str] = {
    "host": ANY,
    "hostname": DESTINATION,
    "user": USER,
    "port": r"[0-9]{1,5}",
    "proxyjump": rf"none|{JUMP}(?:,{JUMP})*",
    "identityfile": ANY,
    "certificatefile": ANY,
    "identitiesonly": "yes|no",
    "userknownhostsfile": ANY,
    "globalknownhostsfile": ANY,
    "hostkeyalias": DESTINATION,
    "hashknownhosts": "yes|no",
    "checkhostip": "yes|no",
    "addressfamily": "any|inet|inet6",
    "bindaddress": DESTINATION,
    "bindinterface": r"[A-Za-z0-9_.-]{1,15}",
    "compression": "yes|no",
    "connecttimeout": r"[0-9]{1,5}",
    "connectionattempts": r"[0-9]{1,5}",
    "serveraliveinterval": r"[0-9]{1,5}",
    "serveralivecountmax": r"[0-9]{1,5}",
    "tcpkeepalive": "yes|no",
    "ipqos": ANY,
    "ciphers": ANY,
    "macs": ANY,
    "kexalgorithms": ANY,
    "hostkeyalgorithms": ANY,
    "pubkeyacceptedalgorithms": ANY,
    "pubkeyacceptedkeytypes": ANY,
    "preferredauthentications": ANY,
    "pubkeyauthentication": "yes|no",
    "passwordauthentication": "yes|no",
    "stricthostkeychecking": "yes",
    "batchmode": "yes|no",
    "loglevel": r"[A-Z0-9]+",
}
"""The directives that are taken, in small letters, with the form of their values."""

_OWN = "~/.ssh/config"


def refusal(config: str) -> tuple[str, str] | None:
    """Why a configuration that a testbed file names is refused, and the remedy; `None` if it is taken."""
    path = Path(config).expanduser()
    if trust.is_given() or _is_own(path):
        return None
    try:
        text = read_regular(path, LARGEST).decode("utf-8")
    except (OSError, FileRefused, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return f"`{config}` cannot be read: {reason}", "name a configuration of ssh, or remove the key"
    wrong = next(_refused(text), None)
    if wrong is None:
        return None
    line, word = wrong
    hint = "read it, and add --trust if it may; or move what you need to `~/.ssh/config`"
    return f"line {line} of `{config}` may execute a program on this machine (`{word}`)", hint


def _is_own(path: Path) -> bool:
    """Whether it is the configuration that ssh reads anyway."""
    try:
        return path.samefile(Path(_OWN).expanduser())
    except OSError:
        return False


def _refused(text: str) -> Iterator[tuple[int, str]]:
    """The number and the first word of each line that is not taken."""
    # ssh reads up to a line feed; `splitlines` would also end a line where ssh goes on.
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip(" \t\r\f")
        if not words or words.startswith("#"):
            continue
        found = re.fullmatch(r"([A-Za-z0-9]+)(?:[ \t]*=[ \t]*|[ \t]+)(.*)", words)
        form = TAKEN.get(found[1].lower()) if found else None
        if found is None or form is None or not re.fullmatch(form, found[2].strip('"')):
            yield number, (found[1] if found else words)[:40]
