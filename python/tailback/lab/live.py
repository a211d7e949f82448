"""What a saved page simulates: the resolved scenario of a setting, and what each stop of its knobs changes in it.

The page has no reader of experiment files. So each stop is written into the text as a hand would turn the knob, the
text is resolved here, and the page gets the values of the resolved scenario that differ. A run of it is then the run
that `tailback run` would do of that text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tailback.fitting import code_in, programs_in
from tailback.lab import setting
from tailback.lab.knobs import Knob
from tailback.lab.picture import channels
from tailback.resolved import Scenario, to_json
from tailback.results import station_queues

STOPS_PER_OCTAVE = 3
"""Of a slider."""

MOST_BYTES = 1 << 20
"""Of a scenario, and of what all stops of one knob change, as JSON."""

UNSAID = "as in the file"

UNITS = {
    "rate": (("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)),
    "time": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
}


class NotLive(Exception):
    """The setting cannot be simulated by a page; the message says why."""


class Stops(Struct, frozen=True):
    """A knob of the page."""

    id: str
    label: str
    kind: str
    stops: Sequence[str]
    """Its values in the words of the file."""
    at: int
    """The place of the file's."""
    changes: Sequence[Sequence[Sequence[Any]]]
    """For each stop the places of the scenario that it changes, each with the new value, or without one if the stop has
    nothing there."""


def live(
    wanted: setting.Wanted, found: setting.Setting, place: setting.Place, told: Callable[[int, int], None]
) -> dict[str, Any]:
    """What the page of a setting has to simulate; raises `NotLive`. `told` gets how many knobs of all are done."""
    runs = found.experiment.runs()
    if code := [*code_in(runs), *programs_in(runs)]:
        raise NotLive(f"a page cannot execute `{code[0]}`")
    base = resolved(wanted, place)
    if len(msgspec.json.encode(base)) > MOST_BYTES:
        raise NotLive("the resolved scenario is too large")
    stops = []
    for done, knob in enumerate(found.knobs):
        told(done, len(found.knobs))
        if (each := _stops(knob, wanted, place, base)) is not None:
            stops.append(each)
    scenario = runs[0].scenario
    known = {
        "title": found.experiment.title,
        "seed": runs[0].seed,
        "duration_ns": scenario.duration_ns,
        "interval_ns": scenario.record.interval_ns,
        "window": [edge / 1e9 for edge in runs[0].window_ns],
        "channels": channels(scenario),
        "radios": [_radio(scenario, device.name) for device in scenario.devices if device.wire is None],
    }
    return {"scenario": base, "known": known, "knobs": msgspec.to_builtins(stops)}


def _radio(scenario: Scenario, name: str) -> dict[str, Any]:
    host, members = station_queues.ends_of(scenario, name)
    return {"name": name, "host": host, "members": members}


def resolved(wanted: setting.Wanted, place: setting.Place) -> dict[str, Any]:
    """The resolved scenario of the first seed of a setting; raises `setting.Refused`."""
    experiment, _ = setting.loaded(replace(wanted, repeat=1), place)
    found = to_json(experiment.runs()[0].scenario)
    # Samples at each ACK would make the tables large, and change no run.
    found["record"]["tcp_info"] = "interval"
    return found


def turned(wanted: setting.Wanted, knob: Knob, value: str) -> setting.Wanted:
    """The setting with this value of a knob."""
    if knob.place is None:
        return replace(wanted, choices={**wanted.choices, knob.id: value})
    # Places are in code units of UTF-16, in which a browser counts.
    units = wanted.text.encode("utf-16-le")
    begin, end = (2 * place for place in knob.place)
    written = f"{knob.before}{value}\n" if knob.before else value
    return replace(wanted, text=(units[:begin] + written.encode("utf-16-le") + units[end:]).decode("utf-16-le"))


def changes(before: Any, after: Any, path: Sequence[str | int] = ()) -> Iterator[Sequence[Any]]:
    """Each smallest place in which two documents differ, with what the second has there."""
    if isinstance(before, dict) and isinstance(after, dict) and before.get("kind") == after.get("kind"):
        for key in {**before, **after}:
            here = (*path, key)
            if key not in after:
                yield (here,)
            elif key not in before:
                yield here, after[key]
            else:
                yield from changes(before[key], after[key], here)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changes(one, other, (*path, place))
    elif type(before) is not type(after) or before != after:
        yield path, after


def changed(document: Any, places: Sequence[Sequence[Any]]) -> Any:
    """A copy of the document with these changes, as the page makes it."""
    found = msgspec.json.decode(msgspec.json.encode(document))
    for (*way, last), *value in places:
        at = found
        for step in way:
            at = at[step]
        if value:
            at[last] = value[0]
        else:
            del at[last]
    return found


def _stops(knob: Knob, wanted: setting.Wanted, place: setting.Place, base: Any) -> Stops | None:
    found: dict[str, Sequence[Sequence[Any]]] = {}
    for word in _words(knob):
        try:
            found[word] = list(changes(base, resolved(turned(wanted, knob, word), place)))
        except setting.Refused:
            # A value that the file may not have beside its others.
            continue
    if found.get(knob.value):
        # What the file does not say is another value than its knob shows: TCP Small Queues of Wi-Fi hosts.
        found = {UNSAID: [], **found}
    value = UNSAID if UNSAID in found else knob.value
    if len(found) < 2 or value not in found or len(msgspec.json.encode(list(found.values()))) > MOST_BYTES:
        return None
    words = list(found)
    return Stops(knob.id, knob.label, knob.kind, words, words.index(value), list(found.values()))


def _words(knob: Knob) -> list[str]:
    if knob.kind == "choice":
        return list(knob.options)
    assert knob.number is not None
    assert knob.least is not None
    assert knob.most is not None
    octaves = 8 * STOPS_PER_OCTAVE
    numbers = [knob.number * 2 ** (step / STOPS_PER_OCTAVE) for step in range(-octaves, octaves + 1)]
    inside = [number for number in numbers if knob.least * 0.999 <= number <= knob.most * 1.001]
    return list(dict.fromkeys(knob.value if number == knob.number else _word(knob, number) for number in inside))


def _word(knob: Knob, value: float) -> str:
    """A number as the file has it."""
    if knob.unit in ("count", "packets"):
        return f"{max(1, round(value))}{'p' if knob.unit == 'packets' else ''}"
    if knob.unit in UNITS:
        name, scale = next((each for each in UNITS[knob.unit] if value >= each[1] * 0.9995), UNITS[knob.unit][-1])
    else:
        written = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", knob.value)
        assert written
        assert knob.number is not None
        name, scale = written[2], knob.number / float(written[1])
    return f"{Decimal(f'{value / scale:.3g}'):f}{name}"
