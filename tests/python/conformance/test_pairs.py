"""Pairs of options that are drawn at random, beside the figures of a kernel."""

from __future__ import annotations

from conformance import pairs
from conformance.kinds.golden import RUN
from conformance.random_pairs import SOCKETS, SYSCTLS


def test_a_case_has_two_options_of_one_kind() -> None:
    for which in range(8):
        names = [option.strip("`").partition(":")[0] for option in pairs.options(f"7.{which}").split(", ")]
        assert len(set(names)) == 2
        assert set(names) <= set(SYSCTLS if which % 2 else SOCKETS)


def test_what_the_kernel_has_measured_is_drawn_again_by_its_seeds() -> None:
    kernel = pairs.read()
    assert not kernel.duplicated(list(RUN)).any()
    found = pairs.batches(kernel)
    assert {str(batch.seed) for batch in found} == set(kernel["file"])
    for batch in found:
        cases = {f"{batch.seed}.{which}" for which in range(batch.number)}
        assert set(kernel[kernel["file"] == str(batch.seed)]["case"]) <= cases


def test_no_cell_of_the_first_pair_of_a_seed_is_off() -> None:
    kernel = pairs.read()
    first = kernel[kernel["case"] == kernel["case"].iloc[0]]
    table = pairs.judged(first, jobs=1)
    assert len(table.judged) > 0
    assert list(pairs.off(table)) == []
    assert pairs.summary(table)[2].startswith("| socket options | 6 |")
