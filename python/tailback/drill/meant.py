"""What a word may mean that scripts do not have."""

import re

from tailback import plain

KNOWN = {
    "system call": (
        "accept", "accept4", "bind", "close", "connect", "epoll_create", "epoll_ctl", "epoll_wait", "fcntl",
        "getsockopt", "ioctl", "listen", "poll", "read", "readv", "recv", "recvfrom", "recvmsg", "send", "sendmsg",
        "sendto", "setsockopt", "shutdown", "socket", "write", "writev",
    ),
    "TCP option": ("mss", "wscale", "sackOK", "sack", "TS", "ECN", "nop", "eol"),
}  # fmt: skip
"""The words of `crates/script/src/parser`, which a test compares, by what its messages call them."""

_UNKNOWN = re.compile(r"the (system call|TCP option) `(\w+)` is not modelled")


def with_hint(message: str) -> str:
    """The message about a script, with the known word that an unknown one resembles."""
    found = _UNKNOWN.fullmatch(message)
    meant = "" if found is None else plain.meant(found[2], KNOWN[found[1]]).strip()
    return f"{message}; {meant}" if meant else message
