"""What the lab refuses to read or to execute, and what it says of a wrong file."""

from pathlib import Path

import pytest

from lab.serving import TEXT
from tailback.lab.setting import Place, Refused, Wanted, others, read

TRACE = TEXT.replace("rate: 100mbit, delay: 5ms}\n  - {ends: [router", "trace: FILE, delay: 5ms}\n  - {ends: [router")


def refused(text: str, place: Place) -> str:
    with pytest.raises(Refused) as error:
        read(Wanted(1, text), place)
    return " ".join(each["message"] for each in error.value.findings)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.trace").write_text("1\n2\n")
    (inside / "own.trace").write_text("1\n2\n")
    (inside / "link.trace").symlink_to(tmp_path / "secret.trace")
    return Place(inside, "x.yaml", trust=False)


def test_a_file_of_the_folder_is_read(place: Place) -> None:
    assert read(Wanted(1, TRACE.replace("FILE", "own.trace")), place).knobs


@pytest.mark.parametrize("name", ["../secret.trace", "link.trace", "/etc/hostname"])
def test_nothing_outside_the_folder_is_read(place: Place, name: str) -> None:
    assert "outside the folder" in refused(TRACE.replace("FILE", name), place)


def test_code_is_executed_only_where_the_user_trusts_it(place: Place) -> None:
    (place.folder / "mine.py").write_text("raise SystemExit(1)\n")
    text = TEXT.replace("cc: [cubic, reno]", "cc: [mine.py, reno]")
    assert "which the lab does not execute" in refused(text, place)
    assert read(Wanted(1, text), Place(place.folder, place.name, trust=True)).knobs


def test_an_error_has_its_line(place: Place) -> None:
    with pytest.raises(Refused) as error:
        read(Wanted(1, TEXT.replace("delay: 5ms", "delay: 5 parsecs", 1)), place)
    assert [each["line"] for each in error.value.findings] == [4]


def test_errors_of_configurations_that_are_not_shown_are_found(place: Place) -> None:
    wanted = Wanted(1, TEXT.replace("cc: [cubic, reno]", "cc: [cubic, renown]"))
    assert read(wanted, place).knobs
    assert [each["line"] for each in others(wanted, place)] == [14]


def test_settings_with_the_same_runs_have_one_key(place: Place) -> None:
    first = read(Wanted(1, TEXT), place)
    assert read(Wanted(2, f"# a remark\n{TEXT}"), place).key == first.key
    assert read(Wanted(3, TEXT, {"cc": "reno"}), place).key != first.key
    assert read(Wanted(4, TEXT, {}, 2), place).key != first.key


@pytest.mark.parametrize("repeat", [0, 31, 10**9])
def test_repetitions_are_bounded(place: Place, repeat: int) -> None:
    with pytest.raises(Refused):
        read(Wanted(1, TEXT, {}, repeat), place)
