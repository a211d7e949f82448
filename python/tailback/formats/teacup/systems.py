"""The systems of hosts and routers: their kernels, the congestion controls, the generation of PIE."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tailback import _core
from tailback.formats.teacup.notes import Effect
from tailback.formats.teacup.reading import Reading
from tailback.limits.arithmetic import Value

CONTROLS = {"newreno": "reno", "reno": "reno", "cubic": "cubic", "htcp": "htcp", "vegas": "vegas", "bbr": "bbr",
            "cdg": "cdg", "scalable": "scalable", "illinois": "illinois", "westwood": "westwood", "bic": "bic",
            "yeah": "yeah", "veno": "veno", "hybla": "hybla", "highspeed": "highspeed", "dctcp": "dctcp"}  # fmt: skip
"""Ours by TEACUP's; FreeBSD's `hd` and `chd` and Windows' `compound` are not Linux's."""

NEWRENO = {"FreeBSD", "Darwin"}
"""Systems whose `newreno` counts bytes, as ours of that name does."""

DEFAULT_CONTROL = {"Linux": "cubic", "FreeBSD": "newreno", "Darwin": "newreno", "CYGWIN": "compound"}
"""The control that `default` stands for, by operating system."""

Version = tuple[int, int]

PIE_IN_LINUX, PIE_OF_RFC, PIE_BY_TIMESTAMPS = (3, 14), (5, 1), (5, 5)
"""When Linux got PIE, when it got RFC 8033's values, and when it began to measure delay by time stamps."""


def version(word: Value) -> Version | None:
    """`3.17` of `3.17.4-vanilla-web10g`; None for `running` and other words."""
    found = re.match(r"\s*(\d{1,3})\.(\d{1,3})", word) if isinstance(word, str) else None
    return (int(found[1]), int(found[2])) if found is not None else None


def linux_stack(kernel: Version) -> str:
    """The newest of our stacks that is not newer than a kernel, else the oldest."""
    known = {found: str(row["name"]) for row in _core.stacks() if (found := version(str(row["name"])[6:])) is not None}
    older = [each for each in known if each <= kernel]
    return known[max(older) if older else min(known)]


def system_of(reading: Reading, word: str) -> str:
    """The operating system of a host by TEACUP's name."""
    return str(reading.get("TPCONF_host_os", dict).get(word, "Linux"))


def stack_of(reading: Reading, word: str, name: str) -> Mapping[str, Any]:
    """The key `stack` of a host, with a note where it is not the system of the file."""
    system = system_of(reading, word)
    if system == "FreeBSD":
        return {"stack": "freebsd-9"}
    if system != "Linux":
        what = f"`{name}` has {system[:30]}, which is not modelled: it has Tailback's newest Linux"
        reading.note("TPCONF_host_os", what, Effect.CHANGED)
        return {}
    kernel = version(reading.module.values.get("TPCONF_linux_kern_hosts"))
    if kernel is None:
        what = "the kernel of Linux hosts is not in the file: they have Tailback's newest; `stack` of a host sets it"
        reading.note("TPCONF_linux_kern_hosts", what, Effect.CHANGED)
        return {}
    stack = linux_stack(kernel)
    if stack != f"linux-{kernel[0]}.{kernel[1]}":
        which = "newest of Tailback's stacks that is not newer" if (version(stack[6:]) or kernel) < kernel else "oldest"
        what = f"hosts have Linux {kernel[0]}.{kernel[1]}, and the {which} is `{stack}`"
        reading.note("TPCONF_linux_kern_hosts", what, Effect.CHANGED)
    return {"stack": stack}


def router_options(reading: Reading, kind: str) -> str:
    """Options that the router's kernel has by default, and that a newer one has not."""
    if kind != "pie":
        return ""
    kernel = version(reading.module.values.get("TPCONF_linux_kern_router"))
    if kernel is not None and kernel >= PIE_OF_RFC:
        return "" if kernel >= PIE_BY_TIMESTAMPS else "dq_rate_estimator"
    generation = "2013" if kernel is None or kernel < PIE_IN_LINUX else "linux-3.14"
    given = "its kernel is not in the file" if kernel is None else f"of Linux {kernel[0]}.{kernel[1]}"
    what = f"`pie` of the router ({given}) is `generation {generation}`: target 20 ms, tupdate 30 ms, not 15 and 15"
    place = "TPCONF_aqms" if kernel is None else "TPCONF_linux_kern_router"
    reading.note(place, what, Effect.CHANGED)
    return f"generation {generation}"


def control(reading: Reading, own: str, value: Value) -> str:
    """Our control for a value of V_tcp_cc_algo at a host with TEACUP's name `own`."""
    word, system = str(value), system_of(reading, own)
    if found := re.fullmatch("host([0-9]{1,9})", word):
        listed = reading.get("TPCONF_host_TCP_algos", dict).get(own, ())
        place = int(found[1])
        word = str(listed[place if place < len(listed) else 0]) if listed else "default"
    if word == "default":
        word = DEFAULT_CONTROL.get(system, "cubic")
    if word == "newreno" and system in NEWRENO:
        return "newreno"
    if word not in CONTROLS:
        what = f"the control `{word[:30]}` is not Linux's: reno stands for it"
        reading.note("TPCONF_TCP_algos", what, Effect.CHANGED)
    elif system != "Linux":
        what = f"`{word}` of {system[:30]} is not modelled: Linux's stands for it"
        reading.note("TPCONF_TCP_algos", what, Effect.CHANGED)
    return CONTROLS.get(word, "reno")
