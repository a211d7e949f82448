"""Programs of the user as an entry of `traffic`: `{program: client, run: "iperf3 -c {server} -t 10 -J"}`.

Words are split as a shell splits them; there is no shell unless one is named (`sh -c "..."`). `{server}` is the address
of a host as `client` reaches it. A program is no flow, so that it has no `Kind`: its connections are known when it has
run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from pydantic import Field, WithJsonSchema

from tailback import resolved
from tailback.scenario import defaults
from tailback.scenario.brought import kept, read_file
from tailback.scenario.network import Network, Problem
from tailback.scenario.paths import Loc
from tailback.scenario.values import Name, ReadBy, Section, Size, Time, number_schema, read_in_folder
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown, time_word

LARGEST_FILE = 1_000_000
"""Bytes of a file that is brought: each manifest contains it."""

ANY = "any"
NOBODY = "nobody"
ROOT = "root"
PROCESSES = 256
OUTPUT = "64mb"
MOST_OUTPUT = 256 << 20
LONGEST_SYSCALL_NS = 1_000_000_000
RUN_HINT = 'write the command as in a shell: run: "iperf3 -c {server} -t 10 -J"'


def words(word: object) -> tuple[str, ...]:
    """Reads the words of a program."""
    try:
        found = tuple(shlex.split(word)) if isinstance(word, str) else ()
    except ValueError as error:
        raise WordError(f"`{shown(word)}` cannot be split into words: {error}", RUN_HINT) from None
    if not found or not found[0]:
        raise WordError(f"`{shown(word)}` names no program", RUN_HINT)
    if any("\0" in each for each in found):
        raise WordError(f"`{shown(word)}` contains a NUL", RUN_HINT)
    return found


def status(word: object) -> int | None:
    """Reads an exit status, or `any`."""
    if word == ANY:
        return None
    if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word <= 255:
        raise WordError(f"`{shown(word)}` is not an exit status", "write 0 to 255, or any")
    return word


def brought(word: object, folder: Path) -> resolved.BroughtFile:
    """Reads a file that is brought to the program, named relative to the experiment."""
    hint = "name a file relative to the experiment: files: [page.html]"
    return kept(word, read_file(word, folder, hint, LARGEST_FILE))


def folder(word: object, experiment: Path) -> str:
    """Reads the folder that is the root of a program."""
    if not isinstance(word, str) or not word.strip() or "\0" in word or not (experiment / word).is_dir():
        raise WordError(f"`{shown(word)}` is no folder", "name one with a system in it: root: /srv/debian")
    return str((experiment / word).resolve())


def _texts(word: object) -> dict[str, str]:
    if not isinstance(word, dict):
        raise WordError(f"`{shown(word)}` is not an environment", "write {LANG: C, MODE: fast}")
    return {str(name): str(value) for name, value in word.items()}


Words = Annotated[
    tuple[str, ...],
    ReadBy(words),
    WithJsonSchema({"type": "string", "examples": ["iperf3 -c {server} -t 10 -J"]}),
]
Status = Annotated[
    int | None,
    ReadBy(status),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 255}, {"const": ANY}]}),
]
Environment = Annotated[
    dict[str, str],
    ReadBy(_texts),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number"]}}),
]
File = Annotated[
    resolved.BroughtFile, read_in_folder(brought), WithJsonSchema({"type": "string", "examples": ["page.html"]})
]


Root = Annotated[str, read_in_folder(folder), WithJsonSchema({"type": "string", "examples": ["/srv/debian"]})]


class Program(Section):
    """A program of this machine on a host of the experiment; `uml` and `netns` run it."""

    program: Name = Field(description="The host on which it runs.")
    run: Words = Field(description="Its words, split as a shell splits them; {HOST} is the address of a host.")
    name: Name | None = Field(
        None, description="Name in tables and files; default: the program, of a server with its host before it."
    )
    server: bool = Field(
        False, description="It is started before the run, awaited until it listens on a port, and ended after the run."
    )
    start: Time = Field(defaults.START, validate_default=True, description="When it is started.")
    stop: Time | None = Field(
        None, description="When it is ended (SIGTERM, a second later SIGKILL); default: it must end by itself."
    )
    exit: Status = Field(
        0, description="Exit status without which the run fails, unless it was ended by `stop`; or any."
    )
    environment: Environment = Field(default_factory=dict, description="Variables beside PATH, HOME, LANG and TZ.")
    input: str | None = Field(None, description="Its standard input; default: empty.")
    files: list[File] = Field(default_factory=list, description="Files for its folder, relative to the experiment.")
    root: Root | None = Field(
        None, description="A folder with a system, which is all that it sees of this machine; default: `/`."
    )
    user: str = Field(NOBODY, description="The user as whom it runs.")
    memory: Size | None = Field(None, description="Largest address space of a process of it.")
    processes: Annotated[int, Field(ge=1, le=10_000), number_schema(minimum=1, maximum=10_000)] = Field(
        PROCESSES, description="Most processes and threads of its user."
    )
    syscall: Time | None = Field(
        None, description="Virtual time that each of its system calls takes in a guest; default: 250ns."
    )
    output: Size = Field(
        OUTPUT, validate_default=True, description="Most bytes that it may write, to its outputs and its folder."
    )


class Entry(Struct, frozen=True):
    """An entry of the file."""

    loc: Loc
    name: str
    keys: Program
    start_ns: int
    stop_ns: int | None


def entries(traffic: Sequence[Section]) -> list[Entry]:
    """The programs among the entries of `traffic`."""
    found = ((index, entry) for index, entry in enumerate(traffic) if isinstance(entry, Program))
    return [
        Entry(("traffic", index), keys.name or _default_name(keys), keys, keys.start, keys.stop)
        for index, keys in found
    ]


def _default_name(keys: Program) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", Path(keys.run[0]).name)[:40]
    name = plain if plain[:1].isalpha() else f"program-{plain}"
    return f"{keys.program}-{name}" if keys.server else name


def problems(found: Sequence[Entry], flows: Sequence[str], network: Network, duration: int) -> Iterator[Problem]:
    """The errors of programs; `flows` are the names of flows."""
    taken = set(flows)
    for entry in found:
        keys = entry.keys
        if keys.program not in network.places:
            what = f"there is no host `{keys.program}`"
            yield Problem((*entry.loc, "program"), what, nearest_hint(keys.program, network.hosts))
        elif keys.program in network.switches:
            what = f"`{keys.program}` is a switch, on which no program runs"
            yield Problem((*entry.loc, "program"), what, "name one of its hosts")
        if entry.name in taken:
            what = f"the name `{entry.name}` is already used"
            yield Problem((*entry.loc, "name"), what, "give each entry a `name` of its own")
        taken.add(entry.name)
        yield from _words(entry, network)
        yield from _times(entry, duration)
        if keys.output > MOST_OUTPUT or keys.output < 1 << 16:
            what = f"`output` of `{entry.name}` is not from 64kb to {MOST_OUTPUT >> 20}mb"
            yield Problem((*entry.loc, "output"), what, f"leave it out for {OUTPUT}")
        if keys.syscall is not None and keys.syscall > LONGEST_SYSCALL_NS:
            what = f"`syscall` of `{entry.name}` is longer than {time_word(LONGEST_SYSCALL_NS)}"
            yield Problem((*entry.loc, "syscall"), what, "remove it, for 250ns")
        if keys.root is not None and keys.user == ROOT:
            what = "a program of root can mount what lies outside of its `root`"
            yield Problem((*entry.loc, "user"), what, "remove `user`, for nobody, or `root`")
        names = [each.name for each in keys.files]
        if len({*names}) < len(names):
            yield Problem((*entry.loc, "files"), "two files have one name", "rename one of them")


def _words(entry: Entry, network: Network) -> Iterator[Problem]:
    """`{sever}` is a slip; `{print $1}` and what is like no host is the program's own."""
    for word in entry.keys.run:
        for name in resolved.HOST.findall(word):
            hint = "" if name in network.places else nearest_hint(name, network.hosts)
            if hint.startswith("did you mean"):
                yield Problem((*entry.loc, "run"), f"there is no host `{name}` for {{{name}}}", hint)


