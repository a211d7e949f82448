"""Golden tables: the recorded results of small experiments as text, compared to the digit (tests/golden/README.md).

`python tests/python/golden_tables.py` writes them again, and the resolved scenarios of `tests/golden/runs`.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tailback
from tailback import scenario
from tailback.resolved import to_json

FOLDER = Path(__file__).parents[1] / "golden"
EXPERIMENTS = sorted(FOLDER.glob("*.yaml"))
RUNS = sorted((FOLDER / "runs").glob("*.yaml"))
"""Their tables are compared by `cargo test --package tailback-world --test golden`."""

Summary = Mapping[str, Any]
Cell = Callable[[Summary], str]

ABSENT = "–"
"""A number that a run does not have."""


def table_of(experiment: Path) -> str:
    """Runs `experiment`; one line per run, the unit of each column below its name."""
    with tempfile.TemporaryDirectory() as folder:
        results = tailback.run(experiment, out=Path(folder) / "out")
    rows = [[*run.axes.values(), *(cell(run.summary) for _, _, cell in COLUMNS)] for run in results.runs]
    names = [*results.axes, *(name for name, _, _ in COLUMNS)]
    units = [*("" for _ in results.axes), *(unit for _, unit, _ in COLUMNS)]
    return _aligned([names, units, *rows], left=len(results.axes))


def runs_of(experiment: Path) -> str:
    """The labels and the resolved scenario of each run of `experiment`, a line of JSON each."""
    lines = (
        {"run": " ".join(f"{axis}={label}" for axis, label in run.axes.items()), "scenario": to_json(run.scenario)}
        for run in scenario.load(experiment).runs()
    )
    return "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)


def golden_of(experiment: Path) -> Path:
    """The file of the table of `experiment`."""
    return experiment.with_suffix(".txt")


def _aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _number(*keys: str) -> Cell:
    def cell(summary: Summary) -> str:
        value: Any = summary
        for key in keys:
            if key not in value:
                return ABSENT
            value = value[key]
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    return cell


def _cwnd(extreme: Callable[[Sequence[float]], float]) -> Cell:
    """The smallest or the largest of the median windows of the flows."""

    def cell(summary: Summary) -> str:
        flows = summary.get("cwnd_segments")
        return f"{extreme([flow['p50'] for flow in flows.values()]):.1f}" if flows else ABSENT

    return cell


def _drops(summary: Summary) -> str:
    """By device and reason, without blanks."""
    drops = summary["drops"]
    counted = [f"{device}:{reason}={n}" for device, reasons in drops.items() for reason, n in reasons.items()]
    return ",".join(counted).replace(" ", "") or "0"


COLUMNS: Sequence[tuple[str, str, Cell]] = (
    ("goodput_up", "Mbit/s", _number("goodput_mbps", "up")),
    ("goodput_down", "Mbit/s", _number("goodput_mbps", "down")),
    *((f"ping_{share}", "ms", _number("ping_ms", share)) for share in ("p10", "p50", "p90")),
    *((f"rtt_{share}", "ms", _number("tcp_rtt_ms", share)) for share in ("p10", "p50", "p90")),
    ("cwnd_least", "segments", _cwnd(min)),
    ("cwnd_most", "segments", _cwnd(max)),
    ("jain", "", _number("jain")),
    ("retransmits", "segments", _number("retransmits")),
    ("marks", "packets", _number("marks")),
    ("events", "", _number("cost", "events")),
    ("handovers", "packets", _number("cost", "packets")),
    ("drops", "packets", _drops),
)
"""Name, unit, and what of a summary is shown. The last two numbers before the drops are those of the whole run."""


def main() -> None:
    """Writes all tables and scenarios, and prints which ones changed."""
    for experiment in EXPERIMENTS:
        _write(golden_of(experiment), table_of(experiment))
    for experiment in RUNS:
        _write(experiment.with_suffix(".jsonl"), runs_of(experiment))


def _write(golden: Path, text: str) -> None:
    same = golden.is_file() and golden.read_text(encoding="utf-8") == text
    golden.write_text(text, encoding="utf-8")
    print(f"{golden.relative_to(FOLDER.parents[1])}: {'as before' if same else 'changed'}")


if __name__ == "__main__":
    main()
