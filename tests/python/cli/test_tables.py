"""Tables in any width and form: no number is cut, no interval is left out, and what is left out is said."""

import ast
import csv
import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from command import in_process
from tailback.cli import markup, show, tables
from tailback.cli.app import COMMANDS
from tailback.cli.sheets import Cell, Field, Sheet
from tailback.cli.styled import PlainConsole

CLI = Path(tables.__file__).parent
LONG = "a value of an axis with more than sixty characters, as people write"


def sheet(axes: dict[str, list[str]], numbers: int, kept: int) -> Sheet:
    """A table of `numbers` columns, of which `kept` must be shown; each cell has a text of its own."""
    fields = [*(Field(axis, "key") for axis in axes)]
    fields += [
        Field(f"number p{place}", unit="ms", spread=True, rank=float(place >= kept) * 2, kept=place < kept)
        for place in range(numbers)
    ]
    rows = [
        [*map(Cell, place), *(Cell(f"{row}{n}.5 ±{row}.{n}", 1.0, (0.0, 2.0)) for n in range(numbers))]
        for row, place in enumerate(zip(*axes.values(), strict=True), 1)
    ]  # fmt: skip
    return Sheet("a title", fields, rows, ["means"])


def drawn(made: Sheet, width: int) -> str:
    """What a terminal of this width shows."""
    file = io.StringIO()
    console = PlainConsole(width=width, file=file, force_terminal=True, color_system=None)
    console.print(*tables.laid_out(made, width), sep="\n")
    text = file.getvalue()
    assert all(cell_len(line) <= width for line in text.splitlines())
    return text


AXES = {
    "short": {"cc": ["cubic", "bbr"]},
    "none": {"": [""]},
    "one long": {"queue": [LONG, "fifo"]},
    "four long": {f"{LONG} {place}": [f"{LONG} {place}", "other"] for place in range(4)},
    "wide characters": {"値": ["日本語の値" * 9, "b"]},
}


@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160])
def test_every_number_that_matters_is_shown_whole_with_its_interval(axes: dict[str, list[str]], width: int) -> None:
    made = sheet(axes, numbers=9, kept=5)
    text = drawn(made, width)
    unwrapped = " ".join(text.split())
    for row in made.rows:
        assert all(cell.text in text for cell in row[len(axes) : len(axes) + 5])
        assert all(
            word in unwrapped for cell in row[: len(axes)] for word in cell.text.split() if cell_len(word) < width
        )
    left = re.search(r"left out for want of room: ([^(]*)\(", unwrapped)
    for place, field in enumerate(made.fields[len(axes) + 5 :], len(axes) + 5):
        shown = all(row[place].text in text for row in made.rows)
        assert shown != (left is not None and field.title in left[1])


def test_what_is_left_out_ranks_below_all_that_is_shown() -> None:
    fields = [Field(f"number p{place}", rank=1.0 + place, kept=False) for place in range(12)]
    made = Sheet("", fields, [[Cell("1234567.8 ±9") for _ in fields]])
    left = re.findall(r"number p\d+", " ".join(drawn(made, 40).split()).partition("left out")[2])
    assert left == [field.title for field in fields[-len(left) :]]
    assert 0 < len(left) < len(fields)


def test_a_table_that_is_too_wide_for_its_text_wraps_it() -> None:
    fields = [Field("qdisc", "key"), Field("metric", "name"), Field("a"), Field("verdict", "text")]
    verdict = "perhaps lower by a little, with four repetitions more one would know"
    text = drawn(Sheet("", fields, [[Cell("fq_codel"), Cell("ping p99"), Cell("12.5"), Cell(verdict)]] * 2), 60)
    words = " ".join(text.split())
    assert all(word in words for word in verdict.split())


FOREIGN = 'a|b, "c" & d_e 50 % $x^2 {y} #1 ~z \\w <t> [0, 1] – −3 ±0.1 µs ≥ é ł 値 --x *b* `c` _i_'


def form(name: str) -> str:
    fields = [Field("axis|1", "key"), Field("goodput_x", unit="Mbit/s", spread=True), Field("p", "hidden")]
    rows = [
        [Cell(FOREIGN), Cell("33.2 ±0.1", 33.21, (33.1, 33.3)), Cell("0.5", 0.5)],
        [Cell("line\nfeed"), Cell("–", float("nan")), Cell("", float("nan"))],
    ]
    return markup.WRITERS[name](Sheet("a % title", fields, rows, ["means"]))


def test_csv_has_units_and_both_ends_of_intervals_and_is_read_back_as_it_was() -> None:
    head, first, second = csv.reader(io.StringIO(form("csv")))
    assert head == [
        "axis|1", "goodput_x (Mbit/s)", "goodput_x low (Mbit/s)", "goodput_x high (Mbit/s)", "p"
    ]  # fmt: skip
    assert first == [FOREIGN, "33.21", "33.1", "33.3", "0.5"]
    assert second == ["line\nfeed", "", "", "", ""]


