"""Programs of the user on a kernel: their part of the agent's job, what they must find on this machine, and what they
leave behind.

The agent watches their TCP connections (`crates/agent/src/connections.rs`). A connection becomes a flow with the name
of the program that opened it, NAME, or NAME.1, NAME.2, ... in the order in which they appeared, in the direction that
carried more. Its bytes are those that TCP has received in order.
"""

from __future__ import annotations

import base64
import json
import os
import pwd
import stat
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import Struct

from tailback import columns
from tailback.backends.backend import PROGRAMS
from tailback.backends.linux import own_figures, tables
from tailback.backends.linux.hops import V4, first_hops
from tailback.backends.linux.links import Hop
from tailback.backends.linux.steps import Json
from tailback.columns import COUNT, TEXT
from tailback.kernel.checkout import digest
from tailback.resolved import HOST, Program, Scenario

Finding = tuple[str, str]

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HIDDEN = ("/tmp", "/run", "/dev", "/proc", "/sys")
"""Folders of this machine that hosts do not see."""

LIBRARIES = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
"""Where programs below another root have their libraries."""

LINKER = Path("/lib64/ld-linux-x86-64.so.2")
"""What lists the libraries of a program without running it. [ld.so(8) --list]"""


def job_of(scenario: Scenario, hops: Sequence[Hop]) -> Json:
    """The keys of the job about programs."""
    if not scenario.programs:
        return {}
    addresses = {program.host: addresses_from(scenario, hops, program.host) for program in scenario.programs}
    each = [_job(number, program, addresses[program.host]) for number, program in enumerate(scenario.programs)]
    return {"programs": each, "names": {str(host): hosts_file(known) for host, known in addresses.items()}}


def hosts_file(addresses: Mapping[str, str]) -> str:
    """`/etc/hosts` of a host that knows these."""
    return "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items())


def with_addresses(text: str, addresses: Mapping[str, str]) -> str:
    """A word of a program with the addresses of hosts in place of `{HOST}`."""
    return HOST.sub(lambda word: addresses.get(word[1], word[0]), text)


def brought(scenario: Scenario) -> dict[str, bytes]:
    """The files for programs, by their names in the folder of the run."""
    return {
        _brought(number, place): base64.b64decode(file.content)
        for number, program in enumerate(scenario.programs)
        for place, file in enumerate(program.files)
    }


def _brought(number: int, place: int) -> str:
    return f"bring.{number}.{place}"


def addresses_from(scenario: Scenario, hops: Sequence[Hop], host: int) -> dict[str, str]:
    """The address of each host by its name, as one host reaches it: on the last link of the path. That of the host
    itself is on its first link.
    """
    found = {}
    for target, name in enumerate(scenario.host_names):
        back = first_hops(hops, target)
        way = back.get(host) if target != host else next(iter(back.values()), None)
        if way is not None:
            found[name] = V4.address(way.link, way.end)
    return found


def _job(number: int, program: Program, addresses: Mapping[str, str]) -> Json:
    def filled(text: str) -> str:
        return with_addresses(text, addresses)

    user, group = _user(program.user) or (0, 0)
    name = program.name
    home = {"PATH": PATH, "HOME": f"/tmp/{name}", "LANG": "C.UTF-8", "TZ": "UTC"}
    return {
        "name": name,
        "host": program.host,
        "path": _path(file_of(program) or Path(program.argv[0])),
        "argv": [filled(word) for word in program.argv],
        "environment": {**home, **{key: filled(text) for key, text in program.environment.items()}},
        "input": None if program.input is None else filled(program.input),
        "files": {_brought(number, place): file.name for place, file in enumerate(program.files)},
        "root": program.root,
        "user": [user, group],
        "memory": program.memory,
        "processes": program.processes,
        "syscall_ns": program.syscall_ns,
        "output": program.output,
        "start_ns": program.start_ns,
        "stop_ns": program.stop_ns if program.role == "client" or program.stop_ns is not None else 2**62,
        "role": program.role,
        "exit": program.exit,
    }


def _path(file: Path) -> str:
    """Without a `/` it would be looked for among the programs of this machine."""
    return str(file) if file.is_absolute() else f"./{file}"


