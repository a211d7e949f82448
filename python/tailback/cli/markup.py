"""Tables for other programs: CSV, Markdown as GitHub reads it, LaTeX with booktabs."""

import csv
import io
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tailback import plain
from tailback.cli.sheets import Cell, Field, Sheet


def to_csv(sheet: Sheet) -> str:
    """A line of headings with units, then the rows. A number with an interval has three columns: `goodput (Mbit/s)`,
    `goodput low (Mbit/s)`, `goodput high (Mbit/s)`. What is not known is empty.
    """
    written = io.StringIO()
    out = csv.writer(written, lineterminator="\n")
    out.writerow([heading for field in sheet.fields for heading in _csv_headings(field)])
    for row in sheet.rows:
        pairs = zip(sheet.fields, row, strict=True)
        out.writerow([value for field, cell in pairs for value in _csv_values(field, cell)])
    return written.getvalue().rstrip("\n")


def _csv_headings(field: Field) -> list[str]:
    unit = f" ({field.unit})" if field.unit else ""
    return [f"{field.title}{end}{unit}" for end in (("", " low", " high") if field.spread else ("",))]


def _csv_values(field: Field, cell: Cell) -> list[str]:
    return [_csv_value(cell), *map(_csv_number, cell.ends)] if field.spread else [_csv_value(cell)]


def _csv_value(cell: Cell) -> str:
    if isinstance(cell.value, float | int):
        return _csv_number(cell.value)
    return plain.visible(cell.text if cell.value is None else cell.value)


def _csv_number(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def to_markdown(sheet: Sheet) -> str:
    """A table with a line of alignments."""
    fields, rows = _seen(sheet)
    lines = [
        [_markdown(field.heading) for field in fields],
        ["---:" if field.role == "number" else ":---" for field in fields],
        *([_markdown(cell.text) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _seen(sheet: Sheet) -> tuple[list[Field], list[list[Cell]]]:
    """The columns for readers, and their cells."""
    seen = [place for place, field in enumerate(sheet.fields) if field.role != "hidden"]
    return [sheet.fields[place] for place in seen], [[row[place] for place in seen] for row in sheet.rows]


def _markdown(text: str) -> str:
    """Text of a cell without meaning for Markdown: `fq_codel` needs no escape, `*` and `|` do."""
    escaped = re.sub(r"([\\|`*<~$]|(?<!\w)_|_(?!\w)|(?<=\])\()", r"\\\1", plain.visible(text))
    return escaped.replace("\n", "<br>")


def to_latex(sheet: Sheet) -> str:
    """A `tabular` with the lines of booktabs."""
    fields, rows = _seen(sheet)
    columns = "".join("r" if field.role == "number" else "l" for field in fields)
    return "\n".join(
        [
            *(f"% {' '.join(plain.visible(text).split())}" for text in filter(None, [sheet.title, *sheet.said()])),
            r"% \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            _latex_line([field.heading for field in fields]),
            r"\midrule",
            *(_latex_line([cell.text for cell in row]) for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _latex_line(texts: Sequence[str]) -> str:
    return " & ".join(map(_latex, texts)) + r" \\"


LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "\n": " ", "\u2060": "{}",
    "±": r"$\pm$", "−": "$-$", "–": "--", "—": "---", "…": r"\ldots{}", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\rightarrow$", "∞": r"$\infty$", "µ": r"$\mu$",
    "μ": r"$\mu$", "°": r"$^\circ$", "•": r"$\bullet$", "√": r"$\surd$", "’": "'", "‘": "`", "“": "``", "”": "''",
    "²": "$^2$", "³": "$^3$", "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "σ": r"$\sigma$", "Δ": r"$\Delta$",
    "\u00a0": "~", "\u202f": r"\,",
}  # fmt: skip
"""Characters that LaTeX reads otherwise, or does not know. A bracket at the beginning of a line would be an option
of the line before it.
"""

ACCENTS: Mapping[str, str] = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030a": "r", "\u030c": "v",
    "\u0327": "c", "\u0304": "=", "\u0306": "u", "\u0307": ".", "\u030b": "H",
}  # fmt: skip
LETTERS: Mapping[str, str] = {"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}"}


def _latex(text: str) -> str:
    """Text that every LaTeX compiles; a character that none of its fonts has becomes `?`."""
    apart = re.sub(r"(?<=-)-", "\u2060-", plain.visible(text))  # two hyphens would become a dash
    return "".join(map(_latex_character, apart))


def _latex_character(character: str) -> str:
    known = LATEX.get(character) or LETTERS.get(character)
    if known is not None:
        return known
    if character.isascii():
        return character
    letter, *marks = list(unicodedata.normalize("NFD", character))
    if letter.isascii() and len(marks) == 1 and marks[0] in ACCENTS:
        return rf"\{ACCENTS[marks[0]]}{{{letter}}}"
    compatible = unicodedata.normalize("NFKD", character)
    return "".join(LATEX.get(each, each) for each in compatible) if compatible.isascii() else "?"


WRITERS: Mapping[str, Callable[[Sheet], str]] = {"csv": to_csv, "markdown": to_markdown, "latex": to_latex}
"""By the name of the form in `--table`."""
