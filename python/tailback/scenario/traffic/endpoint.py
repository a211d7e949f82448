"""A transport of the user between two hosts: a library with the functions of `include/tailback_endpoint.h`, or a class
in Python.

The content of the file becomes part of the resolved scenario, so that results keep it and another content is another
run. Reading an experiment does not execute it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, WithJsonSchema

from tailback import resolved
from tailback.scenario import defaults
from tailback.scenario.brought import kept, read_file
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved
from tailback.scenario.values import CodePoint, Direction, Name, ReadBy, Section, SocketSize, Time, read_in_folder
from tailback.tc.errors import WordError
from tailback.tc.units import shown

LARGEST_FILE = 8_000_000
"""Bytes of a library: each manifest contains it."""

MAGIC = b"\x7fELF"
PYTHON = ".py"
LEAST_DATAGRAM = 1
UDP_HEADER = 8


def brought(word: object, folder: Path) -> resolved.BroughtFile:
    """Reads the file of an endpoint, named relative to the experiment."""
    hint = "name a library or a file in Python relative to the experiment: endpoint: ./libmine.so"
    content = read_file(word, folder, hint, LARGEST_FILE)
    found = kept(word, content)
    _check(content, found.name)
    return found


def _check(content: bytes, name: str) -> None:
    """Raises `WordError` unless the content is that of a shared object, or of a file in Python."""
    if not name.endswith(PYTHON):
        if not content.startswith(MAGIC):
            hint = "compile it: cc -shared -fPIC -o libmine.so mine.c; or name a file in Python, mine.py"
            raise WordError(f"`{name}` is no shared library", hint)
        return
    try:
        ast.parse(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise WordError(f"`{name}` is not UTF-8 text (byte {error.start})", "save the file as UTF-8") from None
    except SyntaxError as error:
        raise WordError(f"`{name}`, line {error.lineno}: {error.msg}", "correct the file") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise WordError(f"`{name}` is not Python: {error}", "correct the file") from None


def options(word: object) -> dict[str, int | float | bool | str]:
    """Reads the options of an endpoint."""
    hint = "write names and values: options: {window: 20}"
    if not isinstance(word, Mapping):
        raise WordError(f"`{shown(word)}` is not a list of options", hint)
    for name, value in word.items():
        if not str(name).isidentifier():
            raise WordError(f"`{shown(name)}` is not the name of an option", hint)
        if not isinstance(value, int | float | bool | str):
            raise WordError(f"the option `{shown(name)}` cannot be {shown(value)}", "write a number or a word")
        if isinstance(value, str) and "\0" in value:
            raise WordError(f"the option `{shown(name)}` contains a NUL", hint)
    return {str(name): word[name] for name in sorted(word, key=str)}


EndpointFile = Annotated[
    resolved.BroughtFile, read_in_folder(brought), WithJsonSchema({"type": "string", "examples": ["./libmine.so"]})
]
Options = Annotated[
    dict[str, int | float | bool | str],
    ReadBy(options),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["number", "string", "boolean"]}}),
]


class Endpoint(Section):
    """A transport of your own between two hosts, over UDP; the simulator runs it."""

    endpoint: EndpointFile = Field(
        description="Its file, relative to the experiment: a library with the functions of tailback_endpoint.h, or a "
        "class in Python.",
    )
    source: Name = Field(alias="from", description="The host of its first endpoint; tables count what goes from here.")
    target: Name = Field(alias="to", description="The host of its second endpoint.")
    options: Options = Field(default_factory=dict, description="What both endpoints are told.")
    name: Name | None = Field(None, description="Name in tables; default: the file's, without lib and suffix.")
    group: Name | None = Field(
        None, description="The group that it is part of in `run --by group` and `plot -p shares`; default: its name."
    )
    sndbuf: SocketSize | None = Field(None, description="SO_SNDBUF of both sockets.")
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets.")
    start: Time = Field(defaults.START, validate_default=True, description="When both endpoints begin.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Endpoints(Flow, frozen=True, kw_only=True):
    """The two endpoints of a transport."""

    kind: ClassVar[str] = "endpoint"

    file: resolved.BroughtFile
    options: Mapping[str, int | float | bool | str]
    sndbuf: int | None


def _flow(entry: Endpoint, loc: Loc, _file: File) -> Endpoints:
    return Endpoints(
        loc=loc,
        names=(entry.name or _default_name(entry.endpoint.name),),
        direction=Direction(entry.source, entry.target),
        group=entry.group,
        start_ns=entry.start,
        stop_ns=None,
        jitter_ns=entry.jitter,
        dscp=entry.dscp,
        file=entry.endpoint,
        options=entry.options,
        sndbuf=entry.sndbuf,
    )


def _default_name(file: str) -> str:
    """`mine` of `libmine.so` and `mine.py`, in the characters of names."""
    stem = file.partition(".")[0].removeprefix("lib")
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "_-") else "-" for each in stem)[:40]
    return plain if plain[:1].isalpha() else f"endpoint-{plain}"


def _resolved(flow: Endpoints, at: Resolved) -> resolved.Endpoint:
    return resolved.Endpoint(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, sndbuf=flow.sndbuf, dscp=flow.dscp,
        library=flow.file.name, options=dict(flow.options),
    )  # fmt: skip


def _problems(flow: Endpoints, max_payload: int) -> Iterator[Problem]:
    if max_payload - UDP_HEADER < LEAST_DATAGRAM:
        message = "no datagram fits on its path"
        yield Problem((*flow.loc, "endpoint"), message, "give its links a larger `mtu`")


ROW = Kind(
    "endpoint",
    keys=Endpoint,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there and back",
    carries="data",
)
