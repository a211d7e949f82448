"""The code of scripts: what it may do, and that it always ends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailback.drill.code import CodeFailed, CodeUnsupported, Evaluation


def evaluated(code: str, **variables: int) -> Evaluation:
    evaluation = Evaluation()
    evaluation.run(code, 10, variables)
    return evaluation


@pytest.mark.parametrize(
    "code",
    [
        "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
        "assert 5 < tcpi_snd_cwnd <= 10 and not tcpi_lost",
        "cwnd = 9; cwnd += 1; assert tcpi_snd_cwnd == cwnd, 'cwnd=%d' % tcpi_snd_cwnd",
        "for step in range(3):\n  assert step < tcpi_snd_cwnd, f'{step}'",
        "a, b = 1, 2\nassert (a, b) == (1, 2) and max(a, b) == 2 and [a, b][1] == b",
        "assert abs(tcpi_snd_cwnd - 9) <= 1 if tcpi_snd_cwnd else False",
        "i = 0\nwhile i < 3:\n  i += 1\nassert i == 3",
        "# only a remark",
    ],
)
def test_what_scripts_reckon_with_is_there(code: str) -> None:
    evaluated(code, tcpi_snd_cwnd=10, tcpi_lost=0)


def test_an_assertion_that_does_not_hold_is_told_with_its_line_and_value() -> None:
    with pytest.raises(CodeFailed) as failed:
        evaluated("\nassert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", tcpi_snd_cwnd=7)
    assert (failed.value.line, failed.value.message) == (11, "assertion failed: tcpi_snd_cwnd == 10: 7")


def test_what_is_printed_is_kept() -> None:
    assert evaluated("print(tcpi_snd_cwnd, 'segments')", tcpi_snd_cwnd=7).printed == ["7 segments"]


def test_snippets_share_their_variables() -> None:
    evaluation = Evaluation()
    evaluation.run("cwnd = tcpi_snd_cwnd", 1, {"tcpi_snd_cwnd": 3})
    evaluation.run("assert tcpi_snd_cwnd == cwnd + 1", 2, {"tcpi_snd_cwnd": 4})


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "().__class__",
        "open('/etc/passwd')",
        "print tcpi_snd_cwnd",
        "lambda: 1",
        "while True: pass",
        "x = 9 ** 9 ** 9",
        "x = 'a' * 10 ** 9",
        "x = 1 << 10 ** 9",
        "x = '%999999999d' % 1",
        "for i in range(10 ** 9): pass",
        "assert tcpi_made_up == 1",
        "x = [0]\nx[0] = 1",
        "(" * 5000,
    ],
)
def test_anything_else_is_told_as_unsupported(code: str) -> None:
    with pytest.raises(CodeUnsupported) as refused:
        evaluated(code, tcpi_snd_cwnd=1)
    assert refused.value.line >= 10


@pytest.mark.parametrize("code", ["assert 1 / 0", "assert [][1]", "assert unheard_of", "assert 1 < 'a'"])
def test_code_that_goes_wrong_fails(code: str) -> None:
    with pytest.raises(CodeFailed):
        evaluated(code)


WORDS = st.sampled_from(
    [
        "assert",
        "tcpi_rtt",
        "if",
        "else",
        "for",
        "in",
        "while",
        "not",
        "x",
        "print",
        "range",
        "f'{x}'",
        "7",
        "0",
        "'a'",
        "=",
        "==",
        "+",
        "-",
        "*",
        "**",
        "%",
        "<<",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        ";",
        "\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=20).map(" ".join)))
def test_any_code_ends_and_raises_nothing_else(code: str) -> None:
    try:
        evaluated(code, tcpi_rtt=100_000)
    except (CodeFailed, CodeUnsupported) as error:
        assert error.message
