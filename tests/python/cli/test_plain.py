"""Text of users is shown as text everywhere, never as markup or terminal escapes."""

import io
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from command import in_process
from tailback import plain, results
from tailback.cli import console
from tailback.cli.live import Board
from tailback.cli.styled import PlainConsole
from tailback.plots import AUTOMATIC, default_plot, find_plot
from tailback.report import html

COMMAND = [sys.executable, "-c", "from tailback.cli import main; main()"]

TITLE = "[/b] <script>alert(1)</script> $\\frac{"
LABEL = "[/red]<b>x</b> $\\frac{"
EXPERIMENT = f"""\
title: '{TITLE}'
links:
  - {{ends: [client, server], rate: 100mbit, delay: 500us}}
qdiscs:
  client -> server: htb rate 10mbit | pfifo_fast
traffic:
  - {{tcp: client -> server, name: upload, jitter: 10ms}}
  - {{ping: client -> server, interval: 100ms}}
duration: 2s
vary:
  setting:
    '{LABEL}': {{cc: cubic}}
    '$x_1$': {{cc: reno}}
repeat: 2
"""


def tailback(*words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of an experiment with a hostile title and labels."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "file.yaml").write_text(EXPERIMENT)
    done = in_process("run", folder / "file.yaml", "--out", folder / "out")
    assert TITLE in done.stdout
    assert LABEL in done.stdout
    return folder / "out"


@pytest.mark.parametrize(
    "words",
    [["pareto"], ["sensitivity"], ["recommend", "--for", "ping p99 < 1s"], ["report"], ["plot"], ["export", "--csv"]],
)
def test_no_command_reads_markup_in_a_label(words: list[str], swept: Path) -> None:
    done = tailback(words[0], swept, *words[1:])
    if words[0] in ("pareto", "sensitivity", "recommend"):
        assert LABEL in done.stdout or "$x_1$" in done.stdout


@pytest.mark.parametrize("name", [None, "bar", "cdf", "pareto", "timeseries", "scatter"])
def test_figures_do_not_read_a_dollar_sign_as_mathematics(name: str | None, swept: Path) -> None:
    found = results.open_results(swept)
    plot = find_plot(name) if name else default_plot(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot.draw(plot.data(found, AUTOMATIC), AUTOMATIC).savefig(io.BytesIO(), format="png")


def test_a_page_holds_labels_as_text(swept: Path) -> None:
    page = html(results.open_results(swept))
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


def test_terminal_escapes_are_written_out() -> None:
    assert plain.visible("a\x1b[31mb\x07\x9b1m\u202ec\ud800\r\n\td") == (
        "a\\x1b[31mb\\x07\\x9b1m\\u202ec\\ud800\\x0d\n\td"
    )
    assert plain.visible("Größe µs – 測定 👩‍🔬") == "Größe µs – 測定 👩‍🔬"


def test_a_json_document_with_escapes_stays_one() -> None:
    text = "a\x1b\x9b\x7f\u202e\ud800"
    shown = plain.visible_json(json.dumps({"text": text}, ensure_ascii=False))
    assert plain.visible(shown) == shown
    assert json.loads(shown) == {"text": text}


@pytest.mark.parametrize("hostile", ["\x1b]0;gone\x07", "[/red]", "[link=file:///x]", ":bomb:", "\x9b31m"])
def test_the_console_shows_every_text_as_it_is(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(hostile, title=hostile, caption=hostile)
    table.add_row(hostile)
    table.add_row(Text(hostile))
    console.emit(table, hostile, Text(hostile))
    console.stderr().print(hostile)
    console.line(hostile)
    console.aside(hostile)
    out, err = capsys.readouterr()
    if plain.visible(hostile) == hostile:
        # The escaped text is longer than the width that was measured for it.
        assert (out.count(hostile), err.count(hostile)) == (8, 2)
    assert plain.visible(hostile) in out
    assert plain.visible(hostile) in err
    assert "\x07" not in out + err
    assert "\x1b" not in out + err
    assert "\x9b" not in out + err


def test_our_own_styles_reach_a_terminal() -> None:
    shown = io.StringIO()
    terminal = PlainConsole(file=shown, force_terminal=True, color_system="standard")
    terminal.print(Text("word\x1b[0m", style="red"))
    assert shown.getvalue() == "\x1b[31mword\\x1b[0m\x1b[0m\n"


def test_a_board_shows_axes_of_any_name() -> None:
    board = Board(40)
    assert isinstance(board._bar, Progress)
    terminal = PlainConsole(file=io.StringIO(), force_terminal=True, width=60)
    place = (("[/red]", "\x1b[31m"),)
    board._ended[place] = []
    table = board._table([place], [])
    terminal.print(table)


def test_code_of_a_script_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    opening = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 512
+0 accept(3, ..., ...) = 4
"""
    (tmp_path / "a.pkt").write_text(opening + '+0 %{ print("\\x1b[31mred") }%\n', encoding="utf-8")
    done = tailback("drill", tmp_path / "a.pkt")
    assert done.stdout.startswith("\\x1b[31mred\n")


def test_a_control_character_in_an_experiment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.yaml").write_text(EXPERIMENT.replace(f"'{TITLE}'", '"a\\eb"'))
    told = in_process("check", tmp_path / "file.yaml", status=2).stderr
    assert told == (f"{tmp_path}/file.yaml:1: title: contains the control character U+001B\n  hint: remove it\n")


def test_only_quotes_are_cut_and_not_what_lies_between_them() -> None:
    between = "is not a rate, and this goes on for much longer than a quote may"
    message = f"`fast` {between} `slow` {between}\n  hint: {between} `quick`"
    assert plain.brief(message) == message
    assert plain.brief(f"`{'x' * 100}` {between} `slow`") == f"`{'x' * 57}...` {between} `slow`"


def test_a_path_in_a_message_stays_whole_and_a_value_does_not() -> None:
    path, value = "/results/" + "deep/" * 40 + "run", "x" * 200
    assert plain.brief(f"cannot write `{path}`: `{value}`") == f"cannot write `{path}`: `{'x' * 57}...`"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--\x1b[31m"],
        ["\x1b[31m"],
        ["run", "a.yaml", "--jobs", "\x1b[31m"],
        ["run", "a.yaml", "--seed", "1", "--\x9b31m"],
        ["kernel", "\x1b[31m"],
        ["kernel", "list", "--\x1b[31m"],
        ["list", "\x1b[31m"],
        ["explain", "\x1b[31m"],
        ["recommend", "a", "--for", "\x1b[31m", "--\u202e"],
    ],
)
def test_a_wrong_word_on_the_command_line_is_written_out(words: list[str]) -> None:
    told = in_process(*words, status=2).stderr
    assert "Error" in told or "hint" in told
    assert not {"\x1b", "\x9b", "\u202e"} & set(told)


def test_what_is_printed_as_it_is_has_nothing_that_would_be_escaped() -> None:
    """`visible` looks for it only in text that is not printable."""
    escaped = {chr(code) for code in range(sys.maxunicode + 1) if re.match(plain._UNSEEN, chr(code))}
    assert not any(character.isprintable() for character in escaped)
    assert all(plain.visible(f"a\n{character}") != f"a\n{character}" for character in escaped)
