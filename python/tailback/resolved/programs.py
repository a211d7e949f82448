"""Programs of the user that run on hosts of the experiment.

A program is no flow: it has one host, and opens what connections it likes. Only kernels run it.
"""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import field

from tailback.resolved.fields import Nanoseconds, Part

Role: TypeAlias = Literal["client", "server"]
"""Whether it starts when it is due, or listens before the run starts."""


HOST = re.compile(r"(?<![%$])\{([A-Za-z][A-Za-z0-9_.-]*)\}")
"""A host in the words of a program; `%{http_code}` is curl's and `${HOME}` a shell's."""


class BroughtFile(Part, frozen=True, kw_only=True):
    """A file for the folder of a program. Its content is part of the run: another content is another run."""

    name: str
    sha256: str
    content: str
    """In base64."""


class Program(Part, frozen=True, kw_only=True):
    """A program and its words, in which `{HOST}` stands for the address of a host."""

    name: str
    host: int
    argv: tuple[str, ...]
    role: Role
    user: str
    start_ns: Nanoseconds
    stop_ns: Nanoseconds | None
    """`None` if it must end by itself."""
    exit: int | None
    """The status with which it must end; `None` for any."""
    processes: int
    output: int
    """Bytes that it may write."""
    syscall_ns: Nanoseconds | None = None
    """Virtual time that each of its system calls takes, if the file says it."""
    memory: int | None = None
    """Bytes of its address space."""
    root: str | None = None
    """The folder of this machine that is its `/`; `None` for all that its user may read."""
    input: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    files: tuple[BroughtFile, ...] = ()
