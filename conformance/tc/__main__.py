"""Compares our reading of `tc`'s syntax with a real `tc` on a real kernel.

python -m conformance.tc             # the differences to the answers in `tests/data/tc`
python -m conformance.tc --measure   # runs `tc` in a guest of the uml backend, and writes its answers
python -m conformance.tc --string "fq_codel limit 180"     # one string, with the answer of `tc` in a guest
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
    parser.add_argument("--measure", action="store_true", help="run `tc` in a guest")
    parser.add_argument("--string", metavar="WORDS", help="one string")
    options = parser.parse_args()
    if options.string:
        _show_one(options.string)
        return
    if options.measure:
        golden.write(answers(strings()))
    rows = golden.rows()
    unlike = {row.text: found for row in rows if (found := differences(row)) and row.text not in APART}
    for text, found in unlike.items():
        print(f"{text}: {'; '.join(found)}")
    alike = len(rows) - len(unlike) - len(APART)
    print(f"{len(rows)} strings: {alike} as in `tc`, {len(APART)} known differences, {len(unlike)} other differences")
    raise SystemExit(1 if unlike else 0)


def _show_one(text: str) -> None:
    (answer,) = answers([text])
    print(f"tc: status {answer.status} {answer.output}")
    print(answer.discipline or "", *answer.classes, sep="\n")
    row = golden.Row(text, answer.status, (answer.discipline or {}).get("options", {}), tuple(answer.classes))
    print("ours:", "; ".join(differences(row)) or "the same")


if __name__ == "__main__":
    main()
