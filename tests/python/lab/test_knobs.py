"""The knobs of an experiment: which values have one, and where they are in the text."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from lab.serving import TEXT
from tailback.lab.knobs import Knob
from tailback.lab.setting import Place, Wanted, read
from tailback.scenario import ready

PLACE = Place(Path(), "x.yaml", trust=False)


def knobs_of(text: str, choices: Mapping[str, str] | None = None) -> dict[str, Knob]:
    found = read(Wanted(1, text, choices or {}), PLACE)
    return {knob.id: knob for knob in found.knobs}


def test_each_value_that_can_vary_has_a_knob_at_its_place() -> None:
    found = knobs_of(TEXT)
    places = {name: TEXT[slice(*knob.place)] for name, knob in found.items() if knob.place}
    assert places == {
        "links[0].rate": "100mbit",
        "links[0].delay": "5ms",
        "links[1].rate": "100mbit",
        "links[1].delay": "5ms",
        "qdiscs.router -> server rate": "10mbit",
        "qdiscs.router -> server leaf": "pfifo limit ${buffer}",
        "traffic[0].flows": "2",
        "tsq": "",
    }
    assert list(found)[:4] == ["cc", "buffer", "qdiscs.router -> server rate", "qdiscs.router -> server leaf"]
    assert [name for name, knob in found.items() if knob.place is None] == ["cc", "buffer"]
    assert found["links[0].rate"].label == "client – router: rate"
    assert {"cubic", "reno", "bbr"} < set(found["cc"].options)


def test_what_a_knob_writes_is_read_as_that_value() -> None:
    knob = knobs_of(TEXT)["links[1].delay"]
    assert knob.place is not None
    start, end = knob.place
    assert knobs_of(f"{TEXT[:start]}20ms{TEXT[end:]}")["links[1].delay"].number == pytest.approx(0.02)


def test_a_key_that_the_file_lacks_is_added_at_its_end() -> None:
    knob = knobs_of(TEXT)["tsq"]
    assert knobs_of(f"{TEXT}{knob.before}off\n")["tsq"].value == "off"


def test_an_axis_takes_its_values_and_for_a_key_any_other() -> None:
    assert knobs_of(TEXT, {"cc": "bbr", "buffer": "100"})["cc"].value == "bbr"


def test_places_are_counted_as_a_browser_counts() -> None:
    text = TEXT.replace("a short line", "a 🐌 line")
    place = knobs_of(text)["traffic[0].flows"].place
    assert place is not None
    units = text.encode("utf-16-le")
    assert units[2 * place[0] : 2 * place[1]].decode("utf-16-le") == "2"


@pytest.mark.parametrize("name", [name for name in ready() if "/" not in name])
def test_every_knob_of_the_experiments_that_come_with_tailback_is_where_it_says(name: str) -> None:
    file = ready()[name]
    text = file.read_text()
    found = read(Wanted(1, text), Place(file.parent, file.name, trust=False)).knobs
    assert found
    for knob in found:
        if knob.place and not knob.before:
            assert text[slice(*knob.place)] == knob.value
