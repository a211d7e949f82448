"""Wrong experiments through the installed command: file, key, value and remedy, status 2, and nothing left behind."""

import os
from pathlib import Path

import pytest

from e2e.conftest import EXPERIMENT, Run

SECOND = "  - {ends: [router, server], rate: 1gbit, delay: 250us}"

WRONG: dict[str, tuple[str, str, str, str, str]] = {
    "unknown key": ("measure:", "mesure:", "15: mesure", "mesure", "did you mean `measure`?"),
    "wrong unit": ("rate: 1gbit, delay: 250us}\nq", "rate: 1furlong}\nq", "8: links[1].rate", "1furlong", "100mbit"),
    "no unit": ("duration: 3s", "duration: 3", "14: duration", "3", "`3s`"),
    "negative rate": ("rate: 1gbit, delay: 250us}\nq", "rate: -1gbit}\nq", "8: links[1].rate", "-1gbit", "below zero"),
    "negative rate of a shaper": (
        "htb rate 10mbit", "htb rate -10mbit", "10: qdiscs.client -> router", "-10mbit", "100mbit",
    ),
    "unknown host": ("[router, server]", "[router, sever]", "8: links[1].ends[1]", "sever", "did you mean `server`?"),
    "start after stop": ("start: 100ms", "start: 2950ms", "12: traffic[0].stop", "2900ms", "stop after"),
    "two links side by side": (
        SECOND, f"{SECOND}\n  - {{ends: [server, router], rate: 1gbit}}", "9: links[2]", "router", "remove it",
    ),
    "unknown control": ("cc: [cubic, reno]", "cc: [cubic, rено]", "17: cc", "rено", "reno"),
    "unknown discipline": ("| pfifo_fast", "| fifo_past", "10: qdiscs.client -> router", "fifo_past", "pfifo_fast"),
}  # fmt: skip
"""What is replaced by what; then line and key, the value, and a part of the remedy that the message must name."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_reported_with_place_value_and_remedy(name: str, tailback: Run, tmp_path: Path) -> None:
    old, new, place, value, remedy = WRONG[name]
    assert EXPERIMENT.count(old) == 1
    (tmp_path / "wrong.yaml").write_text(EXPERIMENT.replace(old, new))
    done = tailback("run", "wrong.yaml", status=2)
    message, hint = done.stderr.split("\n  hint: ", 1)
    assert message.startswith(f"wrong.yaml:{place}")
    assert value in message
    assert remedy in hint
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two.yaml", "wrong.yaml"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "wrong.yaml"),
        (b"\xff\xfe\x00", "wrong.yaml"),
        (b"title: [", "wrong.yaml:1"),
        (b"title: a\ntitle: b\n", "wrong.yaml:2: title"),
        (b"", "wrong.yaml:1: links"),
    ],
    ids=["missing", "not text", "not YAML", "a key twice", "empty"],
)
def test_a_file_that_cannot_be_read_is_reported(
    content: bytes | None, said: str, tailback: Run, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "wrong.yaml").write_bytes(content)
    done = tailback("run", "wrong.yaml", status=2)
    assert done.stderr.startswith(said)
    assert "\n  hint: " in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "results").exists()


def test_a_folder_is_no_experiment(tailback: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").mkdir()
    done = tailback("run", "wrong.yaml", status=2)
    assert done.stderr.startswith("wrong.yaml")
    assert "\n  hint: " in done.stderr


def test_a_file_without_permission_is_reported(tailback: Run, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").chmod(0)
    if os.access(tmp_path / "two.yaml", os.R_OK):
        # The superuser may read everything; then the command succeeds.
        tailback("check", "two.yaml")
        return
    done = tailback("run", "two.yaml", status=2)
    assert done.stderr.startswith("two.yaml")
    assert "\n  hint: " in done.stderr


def test_check_reports_the_same_errors_as_run(tailback: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(EXPERIMENT.replace("3s", "3"))
    told = [tailback(command, "wrong.yaml", status=2).stderr for command in ("run", "check")]
    assert told[0] == told[1]


def test_all_that_is_wrong_is_reported_at_once(tailback: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(EXPERIMENT.replace("rate: 1gbit", "rate: fast").replace("3s", "3"))
    done = tailback("run", "wrong.yaml", status=2)
    assert [line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("wrong.yaml:")] == [
        "links[0].rate", "links[1].rate", "duration",
    ]  # fmt: skip
