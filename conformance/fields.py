"""How the value of each field of a stack is known: scripts of conformance/drill on the kernels, and on their stacks.

    python -m conformance.fields                    # what tells each field; exit status 1 if a stack differs
    python -m conformance.fields --measure          # runs all scripts on the kernels first, and keeps their verdicts
    python -m conformance.fields --measure 6.1      # on one of them
    python -m conformance.fields --search           # minutes: scripts that tell fields, into references/stacks.toml
    python -m conformance.fields --write            # the tables of conformance/results/fields.md

A script measures a field of a kernel if the kernel does what its stack does, and if the stack with any other value of
this field does something else: it fails at another line, or not at all. What a SYN offers (MSS, window scale) is
compared only in the scripts of `stacks/`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conformance.page import RESULTS, ROOT, rows, write_tables
from tailback import drill
from tailback.scenario.stacks import Difference, differences, stacks

SCRIPTS = ROOT / "conformance" / "drill"
VERDICTS = ROOT / "tests" / "data" / "drill" / "fields.json"
FILE = ROOT / "references" / "stacks.toml"
PAGE = RESULTS / "fields.md"

KERNELS: Mapping[str, str] = {
    "linux-5.10.262": "linux-5.10",
    "linux-6.1": "linux-6.1",
    "linux-6.12": "stock",
    "linux-7.3": "linux-7.3-wifi",
}
"""The measured stacks, each with the name of its kernel."""

OFFER = re.compile(r"^(?P<segment>.*> (?:\[\w+\] )?S[EW.]*\s.*)<mss[^>]*>", re.MULTILINE)
"""The options of a SYN that the TCP sends."""

OTHERS: Mapping[str, str] = {
    "red_timer": "a discipline, which packetdrill cannot see: `red adaptive` of `python -m conformance.kinds` on 6.12",
    "airtime_queue_limit": "Wi-Fi",
    "airtime_queue_limit_of_categories": "Wi-Fi",
    "code_points": "Wi-Fi",
    "codel_of_slow_stations": "Wi-Fi",
    "wifi_small_queue": "Wi-Fi",
    "txhash": "a hash, which IPv4 does not carry",
    "counting_recovery": "a setting that Tailback refuses",
}
"""Fields that no script can tell, and why."""

TUN = "before 6.12 a TUN device gives a packet of 20 kB a buffer of 32 KiB, which the simulator's does not"
AT_ONCE = "calls take no time at all in this guest: an ACK is not late by a µs"
KNOWN: Mapping[tuple[str, str], str] = {
    ("full-buffer-drop", "linux-5.10.262"): TUN,
    ("full-buffer-drop", "linux-6.1"): TUN,
    ("quick-ack-ends", "linux-5.10.262"): TUN,
    ("quick-ack-ends", "linux-6.1"): TUN,
    ("deferral-one-millisecond", "linux-5.10.262"): AT_ONCE,
    ("deferral-one-millisecond", "linux-7.3"): AT_ONCE,
    (
        "stacks/large-scale",
        "linux-7.3",
    ): "the guest has 2 GB of memory, by which a kernel bounds `net.ipv4.tcp_rmem[2]`",
}
"""Scripts that end on a kernel otherwise than on its stack, and why, as far as we know."""

Verdicts = Mapping[str, Mapping[str, str]]
"""By stack and script: `passed`, or what it ended with and the line."""


@dataclass(frozen=True)
class Known:
    """What is known of a field: a script that tells its value, by stack."""

    field: Difference
    by: Mapping[str, str]


def scripts() -> list[Path]:
    """All scripts that may tell something."""
    return sorted([*SCRIPTS.glob("*.pkt"), *SCRIPTS.glob("stacks/*.pkt")])


def text_of(script: Path) -> str:
    """A script without what SYNs offer; those of `stacks/` say what they mean."""
    text = script.read_text(encoding="utf-8")
    return text if script.parent.name == "stacks" else OFFER.sub(r"\g<segment><...>", text)


def ended(report: drill.Report) -> str:
    """How a script ended, in words that a kernel and the simulator share."""
    return f"{report.verdict} at {report.findings[0].line}" if report.findings else report.verdict


@cache
def simulated(script: Path, stack: str) -> str:
    """How a script ends on a stack of the simulator, or on one with a field of another."""
    return ended(drill.run_text(text_of(script), script, drill.Settings(stack=stack)))


def on_kernel(kernel: str, chosen: Sequence[Path]) -> dict[str, str]:
    """How scripts end on a kernel."""
    settings = drill.Settings(backend=f"uml:{kernel}")
    return {name_of(script): ended(drill.run_text(text_of(script), script, settings)) for script in chosen}


def name_of(script: Path) -> str:
    return script.relative_to(ROOT).as_posix()


def short(script: Path) -> str:
    """Its name within the folder of scripts."""
    return script.relative_to(SCRIPTS).with_suffix("").as_posix()


def donors(field: Difference, stack: str) -> list[str]:
    """For each other value of a field, a stack that has it."""
    own = {each.name: each.values[field.key] for each in stacks()}
    return list({value: name for name, value in own.items() if value != own[stack]}.values())


def tells(script: Path, field: Difference, stack: str) -> bool:
    """Whether the script ends otherwise with each other value of the field."""
    mine = simulated(script, stack)
    return all(simulated(script, f"{stack} with {field.key} of {other}") != mine for other in donors(field, stack))


def agreeing(verdicts: Verdicts, stack: str) -> list[Path]:
    """The scripts that end on the kernel as on its stack."""
    found = verdicts.get(stack, {})
    return [script for script in scripts() if found.get(name_of(script)) == simulated(script, stack)]


def candidates(field: Difference) -> list[Path]:
    """The scripts that may tell a field, the likeliest first: those that its evidence names, those of `stacks/`, and
    those that the evidence of others names.
    """
    named = [ROOT / run for each in (field, *differences()) for run in each.evidence.measured.values()]
    own = named[: len(field.evidence.measured)]
    of_stacks = sorted(SCRIPTS.glob("stacks/*.pkt"))
    return [each for each in dict.fromkeys([*own, *of_stacks, *named]) if each.suffix == ".pkt"]


def known(verdicts: Verdicts) -> list[Known]:
    """What the scripts tell of each field: the first one that does, by stack."""
    of_stack = {stack: set(agreeing(verdicts, stack)) for stack in KERNELS}
    found = []
    for field in differences():
        if field.key in OTHERS:
            continue
        some = candidates(field)
        by = {
            stack: next((name_of(each) for each in some if each in of_stack[stack] and tells(each, field, stack)), "")
            for stack in KERNELS
        }
        found.append(Known(field, {stack: name for stack, name in by.items() if name}))
    return found


def differing(verdicts: Verdicts) -> Iterator[tuple[str, str, str, str]]:
    """Scripts that end on a kernel otherwise than on its stack: script, stack, and both ends."""
    for stack, found in verdicts.items():
        for script in scripts():
            kernel, here = found.get(name_of(script), ""), simulated(script, stack)
            if kernel and kernel != here and (short(script), stack) not in KNOWN:
                yield name_of(script), stack, kernel, here


def read_verdicts() -> dict[str, dict[str, str]]:
    """The verdicts of the kernels."""
    return json.loads(VERDICTS.read_text(encoding="utf-8")) if VERDICTS.exists() else {}


def with_evidence(text: str, found: Sequence[Known]) -> str:
    """`references/stacks.toml` with the scripts that were found; one that stands there and still tells is kept."""
    for each in found:
        head, mark, rest = text.partition(f"[differences.{each.field.key}]\n")
        line = re.search(r"^evidence = .*$", rest, re.MULTILINE)
        if not mark or line is None:
            raise SystemExit(f"{FILE}: no evidence of {each.field.key}")
        text = head + mark + rest[: line.start()] + evidence(each) + rest[line.end() :]
    return text


def evidence(each: Known) -> str:
    """The line of one field."""
    old = each.field.evidence
    kept = {stack: run for stack, run in old.measured.items() if not run.startswith("conformance/drill/")}
    measured = {stack: run for stack in reversed(list(KERNELS)) if (run := each.by.get(stack) or kept.get(stack))}
    order = ["linux-7.3", "linux-6.12", "linux-6.1", "linux-5.10.262", "linux-5.10"]
    wanted = {*KERNELS, "linux-5.10"} - measured.keys() - ({"linux-5.10.262"} if same_as_early(each.field) else set())
    parts = []
    if measured:
        parts.append("measured = {" + ", ".join(f'"{stack}" = "{run}"' for stack, run in measured.items()) + "}")
    parts.append("read = [" + ", ".join(f'"{stack}"' for stack in order if stack in wanted) + "]")
    return "evidence = {" + ", ".join(parts) + "}"


def same_as_early(field: Difference) -> bool:
    """Whether both stacks of 5.10 have one value: what was read of the first then holds for the second."""
    values = {each.name: each.values[field.key] for each in stacks()}
    return values["linux-5.10"] == values["linux-5.10.262"]


def table() -> list[str]:
    """A row per field: how its value is known, by kernel."""
    body = [[f"`{each.key}`", *(_cell(each, stack) for stack in KERNELS)] for each in differences()]
    return rows(["field", *(stack.removeprefix("linux-") for stack in KERNELS)], body)


def _cell(field: Difference, stack: str) -> str:
    if field.key in OTHERS:
        return "–"
    run = field.evidence.measured.get(stack)
    return f"`{Path(run).stem}`" if run else "read"


def counts(verdicts: Verdicts) -> list[str]:
    """A row per kernel: how many scripts end as on its stack."""
    body = []
    for stack, kernel in KERNELS.items():
        known = sum(of == stack for _, of in KNOWN)
        number = len(verdicts.get(stack, {}))
        body.append([f"`{stack}`", f"`uml:{kernel}`", str(number), str(number - known), str(known)])
    return rows(["stack", "kernel", "scripts", "end as on the kernel", "known differences"], body)


def explained() -> list[str]:
    """A row per script and kernel that differ for a reason of their own."""
    body = [[f"`{script}`", stack.removeprefix("linux-"), why] for (script, stack), why in KNOWN.items()]
    unseen = [[f"`{name}`", "all", f"no script can tell it: {why}"] for name, why in OTHERS.items()]
    return rows(["script or field", "version", "why"], [*body, *unseen])


def main() -> int:
    """Runs, prints and writes."""
    parser = argparse.ArgumentParser(prog="python -m conformance.fields", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", nargs="*", metavar="VERSION", help="run the scripts on all kernels, or on these")
    parser.add_argument("--search", action="store_true", help="look for scripts that tell fields, into stacks.toml")
    parser.add_argument("--write", action="store_true", help="write the tables")
    options = parser.parse_args()
    verdicts = read_verdicts()
    if options.measure is not None:
        for stack, kernel in KERNELS.items():
            if not options.measure or stack.removeprefix("linux-") in options.measure:
                verdicts[stack] = on_kernel(kernel, scripts())
                VERDICTS.write_text(json.dumps(verdicts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    wrong = list(differing(verdicts))
    for script, stack, there, here in wrong:
        print(f"DIFFERS {script} on {stack}: the kernel {there}, here {here}")
    if options.search:
        FILE.write_text(with_evidence(FILE.read_text(encoding="utf-8"), known(verdicts)), encoding="utf-8")
        print("build the extension anew: it has the evidence")
    print("\n".join(table()))
    if options.write:
        tables = {"fields": table(), "kernels": counts(verdicts), "explained": explained()}
        write_tables(tables, PAGE, "python -m conformance.fields --write")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
