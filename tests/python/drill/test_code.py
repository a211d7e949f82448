"""The code in scripts: supported features, and that it always ends."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from properties import cases
from tailback.drill.code import CodeFailed, CodeUnsupported, Evaluation
from tailback.limits import WORK_MAX
from waiting import GENEROUS_S


def evaluated(code: str, **variables: int) -> Evaluation:
    evaluation = Evaluation()
    evaluation.run(code, 10, variables)
    return evaluation


@pytest.mark.parametrize(
    "code",
    [
        "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
        "assert 5 < tcpi_snd_cwnd <= 10 and not tcpi_lost",
        "assert '%d of 10 segments, %5.1f' % (7, 2.5) == '7 of 10 segments,   2.5'",
        "assert sum([1, 2]) == 3 and sorted((2, 1)) == [1, 2] and str([1, 'a']) == \"[1, 'a']\"",
        "cwnd = 9; cwnd += 1; assert tcpi_snd_cwnd == cwnd, 'cwnd=%d' % tcpi_snd_cwnd",
        "for step in range(3):\n  assert step < tcpi_snd_cwnd, f'{step}'",
        "a, b = 1, 2\nassert (a, b) == (1, 2) and max(a, b) == 2 and [a, b][1] == b",
        "assert abs(tcpi_snd_cwnd - 9) <= 1 if tcpi_snd_cwnd else False",
        "i = 0\nwhile i < 3:\n  i += 1\nassert i == 3",
        "# only a remark",
    ],
)
def test_the_functions_that_scripts_use_exist(code: str) -> None:
    evaluated(code, tcpi_snd_cwnd=10, tcpi_lost=0)


def test_an_assertion_that_does_not_hold_is_reported_with_its_line_and_value() -> None:
    with pytest.raises(CodeFailed) as failed:
        evaluated("\nassert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", tcpi_snd_cwnd=7)
    assert (failed.value.line, failed.value.message) == (11, "assertion failed: tcpi_snd_cwnd == 10: 7")


def test_printed_output_is_kept() -> None:
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
def test_anything_else_is_reported_as_unsupported(code: str) -> None:
    with pytest.raises(CodeUnsupported) as refused:
        evaluated(code, tcpi_snd_cwnd=1)
    assert refused.value.line >= 10


HOSTILE = {
    "f-strings that double": "x = 'ab'\nwhile True:\n  x = f'{x}{x}'",
    "a list of one long text": "str(['a' * 90000] * 90000)",
    "a list of lists that are the same one": "x = [0]\nwhile True:\n  x = [x, x]",
    "lists compared in a loop": "x = [[1] * 100] * 400\nwhile True:\n  x < x",
    "a text in itself in a loop": "x = 'a' * 49000\nwhile True:\n  x in x + 'b'",
    "printing in a loop": "while True:\n  print('a' * 50000)",
    "a number rounded to a power of ten": "round(10 ** 400, -10 ** 9)",
    "numbers that grow": "x = 3\nwhile True:\n  x *= x",
    "a number of many digits": "int('9' * 50000) ** 2",
    "a format of many wide places": "('%900d' * 20000) % ((1,) * 20000)",
    "a sum of lists": "sum([[1] * 100] * 900, [])",
    "sorting in a loop": "while True:\n  sorted(range(9000))",
    "a list within a list within a list": "x = []\nwhile True:\n  x = [x]",
    "an assertion that tells a list": "assert 0, [['a' * 900] * 900] * 900",
    "many variables": "x = []\nfor i in range(90000):\n  x = [0] * 900 + x[:0]",
    "long code": "assert " + " + ".join(["1"] * 40000),
    "a hexadecimal number": "x = 0x" + "f" * 90000,
    "parentheses in a format": "('%(' * 30000) % 1",
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_hostile_code_ends_within_bounded_memory_and_work() -> None:
    script = (
        "import resource, sys, json\n"
        "from tailback.drill.code import CodeFailed, CodeUnsupported, Evaluation\n"
        # What the limit counts, which is more than what is resident.
        "used = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmData')) * 1024\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (used + 2**28, used + 2**28))\n"
        "for name, code in json.load(sys.stdin).items():\n"
        "    try:\n"
        "        Evaluation().run(code, 1, {})\n"
        "    except (CodeFailed, CodeUnsupported):\n"
        "        print(name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        timeout=GENEROUS_S,
        check=False,
    )
    assert done.stdout.splitlines() == list(HOSTILE), done.stderr


def test_the_snippets_of_a_script_share_their_allowance() -> None:
    evaluation = Evaluation()
    with pytest.raises(CodeUnsupported, match="so long a computation"):
        for line in range(1, WORK_MAX):
            evaluation.run("for i in range(9000): pass", line, {})


def test_half_a_character_is_printed_as_its_number() -> None:
    assert evaluated("print('\\ud800', '%c' % 0xdfff)").printed == ["\\ud800 \\udfff"]
    with pytest.raises(CodeFailed, match=r"\\ud800"):
        evaluated("assert False, '\\ud800'")


@pytest.mark.parametrize("code", ["assert 1 / 0", "assert [][1]", "assert unheard_of", "assert 1 < 'a'"])
def test_code_that_raises_an_error_fails(code: str) -> None:
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


@settings(max_examples=cases(300))
@given(st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=20).map(" ".join)))
def test_any_code_ends_with_a_value_or_a_known_error(code: str) -> None:
    try:
        evaluated(code, tcpi_rtt=100_000)
    except (CodeFailed, CodeUnsupported) as error:
        assert error.message
