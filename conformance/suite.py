"""A kernel's own packetdrill scripts on that kernel and on its stack: script by script, IPv4 and IPv6.

    python -m conformance.suite FOLDER --stack linux-7.3 --kernel uml:linux-7.3-wifi    # a run of each, and the table
    python -m conformance.suite FOLDER --stack linux-7.3    # beside the kernel's verdicts of before

FOLDER is `tools/testing/selftests/net/packetdrill` of the kernel's source; the scripts are not part of this repository.
The kernel's verdicts are written to `tests/data/drill/STACK.json`, the table to `conformance/results/suite.md`. A guest
has no IPv6: a script is expected to pass over IPv6 if the kernel passes it over IPv4.

Exit status: 1 if the simulator does not pass a script that the kernel passes, but for those that need what is not
modelled: fast open, MPTCP.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.page import RESULTS, rows, write_tables
from tailback import drill

ROOT = Path(__file__).resolve().parents[1]
VERDICTS = ROOT / "tests" / "data" / "drill"
PAGE = RESULTS / "suite.md"
IPV6 = "--ip_version=ipv6\n--mtu=1520\n"
"""What the kernel's runner gives packetdrill for IPv6. [linux-7.3 the runner of its packetdrill selftests]"""
OUT_OF_SCOPE: Mapping[str, re.Pattern[str]] = {
    "fast open": re.compile(r"fastopen|FASTOPEN|\bFO\b|FOEXP|TFO_"),
    "MPTCP": re.compile(r"mp(_capable|_join|tcp)", re.IGNORECASE),
}


@dataclass(frozen=True)
class Row:
    """One script. `needs`: what it needs that is not modelled; `why`: the simulator's first finding."""

    name: str
    needs: str
    kernel: str
    ipv4: str
    ipv6: str
    why: str

    @property
    def is_owed(self) -> bool:
        """The kernel passes it, the simulator does not, and it needs nothing out of scope."""
        return not self.needs and self.kernel == "passed" and {self.ipv4, self.ipv6} - {"passed", "other IP"} != set()


def needs(name: str, text: str) -> str:
    """What a script needs that is not modelled; empty if nothing."""
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    found = (what for what, mark in OUT_OF_SCOPE.items() if mark.search(name) or mark.search(code))
    return next(found, "")


def kernel_verdicts(scripts: Sequence[Path], kernel: str) -> dict[str, str]:
    """The verdicts of a kernel, by the names of the scripts."""
    reports = drill.run_files(scripts, drill.Settings(backend=kernel))
    return {report.file.stem: report.verdict for report in reports}


def simulated(script: Path, stack: str) -> Row:
    """One script on the simulator; the kernel's verdict is not known here."""
    text = script.read_text(encoding="utf-8")
    own = re.findall(r"^--ip_version=(\S+)", text, re.MULTILINE)
    settings = drill.Settings(stack=stack)
    ran = {
        ip: drill.run_text(head + text, script, settings)
        for ip, head in (("ipv4", ""), ("ipv6", IPV6))
        if not own or ip in own
    }
    findings = [str(finding.message) for report in ran.values() for finding in report.findings]
    verdicts = {ip: ran[ip].verdict if ip in ran else "other IP" for ip in ("ipv4", "ipv6")}
    why = findings[0].splitlines()[0] if findings else ""
    return Row(script.stem, needs(script.stem, text), "", verdicts["ipv4"], verdicts["ipv6"], why)


def compared(scripts: Sequence[Path], stack: str, verdicts: Mapping[str, str]) -> list[Row]:
    """Each script on the simulator, beside the kernel's verdict."""
    found = (simulated(script, stack) for script in scripts)
    return [Row(**{**vars(row), "kernel": verdicts.get(row.name, "not run")}) for row in found]


def table(found: Sequence[Row]) -> Iterator[Sequence[str]]:
    """The rows of the documentation: by what scripts need, how many pass where."""
    for need in ["", *OUT_OF_SCOPE]:
        some = [row for row in found if row.needs == need]
        passes = [sum(getattr(row, side) == "passed" for row in some) for side in ("kernel", "ipv4", "ipv6")]
        both = sum(row.kernel == "passed" and not row.is_owed for row in some if not row.needs)
        numbers = [str(len(some)), *map(str, passes), str(both) if not need else "–"]
        yield [f"need {need}" if need else "others", *numbers]


def _line(row: Row) -> str:
    verdicts = f"{row.kernel:12} {row.ipv4:12} {row.ipv6:12}"
    return f"{'OWED' if row.is_owed else '':5} {row.name:60} {row.needs:13} {verdicts} {row.why}"


HEADING = ["scripts", "in all", "kernel", "simulator, IPv4", "simulator, IPv6", "all of those that the kernel passes"]


def main() -> int:
    """Runs the suite, prints what differs, and writes verdicts and table."""
    parser = argparse.ArgumentParser(prog="python -m conformance.suite", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--kernel", help="uml:NAME: runs the scripts on this kernel, too, and keeps its verdicts")
    options = parser.parse_args()
    scripts = sorted(options.folder.glob("*.pkt"))
    file = VERDICTS / f"{options.stack}.json"
    if options.kernel:
        verdicts = kernel_verdicts(scripts, options.kernel)
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(verdicts, indent=1) + "\n", encoding="utf-8")
    found = compared(scripts, options.stack, json.loads(file.read_text(encoding="utf-8")))
    for row in found:
        if row.kernel == "passed" or "passed" in (row.ipv4, row.ipv6):
            print(_line(row))
    command = f"python -m conformance.suite FOLDER --stack {options.stack}"
    write_tables({f"suite {options.stack}": rows(HEADING, table(found))}, PAGE, command)
    return int(any(row.is_owed for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