def test_markdown_has_as_many_cells_in_each_line_and_nothing_that_is_marked_up() -> None:
    lines = form("markdown").splitlines()
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [3] * 4
    assert lines[1] == "| :--- | ---: |"
    assert not re.search(r"(?<!\\)[*`<]", lines[2])
    assert "line<br>feed" in lines[3]


def test_latex_has_only_characters_that_any_font_has_and_none_that_means_something() -> None:
    text = form("latex")
    assert text.isascii()
    body = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    line = body.splitlines()[0]
    assert line.endswith(r" \\")
    assert len(re.findall(r"(?<!\\)&", line)) == 1
    assert not re.search(r"(?<!\\)[#%_]", line)
    assert "-{}-x" in line
    assert re.findall(r"(?<!\\)\$", line).__len__() % 2 == 0
    assert text.count(r"\begin") == text.count(r"\end") == 1


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize(
    "title",
    [
        "links[0].driver.airtime_flags", "hosts.fra.sysctl.net.ipv4.tcp_notsent_lowat", "held by the receive window",
        "traffic[0].http", "byte index p50 below the median of 0.5 s",
    ],
)  # fmt: skip
def test_a_heading_breaks_between_words_and_a_path_behind_its_points(title: str, width: int) -> None:
    fields = [Field(title, "key"), Field("goodput", unit="Mbit/s"), Field(title, unit="s")]
    head = drawn(Sheet("", fields, [[Cell("on"), Cell("1", 1.0), Cell("2", 2.0)]]), width)
    for piece in re.split(r"\s+|(?<=\.)(?=[a-z_])", title):
        assert re.search(rf"(?<!\w){re.escape(piece)}", head), (piece, head)


def test_one_module_draws_tables() -> None:
    """But for the live display, and lists of names."""
    importing = {
        file.name
        for file in CLI.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "rich.table"
    }
    assert importing == {"tables.py", "live.py", "show.py"}
    assert show.__file__


WITHOUT_TABLE = {
    "lab", "shell", "search", "plot", "report", "export", "bundle", "explain", "schema", "new", "kernel", "testbed",
}  # fmt: skip
"""Commands that print no table of results; of groups, `list` and `check` take `--table`."""


def test_every_command_that_prints_a_table_prints_it_in_any_form() -> None:
    for name in set(COMMANDS) - WITHOUT_TABLE:
        assert "--table" in in_process(name, "--help").stdout, name
    for words in (["kernel", "list", "--help"], ["testbed", "check", "--help"]):
        assert "--table" in in_process(*words).stdout


def test_a_table_in_a_form_is_alone_on_stdout(file: Path) -> None:
    out = file.parent / "out"
    done = in_process("run", file, "--out", out, "--table", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["cc"], row["tsq"]) for row in rows] == [
        ("cubic", "1ms"), ("cubic", "off"), ("reno", "1ms"), ("reno", "off")
    ]  # fmt: skip
    low, mean, high = (float(rows[0][f"goodput up{end} (Mbit/s)"]) for end in (" low", "", " high"))
    assert low <= mean <= high
    assert "goodput" in done.stderr
    for words in (
        ("compare", out, "cc=cubic", "cc=reno"), ("recommend", out), ("pareto", out), ("sensitivity", out),
        ("list", "cc"), ("check", file), ("run", file, "--out", out, "--dry-run"),
        ("run", file, "--out", out, "--by", "flow"),
    ):  # fmt: skip
        text = in_process(*words, "--table", "csv").stdout
        widths = {len(row) for row in csv.reader(io.StringIO(text))}
        assert len(widths) == 1, words
        assert in_process(*words, "--table", "markdown").stdout.startswith("| ")
        assert r"\toprule" in in_process(*words, "--table", "latex").stdout
    assert "exclude each other" in in_process("list", "cc", "--json", "--table", "csv", status=2).stderr


def test_columns_are_chosen_by_the_names_of_bounds(file: Path) -> None:
    out = file.parent / "out"
    head = in_process("run", file, "--out", out, "--columns", "ping p99, jain", "--table", "csv").stdout.splitlines()[0]
    assert head == "cc,tsq,ping p99 (ms),ping p99 low (ms),ping p99 high (ms),Jain,Jain low,Jain high"
    every = in_process("run", file, "--out", out, "--columns", "all", "--table", "csv").stdout.splitlines()[0]
    assert {"ping p50 (ms)", "power (Mbit/s per ms)", "sojourn time p99 (ms)"} <= set(every.split(","))
    wrong = in_process("run", file, "--out", out, "--columns", "pingg p99", status=2).stderr
    assert "did you mean `ping p99`?" in wrong
    words = ("compare", out, "cc=cubic", "cc=reno", "--columns", "sojourn p99, ping p50", "--table", "csv")
    compared = list(csv.DictReader(io.StringIO(in_process(*words).stdout)))
    assert {row["metric"] for row in compared} == {"sojourn time p99", "ping p50"}
    assert all(float(row["low"]) <= float(row["high"]) for row in compared)