def _times(entry: Entry, duration: int) -> Iterator[Problem]:
    start, end = time_word(entry.start_ns), f"the run ends at {time_word(duration)}"
    if entry.start_ns >= duration:
        yield Problem((*entry.loc, "start"), f"`{start}` is not before the end of the run", f"{end}: start earlier")
    elif entry.stop_ns is not None and not entry.start_ns < entry.stop_ns <= duration:
        what = f"`{time_word(entry.stop_ns)}` is not after the start, or after the end of the run"
        yield Problem((*entry.loc, "stop"), what, f"stop after {start}; {end}")
    if entry.keys.server and entry.start_ns:
        yield Problem((*entry.loc, "start"), "a server starts before the run", "remove `start`, or `server`")


def resolved_of(found: Sequence[Entry], network: Network) -> tuple[resolved.Program, ...]:
    """The programs of the resolved scenario."""
    return tuple(_resolved(entry, network) for entry in found)


def _resolved(entry: Entry, network: Network) -> resolved.Program:
    keys = entry.keys
    return resolved.Program(
        name=entry.name,
        host=network.places[keys.program],
        argv=keys.run,
        role="server" if keys.server else "client",
        user=keys.user,
        start_ns=entry.start_ns,
        stop_ns=entry.stop_ns,
        exit=keys.exit,
        processes=keys.processes,
        output=keys.output,
        syscall_ns=keys.syscall,
        memory=keys.memory,
        root=keys.root,
        input=keys.input,
        environment=keys.environment,
        files=tuple(keys.files),
    )
