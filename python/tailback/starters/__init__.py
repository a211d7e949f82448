"""Files to start with: experiments; a congestion control, in Python, as a kernel module or as a BPF program, with an
experiment and a test.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

PYTHON = {
    "{name}.py": "control.py.txt",
    "{name}.yaml": "control.yaml.txt",
    "test_{name}.py": "test.py.txt",
}
"""The files of a control in Python by their templates in this folder."""

MODULE = {
    "tcp_{name}.c": "module.c.txt",
    "{name}.yaml": "control.yaml.txt",
    "test_{name}.py": "test.py.txt",
}
"""The files of a kernel module."""

BPF = {
    "{name}.bpf.c": "program.c.txt",
    "{name}.yaml": "control.yaml.txt",
    "test_{name}.py": "test.py.txt",
}
"""The files of a BPF program."""

EXPERIMENTS = {
    "home-link": "a home behind a 20/5 Mbit/s line: RRUL with the modem's own queue, fq_codel and cake",
    "wifi": "an 802.11n access point with a near and a far station",
    "datacenter": "four servers and a marking port of 10 Gbit/s: CUBIC, ECN and DCTCP",
    "sharing": "a BBR and a CUBIC flow share a bottleneck, over the size of its buffer",
    "small-queues": "TCP Small Queues on an 802.11n uplink: goodput against latency",
    "short-flows": "short flows beside a backup: completion times over a FIFO and fq_codel",
    "calls": "a call beside a backup on a 20/5 Mbit/s line: its MOS over five queues",
    "responsiveness": "a busy 20/5 Mbit/s line over six queues: round trips per minute by the IETF's draft",
    "pages": "web pages beside a backup on a 20/5 Mbit/s line, over five queues and HTTP/1.1 or HTTP/2",
    "video": "a video over Wi-Fi while four neighbours download: rate, BOLA or hybrid",
    "load": "flows of a search cluster at 30 to 90 % load: completion times with CUBIC, BBR and DCTCP",
    "l4s": "low latency and low loss on a home link: a streamed game beside a backup, over three queues and with L4S",
    "parking-lot": "a long flow over three hops, each with a cross flow",
    "lab": "for `tailback lab`, to teach: how large should a buffer be? With five questions",
}
"""What each experiment is about; its template in this folder is called after it."""

FOLDER = Path(__file__).parent

RESERVED = frozenset(
    {
        "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
        "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "return", "short", "signed",
        "sizeof", "static", "struct", "switch", "tcp_sock", "tcp_reno", "typedef", "union", "unsigned", "void",
        "volatile", "while", "beta",
    }
)  # fmt: skip
"""Names that mean something else in C."""


OF_LINUX = frozenset(
    {
        "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable",
        "vegas", "veno", "westwood", "yeah",
    }
)  # fmt: skip
"""The controls of Linux: a module of such a name, which may be built in, does not register. [linux-6.12 net/ipv4]"""


class NotStarted(Exception):
    """No file was written; the message says why."""


def control(name: str, folder: Path) -> list[Path]:
    """Writes the files of a control called `name` to `folder`. Files that exist are never overwritten."""
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        raise NotStarted(
            f"`{name}` cannot be the name of a Python file\n  hint: letters, digits and `_`: mine, my_reno"
        )
    return _control(name, folder, PYTHON, {"KIND": "python", "FILE": f"{name}.py"})


def module(name: str, folder: Path) -> list[Path]:
    """Writes the files of a kernel module `tcp_NAME.c` to `folder`. Files that exist are never overwritten."""
    _check_in_c(name, 15)
    if name in OF_LINUX:
        raise NotStarted(f"Linux has a control `{name}` of its own (tcp_{name}.c)\n  hint: name yours my_{name}")
    return _control(name, folder, MODULE, {"KIND": "module", "FILE": f"tcp_{name}.c"})


def program(name: str, folder: Path) -> list[Path]:
    """Writes the files of a BPF program `NAME.bpf.c` to `folder`. Files that exist are never overwritten."""
    # The kernel knows it as bpf_NAME, which has 15 characters at most.
    _check_in_c(name, 11)
    return _control(name, folder, BPF, {"KIND": "bpf", "FILE": f"{name}.bpf.c"})


def _check_in_c(name: str, longest: int) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or len(name) > longest or name in RESERVED:
        raise NotStarted(
            f"`{name}` cannot be the name of a congestion control in C\n"
            f"  hint: up to {longest} small letters, digits and `_`: mine, my_reno"
        )


def _control(name: str, folder: Path, templates: Mapping[str, str], more: Mapping[str, str]) -> list[Path]:
    words = {"NAME": name, "CLASS": "".join(part[:1].upper() + part[1:] for part in name.split("_")), **more}
    return _write({folder / file.format(name=name): template for file, template in templates.items()}, words)


def experiment(kind: str, path: Path) -> list[Path]:
    """Writes the experiment `kind`, one of `EXPERIMENTS`, to the file `path`, which must not exist."""
    return _write({path: f"{kind}.yaml.txt"}, {"FILE": str(path), "NAME": path.stem})


def _write(paths: dict[Path, str], words: dict[str, str]) -> list[Path]:
    """Fills in a template for each path; `${...}` of an experiment stays."""
    for path in paths:
        if path.exists():
            raise NotStarted(f"{path} exists\n  hint: choose another name, or remove it")
    for path, template in paths.items():
        text = (FOLDER / template).read_text(encoding="utf-8")
        try:
            path.write_text(_aligned(Template(text).safe_substitute(words)), encoding="utf-8")
        except OSError as error:
            raise NotStarted(f"cannot write {path}: {error.strerror}\n  hint: {_remedy(path)}") from error
    return list(paths)


def _remedy(path: Path) -> str:
    if path.parent.is_dir():
        return "choose another folder, in which you may write"
    return f"make its folder first: mkdir -p {path.parent}"


_COMMAND = re.compile(r"(?P<command>#   tailback .*?) {2,}(?P<remark># .*)")


def _aligned(text: str) -> str:
    """The text with the remarks behind its commands in one column, because names have any length."""
    lines = text.splitlines()
    found = {place: match for place, line in enumerate(lines) if (match := _COMMAND.fullmatch(line))}
    width = max((len(match["command"]) for match in found.values()), default=0)
    for place, match in found.items():
        lines[place] = f"{match['command']:{width}}  {match['remark']}"
    return "\n".join(lines) + "\n"
