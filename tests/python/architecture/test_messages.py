"""No message for users has the form in which Rust prints its own values: `Number(200000) is not ...`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]

FORMAT = re.compile(r"\{[a-z_.]*:#?\?\}")

#: Text in quotes and plain numbers, names of variants that are meant, and what only a developer reads.
MEANT = {
    ("agent/src/guard.rs", "value"), ("agent/src/network.rs", "value"), ("agent/src/serve.rs", "value"),
    ("module/src/file.rs", "name"), ("air/src/message.rs", "kind"), ("air/src/source.rs", "answer"),
    ("air/src/line.rs", "bytes"), ("bench/src/bin/run-scenario.rs", ""), ("bench/src/bin/compare-scenarios.rs", "cost"),
}  # fmt: skip


def test_values_in_messages_are_written_for_people() -> None:
    found = set()
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        name = str(path.relative_to(ROOT / "crates"))
        if "test" in name or name.startswith("tcp/src/stack"):
            # The names of variants are the values of stacks.toml.
            continue
        code = path.read_text("utf-8").partition("#[cfg(test)]")[0]
        for line in code.splitlines():
            if line.lstrip().startswith("//") or "assert" in line or "panic!" in line:
                continue
            found |= {(name, match[0][1:].partition(":")[0]) for match in FORMAT.finditer(line)}
    assert found <= MEANT
