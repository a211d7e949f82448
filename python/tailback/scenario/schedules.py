"""Forms of the `schedule` of a link or a cell that stand for a list of changes: one that repeats, and files of recorded
paths of links.

    schedule: {every: 2s, changes: [{at: 0s, rate: 20mbit}, {at: 1.8s, state: down}, {at: 2s, state: up}]}
    schedule: path.csv                                     both directions, once
    schedule: [down.csv, null]                             there, back
    schedule: {every: 60s, changes: path.csv}

A file has a line of names and then a line for each change: `t` and any of `rate`, `delay` and `loss`. Values have their
units, or the names have them: `t_s`, `rate_mbit`, `delay_ms`, `loss_%`; a bare `t` is in seconds. What the link itself
does not give begins with the first line. Public recordings are read, too (`recordings`): of those with both directions
`path.csv:up` is the uplink, and `path.csv` the downlink.

The changes take the place of these forms before the file is checked. An experiment may name any file, so error messages
do not quote its content.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tailback.limits import FileRefused, read_regular
from tailback.scenario import recordings
from tailback.scenario.document import Node
from tailback.scenario.errors import Finding
from tailback.scenario.paths import show
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

MOST = 100_000
"""Changes that one schedule stands for."""

LARGEST = 20_000_000
"""Bytes of a file."""

WAY = ":"
"""Between the name of a file and its direction."""

FILE_HINT = "name a CSV file beside the experiment with the columns t, rate, delay, loss: path.csv"
FORM_HINT = "write {every: 2s, changes: [{at: 0s, rate: 20mbit}, {at: 1s, rate: 5mbit}]}, or the name of a CSV file"
CELL_FORM_HINT = "write [{at: 9s, snr: {far: 3dB}}], or {every: 2s, changes: [{at: 0s, snr: 3dB}, {at: 1s, snr: 30dB}]}"
COLUMNS_HINT = (
    "its first line names the columns `t` and some of `rate`, `delay` and `loss`: t_s,rate_mbit,delay_ms,loss_%"
)

_UNITS: Mapping[str, Mapping[str, str]] = {
    "t": {"": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"},
    "rate": {
        "bit": "bit",
        "kbit": "kbit",
        "mbit": "mbit",
        "gbit": "gbit",
        "bps": "bit",
        "kbps": "kbit",
        "mbps": "mbit",
    },
    "delay": {"s": "s", "ms": "ms", "us": "us"},
    "loss": {"%": "%", "percent": "%", "pct": "%"},
}
"""For each column, the units that its name may end with, as the experiment file writes them."""


class Row(Struct, frozen=True):
    """A line of a file: when, and what the link is from then on, in the words of the experiment file."""

    at_ns: int
    values: Mapping[str, str]


class Schedules:
    """Replaces the forms in a tree, and collects errors."""

    def __init__(self, folder: Path) -> None:
        self.findings: list[Finding] = []
        self._folder = folder

    def apply(self, tree: Node) -> Node:
        """The tree with lists of changes alone."""
        links, duration = tree.entries().get("links"), _duration(tree)
        if links is None or duration is None or not any("schedule" in link.entries() for link in links.items()):
            return tree
        made = [self._link(place, link, duration) for place, link in enumerate(links.items())]
        return replace(tree, value={**tree.entries(), "links": replace(links, value=made)})

    def _link(self, place: int, link: Node, duration: int) -> Node:
        given = link.entries().get("schedule")
        if given is None or _is_list_of_changes(given):
            return link
        try:
            return _Form(given, self._folder, duration).of_link(link)
        except WordError as error:
            self.findings.append(Finding(given.where, show(("links", place, "schedule")), error.message, error.hint))
            return replace(link, value={key: child for key, child in link.entries().items() if key != "schedule"})


def _duration(tree: Node) -> int | None:
    """The length of the run; `None` if it is missing or wrong, which is an error of its own."""
    found = tree.entries().get("duration")
    try:
        return None if found is None else units.time(found.value)
    except WordError:
        return None


def _is_list_of_changes(node: Node) -> bool:
    return isinstance(node.value, list) and not (node.items() and all(_is_file(each) for each in node.items()))


def _is_file(node: Node) -> bool:
    return node.value is None or isinstance(node.value, str)


class _Form:
    """One form, with the position that all of its changes have."""

    def __init__(self, given: Node, folder: Path, duration: int) -> None:
        self._given, self._folder, self._duration = given, folder, duration

    def of_link(self, link: Node) -> Node:
        form = CELL_FORM_HINT if "wifi" in link.entries() else FORM_HINT
        entries = self._given.entries()
        changes, every = (entries.get("changes"), entries.get("every")) if entries else (self._given, None)
        if entries and (changes is None or set(entries) - {"every", "changes"}):
            raise WordError(f"`{shown(next(iter(entries)))}` is not enough of a schedule", form)
        assert changes is not None
        first: dict[str, Node] = {}
        if _is_list_of_changes(changes):
            listed = [(self._at(each), each) for each in changes.items()]
        elif "wifi" in link.entries():
            raise WordError("the schedule of a cell is a list of changes of its signals", form)
        else:
            listed, first = self._of_files(changes, link)
        made = list(self._repeated(listed, None if every is None else units.span(every.value)))
        own = {key: child for key, child in link.entries().items() if key != "schedule"}
        return replace(link, value={**first, **own, "schedule": replace(self._given, value=made, text="")})

    def _at(self, change: Node) -> int:
        at = change.entries().get("at")
        if at is None:
            raise WordError("a change has no time", "write when it happens in each round: {at: 500ms, rate: 5mbit}")
        return units.time(at.value)

    def _repeated(self, listed: Sequence[tuple[int, Node]], every: int | None) -> Iterator[Node]:
        late = max((at for at, _ in listed), default=0)
        if every is not None and late > every:
            hint = "make `every` longer, or move the change to an earlier time"
            raise WordError(f"a change comes {units.time_word(late)} after the beginning of a round", hint)
        rounds = 1 if every is None else -(-self._duration // every)
        if rounds * len(listed) > MOST:
            raise WordError(f"{rounds * len(listed):,} changes are more than {MOST:,}", "make `every` longer")
        for number in range(rounds):
            for at, change in listed:
                begins = at + number * (every or 0)
                if begins < self._duration:
                    yield self._change(begins, {key: child for key, child in change.entries().items() if key != "at"})

    def _change(self, at_ns: int, values: Mapping[str, Node]) -> Node:
        return Node({"at": self._node(f"{at_ns}ns"), **values}, self._given.where)

    def _node(self, word: str) -> Node:
        return Node(word, self._given.where, word)

    def _of_files(self, files: Node, link: Node) -> tuple[list[tuple[int, Node]], dict[str, Node]]:
        """The changes of one file for both directions or of one for each, and the values of the link at the start."""
        if isinstance(files.value, str):
            rows = recorded(files.value, self._folder)
            return self._changes(rows, self._node), {key: self._node(word) for key, word in rows[0].values.items()}
        ways = files.items()
        if len(ways) != 2:
            what = f"{len(ways)} files are listed" if ways else f"`{shown(files.text)}` is not a schedule"
            raise WordError(what, "write one file, or two: [there.csv, back.csv]" if ways else FORM_HINT)
        listed: list[tuple[int, Node]] = []
        first: dict[str, Node] = {}
        for way, file in enumerate(ways):
            if file.value is not None:
                rows = recorded(str(file.value), self._folder)
                listed += self._changes(rows, partial(self._of_way, way))
        ordered = sorted(listed, key=lambda change: change[0])
        return list(_with_delays(ordered, link.entries().get("delay"), self._node("0s"))), first

    def _of_way(self, way: int, word: str) -> Node:
        nothing = Node(None, self._given.where, "null")
        return Node([self._node(word), nothing] if way == 0 else [nothing, self._node(word)], self._given.where)

    def _changes(self, rows: Sequence[Row], node: Callable[[str], Node]) -> list[tuple[int, Node]]:
        before: Mapping[str, str] = {}
        made = []
        for row in rows:
            new = {key: word for key, word in row.values.items() if before.get(key) != word}
            before = row.values
            if new:
                made.append((row.at_ns, Node({key: node(word) for key, word in new.items()}, self._given.where)))
        return made


def _with_delays(changes: Sequence[tuple[int, Node]], own: Node | None, none: Node) -> Iterator[tuple[int, Node]]:
    """The changes, each with the delay of both directions: that of one cannot change alone."""
    now = [none] * 2 if own is None else own.items() if len(own.items()) == 2 else [own] * 2
    for at, change in changes:
        new = change.entries().get("delay")
        if new is None:
            yield at, change
            continue
        now = [before if each.value is None else each for before, each in zip(now, new.items(), strict=True)]
        yield at, replace(change, value={**change.entries(), "delay": replace(new, value=now)})


def recorded(name: str, folder: Path) -> list[Row]:
    """The lines of a file, in the order of their times."""
    called = shown(name)
    file, _, way = name.partition(WAY)
    try:
        text = read_regular(folder / file, LARGEST).decode("ascii", "replace")
    except (OSError, FileRefused, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "it cannot be read"
        raise WordError(f"the schedule `{called}` cannot be read: {reason}", FILE_HINT) from None
    if way not in ("", "up", "down"):
        raise WordError(f"`{called}` names no direction", f"write {shown(file)}:up or {shown(file)}:down")
    try:
        found = recordings.read(text, "up" if way == "up" else "down")
        rows = list(_own_rows(text, called) if found is None else _foreign_rows(found, called))
    except csv.Error:
        raise WordError(f"`{called}` is not a CSV file", FILE_HINT) from None
    if not rows or len(rows) > MOST:
        raise WordError(f"`{called}` has {len(rows):,} lines of values", f"it needs 1 to {MOST:,}")
    late = next((n for n, (one, other) in enumerate(itertools.pairwise(rows), 3) if one.at_ns > other.at_ns), 0)
    if late:
        raise WordError(f"line {late} of `{called}` is earlier than the line before", "sort the lines by time")
    return rows


def _own_rows(text: str, called: str) -> Iterator[Row]:
    lines = csv.reader(io.StringIO(text))
    columns = [_column(each, called) for each in next(lines, [])]
    if "t" not in (column for column, _ in columns) or len({column for column, _ in columns}) < len(columns):
        raise WordError(f"`{called}` does not say which column is which", COLUMNS_HINT)
    yield from (_row(number, line, columns, called) for number, line in enumerate(lines, 2) if line)


def _foreign_rows(lines: Iterator[tuple[int, recordings.Values]], called: str) -> Iterator[Row]:
    """The lines of a public recording; what one of them lacks stays as it was."""
    now: dict[str, str] = {}
    try:
        for number, values in lines:
            now |= values
            yield _of_words(number, now, called)
    except recordings.NotRead as error:
        message = f"line {error.line} of `{called}` is not one of this recording"
        raise WordError(message, "remove the line, or write the columns t, rate, delay and loss yourself") from None


def _column(word: str, called: str) -> tuple[str, str]:
    """The name and the unit of a column; the unit is empty if the values have theirs."""
    found = re.fullmatch(r"\s*(t|time|rate|delay|loss)(?:[_ (\[]+([A-Za-z%]+)[)\]]?)?\s*", word)
    if found is None:
        raise WordError(f"a column of `{called}` is not one of a schedule", COLUMNS_HINT)
    name = "t" if found[1] == "time" else found[1]
    unit = (found[2] or "").lower()
    if unit not in _UNITS[name] and unit:
        raise WordError(f"the unit of `{name}` in `{called}` is not known", f"write one of: {', '.join(_UNITS[name])}")
    return name, _UNITS[name].get(unit, "")


def _row(number: int, line: Sequence[str], columns: Sequence[tuple[str, str]], called: str) -> Row:
    if len(line) != len(columns):
        raise WordError(f"line {number} of `{called}` has {len(line)} values for {len(columns)} columns", COLUMNS_HINT)
    values = {
        name: word.strip() + (unit if re.fullmatch(r"[0-9.eE+-]+", word.strip()) else "")
        for word, (name, unit) in zip(line, columns, strict=True)
        if word.strip()
    }
    return _of_words(number, values, called)


def _of_words(number: int, values: Mapping[str, str], called: str) -> Row:
    try:
        at = units.time(values.get("t", ""))
        return Row(at, {key: _checked(key, word) for key, word in values.items() if key != "t"})
    except WordError as error:
        raise WordError(f"line {number} of `{called}` is not a change of a link", error.hint) from None


def _checked(key: str, word: str) -> str:
    """The value in the words of the experiment file."""
    if key == "rate":
        bits = units.rate(word)
        if bits == 0:
            raise WordError("nothing is sent at a rate of 0", "write a small rate, 50kbit, where the path stalls")
        return f"{bits}bit"
    if key == "delay":
        return f"{units.time(word)}ns"
    if not re.fullmatch(r"[0-9.]+%", word):
        raise WordError("a loss is a percentage", "write 0.1%, or name the column `loss_%`")
    return word
