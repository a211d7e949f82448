"""Tiny experiments drawn at random over all keys (`conformance.random_keys`): each is run, and its results are judged.

No run may fail. Its numbers are finite and within the bounds of their metrics, its flows get no more than their links
carry, its round trips take no less than their links do, and no two of its sockets have one name. Packets are accounted
for by the simulator itself, in every build. A second run gives the same bytes, and so does one in a build with all its
assertions.

    make campaign-random RUNS=2000
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from msgspec import Struct, field

from campaigns.seeds import REPOSITORY
from conformance import random_keys, schema_walk
from tailback import _core
from tailback.analysis import registry
from tailback.analysis.summary import summarise
from tailback.backends import Unsuitable
from tailback.backends.own_controls import OwnControls
from tailback.backends.sim import Sim
from tailback.resolved import Ping, Scenario, Tcp, Udp, of_json, to_text
from tailback.resolved.links import Link
from tailback.resolved.paths import Paths
from tailback.results import RunPlan
from tailback.scenario import ScenarioError, load
from tailback.sweep.plan import plan_of
from tailback.sweep.work import measure_of

CHECKED = REPOSITORY / "target" / "properties" / "lib_core.so"
"""The extension with its assertions: `cargo build --profile properties --package tailback-python`."""

MOST_ROWS = 200_000
"""Rows of a table that are looked at."""

CLOCK_S = 1e-3
"""A time stamp of TCP has milliseconds: a round trip measured by it may seem shorter by one."""


class Tally(Struct):
    """What a campaign has done and found."""

    runs: int = 0
    refused: int = 0
    unsuitable: Counter[str] = field(default_factory=Counter)
    """Runs that the simulator refused when it built their networks, by its words."""
    finds: list[str] = field(default_factory=list)
    keys: Counter[str] = field(default_factory=Counter)
    """How many experiments that were run have each key and choice of the schema, as `Link.corrupt`."""

    @property
    def absent(self) -> list[str]:
        """Keys and choices that no run had, though they are drawn."""
        known = schema_walk.all_of_schema() - set(self.keys)
        return sorted(name for name in known if not random_keys.is_left_out(name))


class Checked:
    """A process with the checked build, which tells the digests of the runs that it is given."""

    def __init__(self, extension: Path) -> None:
        words = [sys.executable, "-m", "campaigns.random_runs", str(extension)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def digest(self, scenario: str) -> str:
        """The digest of a run, or the message of its failure."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(scenario) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        return str(json.loads(answer)) if answer else "the process ended"

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


RUNS_FOR_ALL_KEYS = 2000
"""Of so many runs, nearly all keys are in some: those that are in none are drawn for, in as many runs at most."""


def campaign(runs: int, seed: int, place: Path, checked: Checked | None = None) -> Tally:
    """Draws experiments in `place` until so many were run, and of many runs until each key was in one; the files of
    those that failed stay there.
    """
    for name, text in random_keys.FILES.items():
        (place / name).write_text(text)
    tally, number = Tally(), 0
    most = runs if runs < RUNS_FOR_ALL_KEYS else 2 * runs
    while tally.runs < runs or (tally.runs < most and tally.absent):
        number += 1
        file = place / f"{seed}-{number}.yaml"
        before = len(tally.finds)
        _try(file, random_keys.drawn(f"{seed}/{number}"), tally, checked)
        if len(tally.finds) == before:
            file.unlink()
    return tally


def _try(file: Path, drawn: Mapping[str, Any], tally: Tally, checked: Checked | None) -> None:
    file.write_text(yaml.safe_dump(dict(drawn), sort_keys=False, width=120))
    try:
        plan = plan_of(load(file), Sim())
    except ScenarioError:
        tally.refused += 1
        return
    except Exception as error:
        tally.finds.append(f"{file.name}: {type(error).__name__} when it was read: {error}")
        return
    ran = tally.runs
    for run in plan.runs:
        try:
            Sim().check(run.scenario)
        except Unsuitable as unsuitable:
            # Some of what excludes each other is only found when the network is built.
            tally.unsuitable[str(unsuitable).partition("\n")[0][:200]] += 1
            continue
        tally.runs += 1
        tally.finds += [f"{file.name}: {found}" for found in judged(run, checked)]
    if tally.runs > ran:
        tally.keys.update(schema_walk.used(drawn))


