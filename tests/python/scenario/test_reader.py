"""YAML with line numbers: values, and the errors of unreadable files."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailback.scenario import Registry, ScenarioError, load, reader
from tailback.scenario.document import Node, at, merge, plain, put, without
from tailback.scenario.errors import Where
from tailback.scenario.paths import parse, show
from tailback.scenario.reader import read_file, read_value, read_yaml
from tailback.tc.errors import WordError


def said(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_yaml(text, "access21.yaml")
    return str(caught.value)


def test_words_are_read_as_strings_and_numbers_as_numbers() -> None:
    tree = read_yaml("{a: off, b: no, c: 5, d: 1.5, e: true, f: null, g: 2026-01-01, h: 0x10, i: '5'}", "f")
    expected = {"a": "off", "b": "no", "c": 5, "d": 1.5, "e": True, "f": None, "g": "2026-01-01", "h": 16, "i": "5"}
    assert plain(tree) == expected


def test_every_value_knows_the_line_of_its_key() -> None:
    tree = read_yaml("a: 1\nb:\n  - x\n  - y:\n      5\n", "f")
    found = at(tree, ("b", 1, "y"))
    assert found is not None
    assert found.where == Where("f", 4)


def test_aliases_and_merged_mappings_are_written_out() -> None:
    tree = read_yaml("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nsame: *b\n", "f")
    assert plain(tree) == {"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}, "same": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: [1, 2",
            "access21.yaml:1: is not YAML: expected ',' or ']', but got '<stream end>'\n"
            "  hint: check quotes, brackets and indentation near this line",
        ),
        (
            "a: 1\nb: c: d",
            "access21.yaml:2: is not YAML: mapping values are not allowed here\n"
            "  hint: put a value that contains `: ` in quotes",
        ),
        (
            "a:\n\tb: 1",
            "access21.yaml:2: is not YAML: found character '\\t' that cannot start any token\n"
            "  hint: indent with spaces, not tabs",
        ),
        (
            "a: 1\n---\nb: 2",
            "access21.yaml:2: is not YAML: but found another document\n"
            "  hint: one experiment per file: remove what follows `---`",
        ),
        (
            "a: *b",
            "access21.yaml:1: is not YAML: found undefined alias 'b'\n"
            "  hint: an alias `*name` needs an anchor `&name` above it",
        ),
        (
            "x: {links[0].delay: 5ms}",
            "access21.yaml:1: is not YAML: expected ',' or '}', but got '['\n"
            "  hint: put a key with `[` in quotes where it stands in `{}`: {'links[0].delay': 5ms}",
        ),
        ("a: 1\nb: 2\na: 3", "access21.yaml:3: a: is given twice, first in line 1\n  hint: remove one of the two"),
        (
            "q: {a -> b: x, a->b: y}",
            "access21.yaml:1: q.a -> b: is given twice, first in line 1\n  hint: remove one of the two",
        ),
        ("a: !x 5", "access21.yaml:1: a: the tag `!x` has no meaning here\n  hint: remove it"),
        ("? [a]\n: 5", "access21.yaml:1: a key is a list or a mapping\n  hint: write a word as the key"),
        ("a: {<<: 5}", "access21.yaml:1: a.<<: the merged value is not a mapping\n  hint: refer to a mapping"),
        ("a:\n  &x [*x]", "access21.yaml:2: a[0]: an alias contains itself\n  hint: write the value out"),
    ],
)
def test_broken_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    assert said(text) == message


def test_aliases_that_blow_up_are_refused() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    assert "has more than 500000 values or 50 levels once aliases are replaced" in said("\n".join(lines))


def test_a_long_chain_of_merged_aliases_is_refused() -> None:
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: *a{n - 1}}}" for n in range(1, 600))]
    assert "50 levels once aliases are replaced" in said("\n".join(lines))


def test_a_list_of_200000_is_read_with_a_line_for_each() -> None:
    found = read_yaml("a:\n" + "- 5\n" * 200_000, "f").entries()["a"].items()
    assert [(node.value, node.where.line) for node in (found[0], found[-1])] == [(5, 2), (5, 200_001)]
    assert len(found) == 200_000


def test_a_file_with_too_many_values_is_refused_where_they_become_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_VALUES", 100)
    assert said("a:\n" + "- 5\n" * 300).startswith("access21.yaml:199: has more than")


def test_a_colon_ends_the_name_of_an_alias() -> None:
    found = read_yaml("key: &x a\n*x: 2\n", "f").entries()
    assert [(name, node.value) for name, node in found.items()] == [("key", "a"), ("a", 2)]


@pytest.mark.parametrize("depth", [60, 5000])
def test_a_file_nested_too_deeply_is_refused(depth: int) -> None:
    assert "levels" in said("a: " + "[" * depth + "]" * depth)


def test_several_faults_of_one_file_are_reported_together() -> None:
    assert said("a: 1\na: 2\nb: !x 1").count("hint:") == 2


def test_a_missing_file_is_named(tmp_path: Path, registry: Registry) -> None:
    path = tmp_path / "none.yaml"
    with pytest.raises(ScenarioError) as caught:
        load(path, registry=registry)
    assert (
        str(caught.value)
        == f"{path}: there is no such file\n  hint: `tailback list experiment` lists the experiments that come "
        f"with Tailback"
    )


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_file(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a directory\n  hint: name the experiment file in it"


def test_a_file_below_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(ScenarioError) as caught:
        read_file(tmp_path / "a" / "b")
    where = tmp_path / "a" / "b"
    assert str(caught.value) == (
        f"{where}: cannot be read: Not a directory\n  hint: check the name and the permissions"
    )


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"title: caf\xe9\n")
    with pytest.raises(ScenarioError) as caught:
        read_file(path)
    assert str(caught.value) == f"{path}: is not UTF-8 text (byte 10)\n  hint: save the file as UTF-8"


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbftitle: x\n")
    assert read_file(path) == "title: x\n"


def test_a_surrogate_pair_is_one_character_and_a_lone_surrogate_is_refused() -> None:
    assert plain(read_yaml('a: "\\ud83d\\ude00"', "f")) == {"a": "\N{GRINNING FACE}"}
    assert said('a: "\\ud83d"') == (
        "access21.yaml:1: a: contains an incomplete character\n  hint: write the character itself"
    )


def test_control_characters_are_refused() -> None:
    assert said("a: \x00").startswith("access21.yaml: is not YAML: ")


@given(st.text())
@example("%YAML 1.1\n---\na: off")
@example("? ")
@example("!!binary x")
@example("&a")
@example("a: !!int x")
@example("{,}")
@example("- - -")
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    try:
        assert isinstance(read_yaml(text, "f"), Node)
    except ScenarioError as error:
        assert error.findings


@given(st.text(alphabet="ab:-[]{}&*!<>|#'\"\n \t,?%@`0159.~", max_size=40))
def test_any_sequence_of_yaml_tokens_is_a_tree_or_refused(text: str) -> None:
    for read in (read_yaml, read_value):
        try:
            assert isinstance(read(text, "f"), Node)
        except ScenarioError as error:
            assert error.findings


def test_paths_are_read_and_shown() -> None:
    table = {
        "cc": ("cc",),
        "links[0].delay": ("links", 0, "delay"),
        "qdiscs.client->router": ("qdiscs", "client -> router"),
        "hosts.a.sysctl.net.ipv4.tcp_rmem": ("hosts", "a", "sysctl", "net.ipv4.tcp_rmem"),
        'hosts.a.sysctl["net.ipv4.tcp_rmem"]': ("hosts", "a", "sysctl", "net.ipv4.tcp_rmem"),
        "vary.links[0].delay": ("vary", "links[0].delay"),
        "measure.window[1]": ("measure", "window", 1),
    }
    assert {text: parse(text) for text in table} == table
    assert show(("links", 0, "delay")) == "links[0].delay"


@pytest.mark.parametrize("text", ["", ".", "a..b", "a.", ".a", "a[", "a[x]", "a[0]b", "a.[0]", "a]"])
def test_an_invalid_path_is_refused(text: str) -> None:
    with pytest.raises(WordError):
        parse(text)


@given(st.text())
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        assert parse(text)
    except WordError as error:
        assert error.hint


def test_a_patch_merges_mappings_replaces_lists_and_removes_with_null() -> None:
    base = read_value("{a: {x: 1, y: 2}, b: [1, 2], c: 3}", "f")
    patch = read_value("{a: {y: 5, z: 6}, b: [7], c: null}", "f")
    assert plain(merge(base, patch)) == {"a": {"x": 1, "y": 5, "z": 6}, "b": [7]}
    assert plain(base) == {"a": {"x": 1, "y": 2}, "b": [1, 2], "c": 3}


def test_a_value_is_put_at_its_path() -> None:
    base = read_value("{links: [{delay: 1ms}]}", "f")
    put_there = put(base, ("links", 0, "delay"), Node("5ms", Where("f")))
    assert plain(put(put_there, ("measure", "warmup"), Node("1s", Where("f")))) == {
        "links": [{"delay": "5ms"}],
        "measure": {"warmup": "1s"},
    }
    assert plain(without(base, ("links", 0, "delay"))) == {"links": [{}]}
