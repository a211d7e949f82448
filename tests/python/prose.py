"""Rules for sentences of documents and messages, each with an example of what it forbids, and the checks of proselint
that suit technical English: `python tests/python/prose.py`, a part of `make docs`, prints what breaks them.

They are what readers stumbled over. A rule finds a form, not bad style as such: the remedy is to write the sentence
anew, subject, verb, object, in the voice of README.md.
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

WORDS = 45
"""No sentence of a page is longer."""


@dataclass(frozen=True)
class Rule:
    """A form that no sentence has."""

    name: str
    pattern: re.Pattern[str]
    example: str


def _rule(name: str, pattern: str, example: str) -> Rule:
    return Rule(name, re.compile(pattern), example)


VERBS = (
    r"(?:adds|asks|becomes|begins|comes|costs|counts|draws|drops|ends|fills|finds|gets|gives|goes|grows|has|holds|keeps|"
    r"lasts|leaves|loses|makes|means|measures|needs|passes|removes|runs|says|sends|shows|starts|stops|takes|waits|writes)"
)

RULES: Sequence[Rule] = (
    _rule(
        "inversion after `so`",
        r"(?:^|[.:;] )(?:So|so) (?:is|are|was|were|has|have|had|do|does|did|can|may) ",
        "So is which conversations are sampled next",
    ),
    _rule("`that are none`", r"\bthat (?:is|are) none\b", "other commands that are none are answered"),
    _rule("`with those that are`", r"\b(?:those|that) that (?:is|are)(?:[.,;:]|$)", "answered with those that are."),
    _rule("`so` before a verb", rf"(?<!and )(?<!, )\bso {VERBS}\b", "an ACK that overtakes by 10 ms so removes those"),
    _rule("a sentence without a verb", r"\b(?:mechanisms?|chance), (?:mended|cured)\b", "A mechanism, mended."),
    _rule("`mended` is a diary", r"\b(?:mended|cured)\b", "A mechanism, mended."),
    _rule("`in all` at the end", r"\d \w+ in all(?:[.,;:)]|$)", "5 ms each above 24 ms in all"),
    _rule("`N of M not`", r"\b\d+ \w+ of \d+ not\b", "0 conditions of 4 not met."),
    _rule("`of N things M`", r"\bof \d+ \w+ \d+ \w+ (?:it|them)\b", "of 1 settings 1 meet it surely, 0 likely"),
    _rule("`most of every second`", r"\bmost of every\b", "under which most of every second claim hold"),
    _rule(
        "`of X whose Y it`",
        r"\bof (?:the|those) \w+ whose \w+ it \w+",
        "has the direction of the flows whose data it meets",
    ),
    _rule(
        "`that every … again`",
        r"\bthat every \w+ of \w+ \w+ sets again\b",
        "a key that every value of an axis sets again",
    ),
    _rule("`likewise` as a predicate", r"\blikewise\.", "TCP, likewise."),
    _rule("`as it is by`", r"\bbeyond what is\b", "beyond what is said"),
    _rule(
        "diary: `before, it was`",
        r"\bBefore, (?:it|they|there|both|the) (?:was|were|had|took)\b|; before, (?:it|they) had\b",
        "451 Mbit/s; before, it had 368",
    ),
    _rule("diary: `where it had`", r"\bwhere (?:it|they) (?:had|was|were)\b", "451 Mbit/s, where it had 368"),
    _rule(
        "diary: `used to`", r"\b(?:It|They|it|they|simulator|Tailback) used to\b", "It used to probe all modes in turn."
    ),
    _rule(
        "diary: `earlier version`",
        r"\b[Ee]arlier version of (?:the simulator|Tailback)\b",
        "an earlier version of the simulator",
    ),
    _rule(
        "diary: `led to corrections`",
        r"\bled to (?:one|two|three|four|these|some) corrections?\b",
        "led to these corrections",
    ),
    _rule("diary: `a defect of ours`", r"\bdefects? of ours\b", "because of a defect of ours, which is corrected"),
    _rule("diary: `(before: 28)`", r"\(before: ", "(before: 140 s of one process)"),
    _rule("diary: `did so only now`", r"\bonly now\b", "the simulator did so only now"),
)

#: Blocks that are not sentences.
NOT_PROSE = (
    re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL),
    re.compile(r"^    .*$", re.MULTILINE),
    re.compile(r"<!-- table: .*?<!-- end -->", re.DOTALL),
    re.compile(r"^\|.*$", re.MULTILINE),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^#.*$", re.MULTILINE),
)
CODE = re.compile(r"(`+)(?:(?!\n\n).)+?\1", re.DOTALL)
LINK = re.compile(r"!?\[((?:[^][]|\[[^]]*\])*)\]\([^)]*\)")

GENERATED = {"docs/metrics.md", "docs/tables.md", "docs/papers.md", "LICENCES.md"}
"""Pages that a command writes, whose texts are in the code, and the list of dependencies."""


def pages() -> list[Path]:
    """The written pages: Markdown outside of tests, results and the paper for a journal."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    others = re.compile(r"conformance/results/|tests/|crates/\w+/tests/|paper/")
    kept = (line for line in listed.split() if not others.match(line))
    return [ROOT / line for line in kept if line not in GENERATED and (ROOT / line).is_file()]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, without code, tables and links."""
    for block in NOT_PROSE:
        text = block.sub("\n\n", text)
    text = LINK.sub(r"\1", CODE.sub("X", text)).replace("**", "").replace("*", "")
    for paragraph in re.split(r"\n\s*\n|^\s*(?:[-•]|\d+\.) ", text, flags=re.MULTILINE):
        line = " ".join(paragraph.split())
        yield from (part for part in re.split(r"(?<=[.!?:;]) (?=[A-Z(])", line) if part)


LEFT_OUT = (
    "typography", "restricted", "weasel_words", "lexical_illusions", "misc", "spelling", "hedging", "psychology",
)  # fmt: skip
"""Checks of proselint for symbols, which source text writes in ASCII, and for words that are terms here."""


def proselint(texts: Mapping[str, str]) -> Iterator[str]:
    """What proselint finds in the sentences of pages, by name."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings.json"
        settings.write_text(json.dumps({"max_errors": 1000, "checks": dict.fromkeys(LEFT_OUT, False)}), "utf-8")
        for number, text in enumerate(texts.values()):
            (Path(folder) / f"{number}.md").write_text("\n\n".join(sentences(text)), "utf-8")
        command = [sys.executable, "-m", "proselint", "check", "--config", str(settings), "--output-format", "json"]
        files = [f"{number}.md" for number in range(len(texts))]
        done = subprocess.run([*command, *files], cwd=folder, capture_output=True, text=True, check=False)
    names = dict(zip(files, texts, strict=True))
    for file, found in json.loads(done.stdout)["result"].items():
        for each in found["diagnostics"]:
            yield f"{names[Path(file).name]}: {each['check_path']}: {each['message']}"


