"""Explains the words of Tailback that are no algorithm: keys of the experiment file, options of disciplines, sysctls,
plots, warnings, presets, backends, tables and their columns, and units.

All texts come from where the word is defined: the schema, the registries, `lint.WARNINGS` and so on.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tailback import backends, qdiscs, scenario
from tailback.algorithms import CoreRegistry
from tailback.cli import glossary
from tailback.cli.explanation import Explanation
from tailback.cli.run_warnings import CODES
from tailback.results import data_dictionary
from tailback.scenario import arrivals, expect, flows, sysctl
from tailback.scenario.lint import WARNINGS
from tailback.scenario.shapes import SHAPES
from tailback.scenario.traffic import call, game, page, request, udp, video
from tailback.tc import units

UNIT_WORDS = ("unit", "units", "rate", "size", "delay")
"""Words that are explained with the units of their values."""


def explained(word: str) -> list[Explanation]:
    """Everything that `word` means here, without plots, which are slow to load: `plot`."""
    asked = glossary.another_word(word)
    return [found for source in SOURCES for found in source(asked)]


def names() -> list[str]:
    """All words that `explained` knows, without repetition."""
    keys = [key for _, model in _models() for key in model["properties"]]
    others = [
        *_options(),
        *(row.name for row in sysctl.SYSCTLS),
        *WARNINGS,
        *CODES,
        *flows.PRESETS,
        *backends.TEXTS,
        *glossary.field().words,
        *data_dictionary.tables(),
        *(column.name for table in data_dictionary.tables().values() for column in table.columns),
    ]
    return list(dict.fromkeys([*keys, *others, *_plots(), *UNIT_WORDS[:2]]))


def _word(word: str) -> Iterator[Explanation]:
    text = glossary.defined(word)
    if text is not None:
        yield Explanation(f"{word}: a word of the field", text, [])


def absent(word: str) -> Iterator[Explanation]:
    """What is known about a word of the field for something that Tailback does not have."""
    found = glossary.absent(word)
    if found is not None:
        what = found.what[:1].upper() + found.what[1:]
        text = f"{what}. It is not in Tailback, because {found.because}; nearest: {found.nearest}."
        yield Explanation(f"{word}: not in Tailback", text, [])


def _preset(word: str) -> Iterator[Explanation]:
    if word in flows.PRESETS:
        text = f"{flows.PRESETS[word]}\n\nIn an experiment: traffic: [{{preset: {word}, hosts: [client, server]}}]"
        yield Explanation(f"{word}: a preset of `traffic`, named as in Flent", text, [])


def _backend(word: str) -> Iterator[Explanation]:
    if word in backends.TEXTS:
        yield Explanation(f"{word}: a backend", backends.TEXTS[word], [])


def _table(word: str) -> Iterator[Explanation]:
    """The table with this name, with its columns."""
    table = data_dictionary.tables().get(word)
    if table is not None:
        lines = (f"{column.name}{_unit(column)}: {column.text}" for column in table.columns)
        text = f"One row: {table.row}.\n\n" + "\n".join(lines)
        yield Explanation(f"{word}: a table of a run", text, [])


def _column(word: str) -> Iterator[Explanation]:
    """The columns with this name, `held_by` or `tcp_info.held_by`; those with the same meaning together."""
    within, _, name = word.rpartition(".")
    owners: dict[tuple[str, str], list[str]] = {}
    for table in data_dictionary.tables().values():
        for column in table.columns:
            if column.name == name and within in ("", table.name):
                owners.setdefault((column.text, _unit(column)), []).append(f"`{table.name}`")
    for (text, unit), found in owners.items():
        yield Explanation(f"{name}{unit}: a column of {', '.join(found)}", text, [])


def _unit(column: data_dictionary.DataColumn) -> str:
    return f" ({column.unit})" if column.unit else ""


def _shape(word: str) -> Iterator[Explanation]:
    if word in SHAPES:
        access = ", access: {rate: 1gbit, delay: 1ms}" if SHAPES[word].has_access else ""
        example = f"links: [{{{word}: 4, rate: 10mbit, delay: 20ms{access}}}]"
        text = f"{SHAPES[word].text}\n\nIn an experiment: {example}\n`tailback check --expand FILE` shows the links."
        yield Explanation(f"{word}: a short form of `links`", text, [])


def _warning(word: str) -> Iterator[Explanation]:
    if word in WARNINGS:
        yield Explanation(f"{word}: a warning of `check` and `run`", WARNINGS[word], [])
    if word in CODES:
        yield Explanation(f"{word}: a warning about runs", CODES[word], [])


def plot(word: str) -> Iterator[Explanation]:
    """The plot with this name."""
    summary = _plots().get(word)
    if summary is not None:
        yield Explanation(f"{word}: a plot", f"{summary}.\n\nDraw it: tailback plot DIR -p {word}", [])


def _plots() -> Mapping[str, str]:
    from tailback.plots.names import PLOTS

    return {
        name: plot.summary + (f". --metric takes {plot.takes}" if plot.takes else "") for name, plot in PLOTS.items()
    }


def _key(word: str) -> Iterator[Explanation]:
    """The keys with this name; those with the same meaning together."""
    places: dict[str, list[str]] = {}
    for place, model in _models():
        field = model["properties"].get(word)
        if field is not None and "description" in field:
            places.setdefault(_meaning(field), []).append(place)
    for meaning, found in places.items():
        yield Explanation(f"{word}: a key of {', '.join(found)}", meaning, [])
    if places and word in LONGER:
        heading, text = LONGER[word]
        yield Explanation(heading, text, [])


ARRIVING = ("arrivals, size: TCP connections that arrive during a run", arrivals.EXPLAINED)
CALLS = ("call: both directions of a codec's packets over UDP", call.EXPLAINED)
GAMES = ("game: moves of a player and the state of the game over UDP", game.EXPLAINED)

REQUESTS = ("request: requests and answers over TCP connections that stay open", request.EXPLAINED)

PAGES = ("page: a web page that a browser loads", page.EXPLAINED)
MEDIA = ("adapt: UDP at a rate that follows what its receiver reports", udp.EXPLAINED)
VIDEOS = ("video: a video in segments, with a bitrate for each", video.EXPLAINED)

CONDITIONS = ("expect: conditions on the results, also in time", expect.EXPLAINED)

LONGER: Mapping[str, tuple[str, str]] = {
    "adapt": MEDIA,
    "arrivals": ARRIVING,
    "expect": CONDITIONS,
    "size": ARRIVING,
    "call": CALLS,
    "codec": CALLS,
    "buffer": CALLS,
    "game": GAMES,
    "tick": GAMES,
    "request": REQUESTS,
    "answer": REQUESTS,
    "think": REQUESTS,
    "page": PAGES,
    "shape": PAGES,
    "http": PAGES,
    "video": VIDEOS,
    "rule": VIDEOS,
    "ladder": VIDEOS,
}
"""Keys of traffic with more to say than their description: heading and text."""


def _meaning(field: Mapping[str, Any]) -> str:
    """The description of a key, its default and examples."""
    lines = [" ".join(field["description"].split())]
    if isinstance(field.get("default"), str | int):
        lines.append(f"Default: {_written(field['default'])}")
    if field.get("examples"):
        lines.append(f"Examples: {', '.join(_written(each) for each in field['examples'])}")
    return "\n".join(lines)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@functools.cache
def _models() -> Sequence[tuple[str, dict[str, Any]]]:
    """The models of the experiment file with keys, each with a name for readers."""
    schema = scenario.json_schema()
    others = schema.get("$defs", {}).items()
    return [("the file", schema), *((f"`{name.lower()}`", model) for name, model in others if "properties" in model)]


def _option(word: str) -> Iterator[Explanation]:
    """The options of disciplines, controls and drivers with this name."""
    owners = _options().get(word)
    if owners:
        lines = [f"{', '.join(names)}: {meaning}" for meaning, names in owners.items()]
        yield Explanation(f"{word}: an option of disciplines, controls or drivers", "\n".join(lines), [])


@functools.cache
def _options() -> Mapping[str, Mapping[str, list[str]]]:
    """For each option, its meanings, and whose they are."""
    registry = CoreRegistry()
    found: dict[str, dict[str, list[str]]] = {}

    def note(word: str, meaning: str, owner: str) -> None:
        found.setdefault(word, {}).setdefault(meaning, []).append(owner)

    for row in (*registry.qdiscs, *registry.congestion_controls, *registry.drivers):
        for parameter in row.parameters:
            note(parameter.name, parameter.meaning, row.name)
    for row in registry.qdiscs:
        choices = ((word, each.meaning) for each in row.parameters if each.unit == "choice" for word in each.words)
        for word, meaning in (*choices, *qdiscs.of(row.name).grammar.keywords.items()):
            note(word, meaning, row.name)
    return found


def _sysctl(word: str) -> Iterator[Explanation]:
    """The sysctl with this name, or whose last part or word it is: `ecn` finds net.ipv4.tcp_ecn."""
    for row in sysctl.SYSCTLS:
        last = row.name.rpartition(".")[2]
        if word in (row.name, last, last.removeprefix("tcp_")):
            text = f"{row.meaning}\nUnit: {row.unit}. Default: {row.default}."
            yield Explanation(f"{row.name}: a sysctl of a host", text, [])


def _units(word: str) -> Iterator[Explanation]:
    if word in UNIT_WORDS:
        yield Explanation("units: how values are written, as in tc", UNITS, [])


UNITS = f"""\
rate: {units.RATE_HINT.partition(": ")[2]}. Bits per second; k, m, g are powers of 1000.
      `bps` counts bytes, as in tc: 10mbps is 80mbit.
size: {units.SIZE_HINT.partition(": ")[2]}. Bytes; k, m, g are powers of 1024, as in tc.
time: {units.TIME_HINT.partition(": ")[2]}. A unit is required.
packets: 180p."""

SOURCES: tuple[Callable[[str], Iterator[Explanation]], ...] = (
    _word, _preset, _shape, _backend, _warning, _key, _sysctl, _option, _table, _column, _units,
)  # fmt: skip
