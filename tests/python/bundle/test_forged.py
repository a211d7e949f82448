"""Bundles with manifests that nobody's Tailback wrote: what they promise is refused by name before anything runs."""

import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import in_process
from tailback.bundle.rerun import How, rerun
from tailback.cli import progress
from tailback.fitting import jobs
from tailback.results import NotResults, open_results
from tailback.results.identity import digest

EXPERIMENT = """
title: forged
links: [{ends: [client, router], rate: 10mbit, delay: 5ms}, {lan: [router, a, b], rate: 10mbit}]
qdiscs: {router -> client: fq_codel}
traffic: [{tcp: client -> a, name: upload}, {udp: b -> client, rate: 1mbit}, {ping: client -> a}]
duration: 1s
measure: {window: [200ms, 1s]}
"""

SIGNED = ("scenario", "measure", "axes", "backend", "fingerprint")
"""What the identity of a run is the digest of."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("forged")
    (place / "one.yaml").write_text(EXPERIMENT)
    in_process("run", place / "one.yaml", "--out", place / "one")
    return place / "one"


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "one"))


def manifest_of(folder: Path) -> Path:
    (found,) = folder.glob("runs/*/manifest.json")
    return found


def write(folder: Path, manifest: dict[str, Any]) -> None:
    manifest["identity"] = digest({key: manifest[key] for key in SIGNED})
    manifest_of(folder).write_text(json.dumps(manifest))


def numbers(part: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers."""
    if isinstance(part, int) and not isinstance(part, bool):
        yield at
    for key, each in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from numbers(each, (*at, key))


def forged(manifest: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(manifest)
    part = made
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = value
    return made


@pytest.mark.parametrize("value", [-1, 2**63, 10**30])
def test_no_number_of_a_manifest_ends_in_a_defect(value: int, place: Path) -> None:
    manifest = json.loads(manifest_of(place).read_text())
    places = [("scenario", *at) for at in numbers(manifest["scenario"])]
    places += [("measure", *at) for at in numbers(manifest["measure"])]
    assert len(places) > 40
    told = {}
    for at in places:
        write(place, forged(manifest, at, value))
        try:
            with progress.board() as watch:
                done = rerun(open_results(place), How(), watch)
            told[at] = " ".join(f"{each.state} {each.where}" for each in done.verdicts)
        except NotResults as refused:
            told[at] = str(refused)
    assert {at: text for at, text in told.items() if "defect" in text} == {}


@pytest.mark.parametrize(("at", "message"), [
    (("links", 0, "ends", 1), "`links[0].ends` names host 99, and there are"),
    (("qdiscs", 0, "link"), "`qdiscs[0]` names link 99, and there are"),
    (("traffic", 0, "to"), "`traffic[0]` names host 99, and there are"),
    (("record", "pcap"), "`record.pcap` names host 99, and there are"),
])  # fmt: skip
def test_what_a_manifest_refers_to_and_lacks_is_named(at: tuple[Any, ...], message: str, place: Path) -> None:
    manifest = json.loads(manifest_of(place).read_text())
    write(place, forged(manifest, ("scenario", *at), [99] if at[-1] == "pcap" else 99))
    done = in_process("rerun", place, status=2)
    assert message in done.stderr


def test_a_bundle_with_more_flows_than_memory_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "room", lambda _: 1000)
    done = in_process("rerun", place, status=2)
    assert "3 flows need 0.0042 MB of memory, but a run may use 0.001 MB here" in done.stderr


def test_a_bundle_opens_no_testbed_file_unasked(place: Path) -> None:
    manifest = json.loads(manifest_of(place).read_text())
    testbed = place / "testbed.yaml"
    os.mkfifo(testbed)
    write(place, manifest | {"backend": f"ssh:{testbed}"})
    done = in_process("rerun", place, status=2)
    assert f"would run on the machines of `ssh:{testbed}`" in done.stderr
    assert "--trust" in done.stderr
    testbed.unlink()
    assert "no such file" in in_process("rerun", place, "--trust", status=2).stderr
