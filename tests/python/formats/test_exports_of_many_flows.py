"""Exports of results with many flows."""

import importlib
from pathlib import Path

import pytest

import tailback
from command import in_process
from counted import calls_per_item
from tailback.formats import NotExportable, flent
from tailback.formats.summaries import csv_of
from tailback.results import Results, RunFolder

FILE = """\
links: [{{ends: [a, b], rate: 20mbit, delay: 5ms}}]
qdiscs: {{a -> b: fq_codel}}
traffic: [{{tcp: a -> b, flows: {flows}}}]
duration: 1s
measure: {{warmup: 0s}}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Results]:
    folder, found = tmp_path_factory.mktemp("many"), {}
    for flows in (50, 200):
        (folder / f"{flows}.yaml").write_text(FILE.format(flows=flows))
        in_process("run", folder / f"{flows}.yaml", "--out", folder / str(flows))
        found[flows] = tailback.open(folder / str(flows))
    return found


def test_a_flent_file_takes_no_search_of_a_table_for_each_flow(results: dict[int, Results]) -> None:
    # About ten samples, and a grid of eleven seconds for each.
    assert calls_per_item(lambda flows: flent.export(results[flows].runs[0], "x"), 50, 200) < 600


def test_a_flent_file_that_nothing_could_read_is_refused(
    results: dict[int, Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("tailback.formats.flent.export"), "MAX_VALUES", 1000)
    with pytest.raises(NotExportable, match=r"200 series with a value each 0\.1 s are too many"):
        flent.export(results[200].runs[0], "x")


def test_summaries_are_written_as_pandas_writes_them(tmp_path: Path, results: dict[int, Results]) -> None:
    summaries: list[dict[str, object]] = [
        {"a": 1, "b": {"x.y": 2.5, "z": None}, "c": "one, two", "d": True, "e": 3, "f": 1e-7},
        {"a": 2, "b": {"x.y": 1}, "c": 'say "so"', "d": False, "g": 4, "f": 1e22},
        {"a": 3, "b": {"x.y": float("nan"), "z": 5}, "c": "", "d": None, "e": 4, "f": 123456789.123456789},
    ]
    runs = [
        RunFolder(tmp_path, {"axes": {"cc": "reno"}, "repetition": place, "seed": place}, summary)
        for place, summary in enumerate(summaries, 1)
    ]
    for found in (Results(tmp_path, "x", {"cc": ["reno"]}, runs), *results.values()):
        assert csv_of(found) == found.summary.to_csv(index=False, lineterminator="\n")
