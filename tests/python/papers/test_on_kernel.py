"""Figures of a paper on a kernel beside the simulator: same conditions, same claims, a table of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.hand_made import HandMade, results, run
from tailback import scenario
from tailback.backends.uml import suitable
from tailback.kernel import Kernel
from tailback.kernel.cache import Manifest
from tailback.papers import UnknownPaper, Wanted, beside, kernel_document, load_paper, papers, score
from tailback.papers.figures import DRAWINGS
from tailback.papers.on_kernel import configurations, folder_of, in_words
from tailback.papers.reproduction import experiment_file, variables_of
from tailback.results import Results
from tailback.sweep import Silent

TON22 = load_paper("ton22")
ON_KERNEL = [name for name in papers() if load_paper(name).kernel is not None]
SLOW = ("bbr", "nv", "cubic")


class Whole(Kernel):
    """A kernel with every feature."""

    def has(self, _symbol: str) -> bool:
        return True


def upload(cc: str, goodput: float, repetition: int = 1) -> HandMade:
    summary = {"goodput_mbps": {"total": goodput}, "ping_ms": {"p50": 2.0}, "tcp_rtt_ms": {"p50": 2.0}}
    return run({"cc": cc, "tsq": "1ms"}, summary, repetition)


def uploads(goodput: float) -> Results:
    return results(*(upload(cc, goodput + number, number) for cc in SLOW for number in (1, 2)))


@pytest.mark.parametrize("name", ON_KERNEL)
def test_the_experiments_that_run_on_a_kernel_are_those_of_figures(name: str) -> None:
    kernel = load_paper(name).kernel
    assert kernel is not None
    drawn = {experiment for one in DRAWINGS[name] for experiment in one.experiments}
    assert set(kernel.settings) <= drawn
    for experiment in kernel.settings:
        there = variables_of(experiment_file(name, experiment))
        # The kernel of the paper itself needs nothing in place of its conditions.
        assert not kernel.let or set(there) & set(kernel.let)


@pytest.mark.parametrize("name", ON_KERNEL)
def test_a_kernel_refuses_nothing_of_what_is_there_instead_of_the_testbed(name: str) -> None:
    ours = load_paper(name).kernel
    assert ours is not None
    kernel = Whole(Path(), Manifest("wifi", "d", f"{ours.version}.1", "linux-source-6.12", "gcc", "2026", 1.0))
    for experiment, settings in ours.settings.items():
        file = experiment_file(name, experiment)
        let = [f"let.{variable}={value}" for variable, value in ours.let.items() if variable in variables_of(file)]
        for planned in scenario.load(file, [*settings, *let]).runs():
            suitable.check(planned.scenario, kernel)


def test_a_claim_leaves_out_the_control_that_no_kernel_has() -> None:
    claims = [claim for claim in TON22.claims if claim.id == "ton22-f5a-low"]
    (whole,) = score(TON22, claims, {"tsq": uploads(50.0)})
    assert whole.status == "skipped"
    (row,) = score(TON22, claims, {"tsq": uploads(50.0)}, frozenset({"bbr2"}))
    assert row.status == "pass"
    assert {sample.case for sample in row.samples} == set(SLOW)


def test_a_control_that_should_be_there_and_is_not_makes_a_claim_unmeasured() -> None:
    claims = [claim for claim in TON22.claims if claim.id == "ton22-f5a-low"]
    without = results(upload("bbr", 50.0), upload("nv", 50.0))
    (row,) = score(TON22, claims, {"tsq": without}, frozenset({"bbr2"}))
    assert row.status == "skipped"


def test_a_claim_has_a_table_with_a_row_for_each_quantity_and_a_column_for_each_side() -> None:
    claims = [claim for claim in TON22.claims if claim.id == "ton22-f5a-low"]
    left_out = frozenset({"bbr2"})
    (there,), (here,) = (score(TON22, claims, {"tsq": uploads(goodput)}, left_out) for goodput in (50.0, 90.0))
    says, _, goodput, ping, *_ = kernel_document.claims([(there, here)])
    assert says.startswith("**`f5a-low` holds on the simulator, does not hold on the kernel:** with ath9k ")
    within, outside = (f"*{{}}:* {words}" for words in ("51.5 ± 6.4 Mbit/s", "91.5 ± 6.4 Mbit/s (!)"))
    sides = ["<br>".join(map(words.format, SLOW)) for words in (within, outside)]
    assert goodput == f"| goodput | 30 … 80 Mbit/s | {' | '.join(sides)} |"
    assert ping.startswith("| ping | 1.2 … 3.2 ms | *bbr:* 2 ms<br>")
    assert next(kernel_document.claims([(here, here)])).startswith("**`f5a-low` holds on neither side:** ")


def test_the_committed_page_has_the_tables_of_today() -> None:
    page = kernel_document.PAGE.read_text(encoding="utf-8")
    assert page.startswith(kernel_document.INTRODUCTION)
    claims = [claim for name in ON_KERNEL for claim in load_paper(name).claims]
    said = [claim for claim in claims if f":** {claim.says}. *Measured:* {claim.measure}.\n\n" in page]
    assert len(said) == page.count("| quantity | expected | simulator | kernel |\n|---|---|---|---|\n") == 12
    for claim in said:
        assert all(f"\n| {quantity} | {bound} | " in page for quantity, bound in claim.expected.items())


def test_both_sides_of_a_configuration_are_means_over_its_repetitions() -> None:
    rows = list(configurations(uploads(50.0), uploads(60.0)))
    assert [row.axes["cc"] for row in rows] == list(SLOW)
    simulator, kernel = rows[0].figures["Goodput (Mbit/s)"]
    assert (in_words(simulator), in_words(kernel)) == ("51.5 ± 6.4", "61.5 ± 6.4")
    assert "Aggregate (MPDUs)" not in rows[0].figures


def test_the_sides_have_folders_of_their_own() -> None:
    wanted = Wanted("ton22", out=Path("results"), backend="uml:wifi")
    assert folder_of(wanted, "sim") == Path("results/kernel/sim")
    assert folder_of(wanted, wanted.backend) == Path("results/kernel/uml-wifi")


def test_a_paper_without_conditions_for_a_kernel_says_which_papers_have_some(tmp_path: Path) -> None:
    with pytest.raises(UnknownPaper, match="does not say what a real kernel has in place of its testbed"):
        beside(Wanted("wlan18", out=tmp_path, backend="uml:wifi"), Silent())


def test_a_figure_that_does_not_run_on_a_kernel_names_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(UnknownPaper, match="there is `4`, `4e`, `5a`, `7`, `8`"):
        beside(Wanted("ton22", "9", out=tmp_path, backend="uml:wifi"), Silent())