def _user(name: str) -> tuple[int, int] | None:
    """The number of a user and of its group; `None` if there is no such user."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    return found.pw_uid, found.pw_gid


def file_of(program: Program) -> Path | None:
    """The file that a program is, which its host sees; `None` if there is none. A file that is brought has a `/`:
    `./mine.sh`.
    """
    word = program.argv[0]
    if word.startswith("./") and word[2:] in {file.name for file in program.files}:
        return Path(word)
    return found(word, root_of(program))


def root_of(program: Program) -> Path:
    """The folder of this machine that the program sees as `/`."""
    return Path(program.root or "/")


def found(word: str, root: Path = Path("/")) -> Path | None:
    """The file that a word of a shell is, by its name below a root."""
    places = [word] if "/" in word else [f"{folder}/{word}" for folder in PATH.split(":")]
    for place in map(Path, places):
        here = within(root, place)
        if place.is_absolute() and here.is_file() and os.access(here, os.X_OK):
            return place
    return None


def within(root: Path, place: Path, links: int = 40) -> Path:
    """The file of this machine that has a name below a root, whose symbolic links do not leave it."""
    if root == Path("/"):
        return place
    here = root
    for number, part in enumerate(parts := place.parts[1:]):
        if part == "..":
            here = here if here == root else here.parent
            continue
        here = here / part
        if here.is_symlink() and links:
            target = here.readlink()
            before = Path("/") / here.parent.relative_to(root)
            return within(
                root, (target if target.is_absolute() else before / target).joinpath(*parts[number + 1 :]), links - 1
            )
    return here


def findings(scenario: Scenario) -> Iterator[Finding]:
    """Programs that are not there, or that their user may not execute."""
    for program in scenario.programs:
        word, user = program.argv[0], _user(program.user)
        if user is None:
            yield (
                f"the program `{program.name}` has the user `{program.user}`, whom this machine does not know",
                ("remove `user`, for nobody"),
            )
            continue
        file = file_of(program)
        if file is None:
            below = "" if program.root is None else f" of {program.root}"
            yield (
                f"the program `{word}` (`{program.name}`) is not in {PATH}{below}",
                (f"install it, or bring a file: files: [{Path(word).name}] and run: ./{Path(word).name}"),
            )
        elif file.is_absolute():
            yield from _of_file(program, within(root_of(program), file).resolve(), user)
        yield from _of_root(program)


def _of_root(program: Program) -> Iterator[Finding]:
    if program.root is not None and not (root_of(program) / "tmp").is_dir():
        what = f"the root of `{program.name}`, {program.root}, has no folder `tmp`, where its own folder would be"
        yield what, "make it: a system has also /proc, /sys and /dev"


def _of_file(program: Program, file: Path, user: tuple[int, int]) -> Iterator[Finding]:
    hidden = next((folder for folder in HIDDEN if file.is_relative_to(folder) and program.root is None), None)
    if hidden is not None:
        what = f"hosts of the experiment do not see {hidden} of this machine, where `{file}` is"
        yield what, f"bring it: files: [{file.name}] and run: ./{file.name}"
        return
    # Nobody goes through the folders above a root.
    for part in (each for each in (file, *file.parents) if each.is_relative_to(root_of(program))):
        if not _may_execute(part, user):
            what = f"the user `{program.user}` may not execute `{file}`, because of the rights of {part}"
            yield what, f"install it where all may, or bring it: files: [{file.name}] and run: ./{file.name}"
            return


def _may_execute(path: Path, user: tuple[int, int]) -> bool:
    found = path.stat()
    if user[0] == 0:
        return True
    if found.st_uid == user[0]:
        return bool(found.st_mode & stat.S_IXUSR)
    return bool(found.st_mode & (stat.S_IXGRP if found.st_gid == user[1] else stat.S_IXOTH))


def fingerprint(scenario: Scenario) -> str:
    """Digest of the files of all programs: they, their interpreters, and the libraries of these. What a program loads
    later is not among them, such as the modules of Python.
    """
    files = {file for program in scenario.programs for file in executed(file_of(program), root_of(program))}
    return digest((str(file), file.read_bytes()) for file in sorted(files))


def executed(file: Path | None, root: Path = Path("/")) -> Iterator[Path]:
    """A program below a root with its interpreter and libraries, as files of this machine; none is executed."""
    if file is None or not file.is_absolute():
        return
    here = within(root, file)
    yield here
    with here.open("rb") as content:
        head = content.readline(256)
    if head.startswith(b"#!"):
        words = head[2:].split()
        interpreter = Path(os.fsdecode(words[0])) if words else None
        is_there = interpreter is not None and within(root, interpreter).is_file()
        yield from executed(interpreter if is_there else None, root)
    elif head.startswith(b"\x7fELF") and LINKER.is_file():
        folders = ":".join(str(within(root, Path(folder))) for folder in LIBRARIES) if root != Path("/") else ""
        options = ["--inhibit-cache", "--library-path", folders] if folders else []
        command = [str(LINKER), *options, "--list", str(here)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"})
        listed = (word for line in done.stdout.splitlines() for word in line.split() if word.startswith("/"))
        yield from (Path(word) for word in listed if Path(word).is_file())


class Left(Struct, frozen=True):
    """What programs have left after a run."""

    tables: Mapping[str, pd.DataFrame]
    """The tables of the run, with their connections."""
    notes: Mapping[str, Any]
    """The entry of the manifest."""
    files: Mapping[str, bytes]
    """Files of the folder of the run."""
    segments: int
    """Segments with data of their connections."""


def left(scenario: Scenario, folder: Path, found: Mapping[str, pd.DataFrame]) -> Left:
    """What programs have left in the folder of a run, given its other tables."""
    if not scenario.programs:
        return Left(found, {}, {}, 0)
    connections = _connections(scenario, folder)
    ended = json.loads((folder / "programs.json").read_text(encoding="utf-8"))
    entries: list[Json] = []
    files: dict[str, bytes] = {}
    for number, (program, each) in enumerate(zip(scenario.programs, ended, strict=True)):
        own = {f"{program.name}.stdout": f"program.{number}.out", f"{program.name}.stderr": f"program.{number}.err"}
        own |= {f"{program.name}.{name}": there for name, there in each["files"] if _is_plain(name)}
        contents = {name: (folder / there).read_bytes() for name, there in own.items()}
        files |= contents
        theirs = [flow for flow in connections if flow["program"] == program.name]
        reported = own_figures.figures_of(contents)
        more = {"connections": theirs, "reported": reported}
        entries.append(_entry(scenario, program, each, contents) | {key: value for key, value in more.items() if value})
    merged = {**found, **_merged(folder, found, connections)}
    return Left(merged, {PROGRAMS: entries}, files, sum(each["segments"] for each in connections))


def _is_plain(name: str) -> bool:
    return not name.startswith(".") and name.isprintable() and len(name) < 100


def _entry(scenario: Scenario, program: Program, ended: Json, files: Mapping[str, bytes]) -> Json:
    """What the manifest says of a program."""
    how = {key: ended[key] for key in ("exit", "signal") if ended[key] is not None}
    return {
        "name": program.name,
        "host": scenario.hosts[program.host].name,
        "run": list(program.argv),
        "started_s": ended["started_ns"] / 1e9,
        "ended_s": ended["ended_ns"] / 1e9,
        **how,
        "stopped": bool(ended["stopped"]),
        "files": {name: len(content) for name, content in files.items()},
    }


def _connections(scenario: Scenario, folder: Path) -> list[Json]:
    """The connections that carried data, as flows with names."""
    form = dict.fromkeys(
        ("t_ns", "program", "from", "to", "from_port", "to_port", "sent", "answered", "segments"), COUNT
    )
    read = columns.read_csv(folder / "program_connections.csv", {"connection": TEXT, **form})
    rows = [row for row in read.to_dict("records") if row["sent"] + row["answered"] > 0]
    counts, seen, found = Counter(int(row["program"]) for row in rows), Counter[int](), []
    for row in rows:
        number = int(row["program"])
        seen[number] += 1
        name = scenario.programs[number].name
        connection, client = str(row["connection"]).split(":")
        goes_back = row["answered"] > row["sent"]
        ends = [None if pd.isna(row[end]) else scenario.hosts[int(row[end])].name for end in ("from", "to")]
        ports = [int(row["from_port"]), int(row["to_port"])]
        sender = 1 - int(client) if goes_back else int(client)
        found.append(
            {
                "flow": name if counts[number] == 1 else f"{name}.{seen[number]}",
                "program": name,
                "from": ends[goes_back],
                "to": ends[1 - goes_back],
                "ports": ports[::-1] if goes_back else ports,
                "direction": "down" if goes_back else "up",
                "bytes": int(max(row["sent"], row["answered"])),
                "bytes_back": int(min(row["sent"], row["answered"])),
                "segments": int(row["segments"]),
                "key": f"{connection}:{sender}",
            }
        )
    return found


def _merged(folder: Path, found: Mapping[str, pd.DataFrame], connections: Sequence[Json]) -> dict[str, pd.DataFrame]:
    """The tables of flows and sockets with those of connections, in the order of time."""
    names = {each["key"]: each["flow"] for each in connections}
    merged = {}
    for name in ("flows", "tcp_info"):
        form = tables.FORMS[name]
        more = tables.read_table(folder, f"program_{name}", form)
        more = more.assign(flow=more["flow"].map(names)).dropna(subset=["flow"])
        whole = pd.concat([found[name], more], ignore_index=True) if len(found[name]) else more
        merged[name] = whole.sort_values("t", kind="stable", ignore_index=True)
    return merged
