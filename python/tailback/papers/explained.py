"""What is known of a paper's testbed and of its score, as text for `tailback explain`."""

from collections.abc import Iterator

from tailback.papers.claims import Paper, load_paper
from tailback.papers.standing import standing


def explained(name: str) -> str:
    """The stated conditions with their sections, the choices where the paper is silent, and the score."""
    paper = load_paper(name)
    return "\n".join(_lines(paper))


def _lines(paper: Paper) -> Iterator[str]:
    testbed = paper.testbed
    yield "Stated by the paper:"
    for fact in testbed.stated:
        yield f"- {fact.name} [{fact.section}]: {fact.what}" + (f" (here: {fact.nearest})" if fact.nearest else "")
    yield "\nChosen where it is silent:"
    yield from (f"- {choice.name}: {choice.what} (silent: {choice.silent})" for choice in testbed.chosen)
    if testbed.disagrees:
        yield "\nWhere it contradicts itself:"
        yield from (f"- [{one.section}] {one.what}" for one in testbed.disagrees)
    if testbed.what_if is not None:
        yield "\nAgainst the paper, in `--conditions what-if` alone:"
        yield from (f"- {one.name} (contradicts `{one.contradicts}`): {one.what}" for one in testbed.against)
    score = standing(paper.paper)
    if score is not None:
        yield f"\nScore: {score.in_one_line}."
        yield f"Misses: {', '.join(score.misses) or 'none'}."
        if score.not_reproduced:
            yield f"Of these in range without the mechanism of the paper: {', '.join(score.not_reproduced)}."
    yield f"\nReproduce: tailback reproduce {paper.paper} --quick"