def judged(run: RunPlan, checked: Checked | None) -> Iterator[str]:
    """What is wrong with a run."""
    text = to_text(run.scenario).decode()
    try:
        outcome = _core.run(text, None, OwnControls(run.scenario))
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
        return
    yield from _same(run.scenario, digest_of(outcome), checked)
    try:
        yield from _sound(run, outcome)
    except Exception as error:
        yield f"{type(error).__name__} in its analysis: {error}"


def _same(scenario: Scenario, first: str, checked: Checked | None) -> Iterator[str]:
    text = to_text(scenario).decode()
    if digest_of(_core.run(text, None, OwnControls(scenario))) != first:
        yield "two runs differ"
    if checked is not None and (other := checked.digest(text)) != first:
        yield f"the build with assertions: {other}"


def digest_of(outcome: Any) -> str:
    """A digest of all that a run gives back but for its time."""
    digest = hashlib.sha256(outcome["qdiscs"].encode())
    for name in sorted(outcome["tables"]):
        digest.update(name.encode() + outcome["tables"][name].stream)
    for name in sorted(outcome["captures"]):
        digest.update(name.encode() + outcome["captures"][name])
    return digest.hexdigest()


def _sound(run: RunPlan, outcome: Any) -> Iterator[str]:
    tables = outcome["tables"]
    summary = json.loads(json.dumps(summarise(tables, outcome["cost"], measure_of(run))))
    yield from (f"{place} is {value}" for place, value in numbers_in(summary, "") if not math.isfinite(value))
    for metric, number in registry.numbers():
        value = number.read(summary)
        if value is None:
            continue
        least, most = metric.least, metric.most
        if (least is not None and value < least) or (most is not None and value > most):
            yield f"{metric.name}, {number.title}: {value} is not within {least} and {most}"
    yield from named_twice(run.scenario, outcome, tables)
    yield from too_much(run.scenario, tables)
    yield from too_soon(run.scenario, tables)


