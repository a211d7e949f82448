"""`tailback explain` knows every word that a user meets; TAB offers the same words."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import in_process
from tailback import backends
from tailback.algorithms import CoreRegistry
from tailback.cli import completions, glossary, topics
from tailback.cli.catalogue import explained
from tailback.scenario import flows, lint
from tailback.scenario.lint import WARNINGS
from tailback.scenario.schema.traffic import PresetName
from tailback.tc.rows import Row

LINT_FILE = Path(lint.__code__.co_filename)
"""The module, whose name in the package is that of its function."""


@pytest.mark.parametrize("word", topics.names())
def test_every_word_has_an_explanation(word: str) -> None:
    found = topics.explained(word) or list(topics.plot(word))
    assert found
    assert all(each.text.strip() for each in found)


@pytest.mark.parametrize("word", ["fairness", "incast", "l4s", "L4S", "bufferbloat", "hystart", "jain"])
def test_what_people_ask_for_is_a_word_with_a_source(word: str) -> None:
    said = [each.text for each in topics.explained(word) if each.heading == f"{word}: a word of the field"]
    assert len(said) == 1
    assert re.search(r"\n\nSource: \[[a-z]+", said[0])


def test_every_warning_is_explained() -> None:
    folder = LINT_FILE.parent
    code = re.compile(r'(?:Mistake|Warning|Guarded)\(\s*"([a-z-]+)"')
    files = ("lint.py", "marking.py", "class_guards.py")
    yielded = {found for name in files for found in code.findall((folder / name).read_text("utf-8"))}
    assert len(yielded) > 10
    assert set(WARNINGS) == yielded


def test_every_preset_and_every_backend_is_explained() -> None:
    assert set(flows.PRESETS) == set(PresetName.__args__)  # type: ignore[attr-defined]
    assert set(backends.TEXTS) == set(backends._BACKENDS)


@pytest.mark.parametrize("word", ["Small Queues", *glossary.field().same])
def test_another_word_for_one_is_explained_as_that_one(word: str) -> None:
    assert topics.explained(word) == topics.explained(glossary.field().same[word.lower()]) != []


def test_a_word_with_several_meanings_has_all() -> None:
    said = in_process("explain", "ecn").stdout
    assert "net.ipv4.tcp_ecn: a sysctl of a host" in said
    assert re.search(r"fq_codel.*: mark ECN-capable packets instead of dropping them", said)
    said = in_process("explain", "tsq").stdout
    assert "a key of the file" in said
    assert "Examples: 1ms, off" in said


@pytest.mark.parametrize("row", CoreRegistry().qdiscs, ids=lambda row: row.name)
def test_a_discipline_is_explained_by_its_name_alone_even_if_it_has_required_options(row: Row) -> None:
    said = in_process("explain", row.name).stdout
    assert said.startswith(f"{row.name}: {row.summary}")
    assert all(f"\n{parameter.name} " in said for parameter in row.parameters)
    assert "as written" not in said


@pytest.mark.parametrize(
    ("name", "option", "without"),
    [("iwlwifi", "airtime", "no AQL"), ("iwlwifi", "airtime_step", "no AQL"), ("fq", "ce_threshold", "none")],
)
def test_an_option_without_which_there_is_no_limit_says_so(name: str, option: str, without: str) -> None:
    row = re.search(rf"^{option} +(\S.*?)  ", in_process("explain", name).stdout, re.MULTILINE)
    assert row is not None
    assert row[1] == without


def test_an_option_with_one_meaning_is_explained_once_with_all_that_have_it() -> None:
    said = in_process("explain", "airtime").stdout
    assert "ath10k, ath9k_htc_txq, mt76, iwlwifi: maximum airtime of the frames of one station" in said
    assert said.count("maximum airtime") == 1


@pytest.mark.parametrize("word", ["a-msdu", "block-ack", "edca", "mac80211", "minstrel"])
def test_words_of_wifi_are_explained(word: str) -> None:
    assert topics.explained(word)[0].heading == f"{word}: a word of the field"


def test_values_as_written_are_shown_if_an_option_was_written() -> None:
    said = in_process("explain", "htb rate 10mbit | fq_codel").stdout
    shaper, queue = said.split("fq_codel: ", 1)
    assert re.search(r"parameter +as written +default +values +meaning", shaper)
    assert re.search(r"\nrate +10mbit +required ", shaper)
    assert "as written" not in queue


def test_the_values_of_a_choice_and_the_keywords_of_a_link_are_listed() -> None:
    said = in_process("explain", "cake").stdout
    assert "triple-isolate – dual-dsthost" not in said
    assert "diffserv3, besteffort, diffserv4, diffserv8, precedence" in said
    assert "Example: cake besteffort" in said
    assert re.search(r"pppoe-ptm +30 bytes more of overhead, ptm", said)
    assert "cake: 18 bytes more of overhead, mpu 64, noatm" in in_process("explain", "docsis").stdout


def test_an_unknown_word_names_the_lists() -> None:
    said = in_process("explain", "nonsense", status=2).stderr
    assert "nothing here is called `nonsense`" in said
    assert "`tailback list cc`" in said
    assert "did you mean `tsq`?" in in_process("explain", "tsqq", status=2).stderr


@pytest.mark.parametrize("word", ["slow start", "slow-start", "Slow-Start", "congestion-avoidance", "AIMD"])
def test_words_are_explained_however_they_are_joined(word: str) -> None:
    assert in_process("explain", word).stdout.startswith(f"{word}: a word of the field")


@pytest.mark.parametrize("word", ["metric", "metrics", "presets"])
def test_the_name_of_a_list_leads_to_the_list(word: str) -> None:
    assert f"`tailback list {word.removesuffix('s')}`" in in_process("explain", word, status=2).stderr


def offered(words: str, folder: Path) -> list[str]:
    """What bash would offer after `words`."""
    environment = {
        **os.environ,
        "_TAILBACK_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    program = "import sys; sys.argv = ['tailback']; from tailback.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tailback exp", ["explain", "export"]),
        ("tailback explain fq_c", ["fq_codel"]),
        ("tailback list pr", ["preset"]),
        ("tailback plot out -p timese", ["timeseries"]),
        ("tailback run mine", ["mine.yaml"]),
        ("tailback run dem", ["demo"]),
        ("tailback run demo --backend u", ["uml"]),
    ],
)
def test_tab_offers_commands_options_names_and_files(words: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("")
    assert offered(words, tmp_path) == expected


def test_tab_offers_all_that_list_lists() -> None:
    for kind in completions.KINDS:
        assert completions.of(kind)("")


def test_words_of_the_field_and_numbers_of_tables_are_explained() -> None:
    assert "wan -> router: cake bandwidth 45mbit ingress" in in_process("explain", "ifb").stdout
    assert in_process("explain", "SQM").stdout.startswith("SQM: a word of the field")
    assert "High latency under load" in in_process("explain", "bufferbloat").stdout
    assert in_process("explain", "A-MPDU").stdout.startswith("A-MPDU: a word of the field")
    said = in_process("explain", "rtt").stdout
    assert said.startswith("TCP RTT (ms)")
    assert "Round-trip time. `ping` is that of small packets" in said
    assert in_process("explain", "ping", "p99").stdout.startswith("ping (ms)")


def test_a_misspelt_file_is_met_with_the_name_of_one_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home-link.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert "did you mean `home-link.yaml`?" in in_process("check", "home-lnk.yaml", status=2).stderr
    assert "did you mean `demo`?" in in_process("check", "dem", status=2).stderr
    assert "`tailback list experiment`" in in_process("check", "entirely-else", status=2).stderr


def test_without_a_kind_all_kinds_are_listed() -> None:
    listed = in_process("list").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(completions.KINDS)
    assert "A FIFO at the bottleneck" in in_process("list", "warning").stdout
    assert "net.ipv4.tcp_sack" in in_process("list", "sysctl").stdout


def test_every_discipline_is_explained_by_its_name_alone_also_if_it_needs_options() -> None:
    for row in CoreRegistry().qdiscs:
        first = explained(row.name)[0]
        assert first.heading == f"{row.name}: {row.summary}"
        required = {parameter.name for parameter in row.parameters if parameter.required}
        assert required <= {shown.name for shown in first.parameters if shown.default == "required"}


@pytest.mark.parametrize("word", [word for each in glossary.field().absent for word in each.words])
def test_what_tailback_has_not_is_said_with_the_reason_and_what_is_nearest(word: str) -> None:
    said = in_process("explain", word).stdout
    assert f"{word}: not in Tailback" in said
    assert "not in Tailback, because " in said and "; nearest: " in said


def test_the_words_that_it_has_not_are_no_words_that_it_has() -> None:
    absent = [glossary.plain(word) for each in glossary.field().absent for word in each.words]
    assert len(absent) == len(set(absent))
    assert not {glossary.plain(name) for name in topics.names()} & set(absent)
    algorithms = CoreRegistry()
    assert not [word for word in absent if algorithms.named(word) is not None]


@pytest.mark.parametrize("command", ["import", "export", "run", "new"])
def test_the_words_that_it_has_not_are_no_formats_and_options_of_commands(command: str) -> None:
    """`tailback import qlog` reads what `explain qlog` once said that there was not."""
    shown = set(re.findall(r"^  (?:--)?([a-z][\w-]+) ", in_process(command, "--help").stdout, re.MULTILINE))
    assert shown
    assert not shown & {word for each in glossary.field().absent for word in each.words}


@pytest.mark.parametrize("command", ["import", "export"])
def test_the_words_that_it_has_not_are_no_formats_of_a_command(command: str) -> None:
    """`tailback import qlog` reads what `explain qlog` once said that there was not."""
    shown = set(re.findall(r"[a-z]{3,}", in_process(command, "--help").stdout))
    absent = {word for each in glossary.field().absent for word in each.words}
    assert {"flent", "flow"} & shown
    assert not shown & absent


@pytest.mark.parametrize(
    "word", ["prr", "PRR", "rack", "tlp", "f-rto", "frto", "hystart", "siftr", "stab", "gcc", "qlog"]
)
def test_mechanisms_that_it_has_are_words_of_the_field(word: str) -> None:
    assert topics.explained(word)


def test_what_is_nearest_names_only_what_there_is() -> None:
    """Every word in backticks that looks like a name of Tailback is one."""
    registry = CoreRegistry()
    for each in glossary.field().absent:
        for quoted in re.findall(r"`([^`]*)`", each.nearest):
            if quoted.startswith("tailback explain "):
                assert topics.explained(quoted.removeprefix("tailback explain ")) or registry.named(quoted.split()[-1])
            elif quoted.startswith("cc: "):
                assert quoted.removeprefix("cc: ") in {row.name for row in registry.congestion_controls}


def test_a_word_that_is_only_a_little_like_another_is_no_slip() -> None:
    assert "did you mean" not in in_process("explain", "excess-ecn", status=2).stderr
