"""Holds our grammar against a real `tc` on a real kernel.

python -m conformance.tc             # what `tests/data/tc` keeps: the differences that are left
python -m conformance.tc --measure   # asks `tc` anew in one guest of the uml backend, and keeps what it says
python -m conformance.tc --string "fq_codel limit 180"     # one string: ours, and in a guest `tc`'s
"""

from __future__ import annotations

import argparse

from conformance.tc import golden
from conformance.tc.compare import differences
from conformance.tc.guest import answers
from conformance.tc.known import APART
from conformance.tc.strings import strings


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.tc", description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="ask `tc` anew, in a guest")
    parser.add_argument("--string", metavar="WORDS", help="one string")
    asked = parser.parse_args()
    if asked.string:
        _show_one(asked.string)
        return
    if asked.measure:
        golden.write(answers(strings()))
    rows = golden.rows()
    unlike = {row.text: found for row in rows if (found := differences(row)) and row.text not in APART}
    for text, found in unlike.items():
        print(f"{text}: {'; '.join(found)}")
    alike = len(rows) - len(unlike) - len(APART)
    print(f"{len(rows)} strings: {alike} as `tc` has them, {len(APART)} apart for a reason, {len(unlike)} unlike")
    raise SystemExit(1 if unlike else 0)


def _show_one(text: str) -> None:
    (answer,) = answers([text])
    print(f"tc: status {answer.status} {answer.said}")
    print(answer.discipline or "", *answer.classes, sep="\n")
    row = golden.Row(text, answer.status, (answer.discipline or {}).get("options", {}), tuple(answer.classes))
    print("ours:", "; ".join(differences(row)) or "the same")


if __name__ == "__main__":
    main()