def numbers_in(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """All numbers of a summary, with their places."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from numbers_in(each, f"{place}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from numbers_in(each, place)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, float(value)


def named_twice(scenario: Scenario, outcome: Any, tables: Mapping[str, _core.Table]) -> Iterator[str]:
    """No name stands for two flows, hosts or disciplines: a flow has one row of each time."""
    disciplines = [f"{each['handle']} of {each['dev']}" for each in json.loads(outcome["qdiscs"])]
    names = ([flow.name for flow in scenario.flows], [host.name for host in scenario.hosts], disciplines)
    yield from (
        f"{name} is named {times} times" for kind in names for name, times in Counter(kind).items() if times > 1
    )
    if "flows" in tables:
        places, _ = tables["flows"].words("flow")
        rows = zip(np.frombuffer(places, np.int64), np.frombuffer(tables["flows"].numbers("t")), strict=True)
        most = Counter((int(flow), float(at)) for flow, at in rows).most_common(1)
        yield from (f"flow {row[0]} has {times} rows at {row[1]} s" for row, times in most if times > 1)


def too_much(scenario: Scenario, tables: Mapping[str, _core.Table]) -> Iterator[str]:
    """Each flow received no more than the fastest rate of each link on its path carries, or twice that where a link
    duplicates packets, which it does behind its rate."""
    received = _sums(tables, "flows", "flow", "bytes")
    for flow in scenario.flows:
        most = _most_bytes(scenario, flow.source, flow.target) if isinstance(flow, Tcp | Udp) else None
        if most is not None and received.get(flow.name, 0.0) > most:
            yield f"{flow.name} received {received[flow.name]:.0f} bytes, and its path carries {most:.0f}"


def _most_bytes(scenario: Scenario, source: int, target: int) -> float | None:
    most = math.inf
    for link, end in _wires(scenario, source, target):
        changes = link.changes(end)
        if link.rate_bps[end] is not None:
            rates = [link.rate_bps[end], *(change.rate_bps for change in changes)]
            most = min(most, max(rate for rate in rates if rate is not None) * scenario.duration_ns / 8e9)
        if any(each and "duplicate" in each for each in (link.netem[end], *(change.netem for change in changes))):
            most *= 2
    return None if math.isinf(most) else most


def too_soon(scenario: Scenario, tables: Mapping[str, _core.Table]) -> Iterator[str]:
    """No ping and no estimate of TCP is shorter than the delays of the links both ways."""
    for flow in scenario.flows:
        if not isinstance(flow, Ping | Tcp):
            continue
        least = _least_s(scenario, flow.source, flow.target) + _least_s(scenario, flow.target, flow.source)
        table, column, slack = ("ping", "rtt_ms", 0.0) if isinstance(flow, Ping) else ("tcp_info", "min_rtt", CLOCK_S)
        found = _least(tables, table, column, flow.name)
        if found is not None and found < least - slack - 1e-6:
            yield f"{flow.name}: a round trip of {found * 1e3:.3f} ms over delays of {least * 1e3:.3f} ms"


def _least_s(scenario: Scenario, source: int, target: int) -> float:
    total = 0
    for link, end in _wires(scenario, source, target):
        changes = list(link.changes(end))
        options = [link.netem[end], *(change.netem for change in changes)]
        if any(each and {"jitter", "reorder"} & set(each) for each in options):
            continue
        delays = [link.delay_ns[end], *(change.delay_ns for change in changes if change.delay_ns is not None)]
        total += min(delays)
    return total / 1e9


def _wires(scenario: Scenario, source: int, target: int) -> Iterator[tuple[Link, int]]:
    """The wired links of a path, each with the end at which packets enter it."""
    way = Paths(scenario).way(source, target) or ()
    return ((device.wire, device.end) for device in way if device.wire is not None)


def _sums(tables: Mapping[str, _core.Table], table: str, by: str, column: str) -> dict[str, float]:
    if table not in tables:
        return {}
    places, words = tables[table].words(by)
    totals = np.bincount(np.frombuffer(places, np.int64), np.frombuffer(tables[table].numbers(column)), len(words))
    return dict(zip(words, totals.tolist(), strict=True))


def _least(tables: Mapping[str, _core.Table], table: str, column: str, flow: str) -> float | None:
    """The least value of a column in seconds, of the rows of one flow."""
    if table not in tables or len(tables[table]) > MOST_ROWS:
        return None
    places, words = tables[table].words("ping" if table == "ping" else "flow")
    if flow not in words:
        return None
    values = np.frombuffer(tables[table].numbers(column))[np.frombuffer(places, np.int64) == words.index(flow)]
    known = values[~np.isnan(values) & (values > 0)]
    scale = 1e-3 if column.endswith("_ms") else 1e-6
    return float(known.min()) * scale if len(known) else None


def main(extension: str) -> None:
    """Answers each scenario on the standard input with the digest of its run by this extension."""
    from importlib import machinery, util

    loader = machinery.ExtensionFileLoader("tailback._core", extension)
    spec = util.spec_from_file_location("tailback._core", extension, loader=loader)
    assert spec is not None
    core = util.module_from_spec(spec)
    loader.exec_module(core)
    for line in sys.stdin:
        try:
            text = json.loads(line)
            answer = digest_of(core.run(text, None, OwnControls(of_json(json.loads(text)))))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    os.nice(5)
    main(sys.argv[1])
