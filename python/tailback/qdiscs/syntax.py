"""Says how the options of a discipline are written, beyond the table of its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from tailback.qdiscs.discipline import Discipline
from tailback.qdiscs.registry import of
from tailback.tc.rows import Row


def syntax(row: Row) -> str:
    """Choices that are written by their value alone, further keywords, and an example of classes; may be empty."""
    discipline = of(row.name)
    return "\n\n".join([*_alone(row, discipline), *_keywords(discipline), *_tree(discipline)])


def _alone(row: Row, discipline: Discipline) -> Iterator[str]:
    alone = [each for each in row.parameters if each.name in discipline.grammar.without_keyword]
    choices = [each for each in alone if set(each.words) & set(discipline.grammar.forms)]
    if choices:
        names = ", ".join(f"`{each.name}`" for each in choices)
        yield f"Written by their value alone: {names}. Example: {row.name} {choices[0].words[1]}"


def _keywords(discipline: Discipline) -> Iterator[str]:
    keywords = discipline.grammar.keywords
    if keywords:
        width = max(map(len, keywords))
        yield "\n".join(["Further keywords:", *(f"  {name:{width}}  {text}" for name, text in keywords.items())])


def _tree(discipline: Discipline) -> Iterator[str]:
    if discipline.tree:
        lines = discipline.tree.replace("; ", "\n    ")
        yield (
            f"Classes and filters, one on each line or separated by `;`:\n\n    {lines}\n\n"
            "A class is `class NUMBER [parent NUMBER] [OPTIONS] [| DISCIPLINE]`, with a number in hexadecimal.\n"
            "A filter is `filter MATCH flowid NUMBER`, where MATCH is\n"
            "`flow NAME`, `from HOST`, `to HOST`, `dscp WORD` or `all`."
        )
