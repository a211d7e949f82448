"""The kernel's own controls beside ours: the module that is made of Reno's functions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import tailback
from conformance.modules import FUNCTIONS, Comparison, agreements, compared, reno_of

CORE = "".join(f"__bpf_kfunc u32 {name}(struct sock *sk)\n{{\n\treturn {name}(sk);\n}}\n\n" for name in FUNCTIONS)


def test_renos_functions_become_a_module_under_names_of_their_own() -> None:
    made = reno_of(f"static int other(void)\n{{\n\treturn 1;\n}}\n\n{CORE}")
    for name in FUNCTIONS:
        assert f"static u32 witness_{name}(struct sock *sk)\n{{\n\treturn witness_{name}(sk);\n}}" in made
    assert "other" not in made


def test_a_tree_without_one_of_them_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"`tcp_cong\.c` has no tcp_slow_start"):
        reno_of(CORE.replace("tcp_slow_start", "tcp_fast_start"))


def test_the_first_difference_is_named_with_its_time_and_both_values() -> None:
    ours = pd.DataFrame({"flow": "one", "t": [1.0, 2.0], "snd_cwnd": [10, 11], "snd_ssthresh": 5, "pacing_rate": 7})
    theirs = ours.assign(snd_cwnd=[10, 12])
    assert compared("loss", ours, ours).difference is None
    assert compared("loss", ours, theirs).difference == "at 2.000000 s: snd_cwnd 11, module 12"


def test_the_headers_of_a_tree_are_for_the_module_alone_and_each_seed_is_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    def run(_experiment: Path, *, settings: list[str], **_more: object) -> SimpleNamespace:
        asked.append(settings)
        samples = pd.DataFrame({"flow": ["one"], "t": 1.0, "snd_cwnd": 10, "snd_ssthresh": 5, "pacing_rate": 7})
        runs = [SimpleNamespace(axes={"path": "loss"}, repetition=seed, table=lambda _name: samples) for seed in (1, 2)]
        return SimpleNamespace(runs=runs)

    monkeypatch.setattr(tailback, "run", run)
    file = tmp_path / "tcp_mine.c"
    found = agreements("bbr3", file, Comparison(settings=["repeat=2"], headers="google"))
    assert asked == [["cc=bbr3", "repeat=2"], [f"cc={{module: {file}}}", "kernel=google", "repeat=2"]]
    assert [one.path for one in found] == ["loss", "loss, repetition 2"]
    assert all(one.difference is None for one in found)