def broken(sentence: str) -> Iterator[str]:
    """The rules that a sentence breaks."""
    yield from (rule.name for rule in RULES if rule.pattern.search(sentence))


def long(sentence: str) -> bool:
    """Whether a sentence has too many words."""
    return len([word for word in sentence.split() if re.search(r"\w", word)]) > WORDS


def messages() -> Iterator[tuple[str, str]]:
    """The texts in the code that users read: strings of the package and of the crates with more than a word."""
    for file in sorted((ROOT / "python" / "tailback").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield str(file.relative_to(ROOT)), " ".join(node.value.split())
            if isinstance(node, ast.JoinedStr):
                parts = (each.value if isinstance(each, ast.Constant) else "3" for each in node.values)
                yield str(file.relative_to(ROOT)), " ".join("".join(map(str, parts)).split())
    for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        code = file.read_text("utf-8").partition("#[cfg(test)]")[0]
        for line in code.splitlines():
            found = re.findall(r"^\s*//[!/] ?(.*)", line) or re.findall(r'"((?:[^"\\]|\\.)* (?:[^"\\]|\\.)*)"', line)
            yield from ((str(file.relative_to(ROOT)), text) for text in found)


def found_in_pages() -> Iterator[str]:
    """The sentences of pages that break a rule."""
    for page in pages():
        for sentence in sentences(page.read_text(encoding="utf-8")):
            names = [*broken(sentence), *([f"more than {WORDS} words"] if long(sentence) else [])]
            if names:
                yield f"{page.relative_to(ROOT)}: {', '.join(names)}: {sentence}"


def found_in_messages() -> Iterator[str]:
    """The messages that break a rule."""
    for file, text in messages():
        names = list(broken(CODE.sub("X", text)))
        if names:
            yield f"{file}: {', '.join(names)}: {text}"


def main() -> int:
    """Prints the sentences that break a rule."""
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}
    found = [*found_in_pages(), *found_in_messages(), *proselint(texts)]
    print("\n".join(found), end="\n" if found else "")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
