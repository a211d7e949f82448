"""The tree of objects: what `make` would compile again after a change."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import pytest

from tailback.kernel import kept_tree
from tailback.kernel.source import digest_of_file

LONG_AGO = 1_000_000_000


class Source:
    """A source whose files are texts; as an archive, it does not know their digests."""

    description = "texts"

    def __init__(self, files: Mapping[str, str], *, archive: bool) -> None:
        self.files, self.archive = dict(files), archive
        self.unpacked: list[str] = []

    def digest(self) -> str:
        return repr(sorted(self.files.items()))

    def digests(self) -> Mapping[str, str] | None:
        if self.archive:
            return None
        self.folder.mkdir(exist_ok=True)
        for name, text in self.files.items():
            (self.folder / name).write_text(text)
        return {name: digest_of_file(self.folder / name) for name in self.files}

    def unpack(self, target: Path, names: Collection[str] | None = None) -> None:
        target.mkdir()
        for name in self.files if names is None else names:
            (target / name).write_text(self.files[name])
            os.utime(target / name, (LONG_AGO, LONG_AGO))
            self.unpacked.append(name)

    folder: Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@pytest.fixture(params=["archive", "folder"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Source]]:
    def make(**files: str) -> Source:
        made = Source(files, archive=request.param == "archive")
        made.folder = tmp_path / "folder"
        return made

    yield make


def built(folder: Path) -> None:
    """All objects are newer than all sources."""
    for file in (folder / kept_tree.TREE).iterdir():
        os.utime(file, (LONG_AGO, LONG_AGO))


def touched(folder: Path) -> dict[str, str]:
    """What has been written since, with its text."""
    return {
        file.name: file.read_text()
        for file in (folder / kept_tree.TREE).iterdir()
        if file.stat().st_mtime != LONG_AGO
    }  # fmt: skip


def appended(line: str) -> Callable[[Path], None]:
    def apply(aside: Path) -> None:
        (aside / "a").write_text((aside / "a").read_text() + line)
        (aside / "new").write_text(line)

    return apply


def test_only_a_changed_file_is_written_again(folder: Path, source: Callable[..., Source]) -> None:
    kept_tree.update(folder, source(a="1", b="2", c="3"))
    built(folder)
    kept_tree.update(folder, source(a="1", b="two", c="3"))
    assert touched(folder) == {"b": "two"}


def test_a_folder_of_the_user_is_not_copied_again_whole(folder: Path, tmp_path: Path) -> None:
    first, second = (Source(files, archive=False) for files in ({"a": "1", "b": "2"}, {"a": "1", "b": "two"}))
    first.folder = second.folder = tmp_path / "folder"
    kept_tree.update(folder, first)
    kept_tree.update(folder, second)
    assert second.unpacked == ["b"]


def test_a_file_that_is_gone_from_the_source_is_gone(folder: Path, source: Callable[..., Source]) -> None:
    kept_tree.update(folder, source(a="1", b="2"))
    kept_tree.update(folder, source(a="1"))
    assert not (folder / kept_tree.TREE / "b").exists()


def test_a_patch_that_stays_as_it_is_touches_nothing(folder: Path, source: Callable[..., Source]) -> None:
    for _ in range(2):
        kept_tree.update(folder, source(a="1\n", b="2\n"))
        kept_tree.change(folder, ["a", "new"], appended("ours\n"))
        written = touched(folder)
        built(folder)
    assert written == {}
    assert (folder / kept_tree.TREE / "a").read_text() == "1\nours\n"


def test_a_changed_patch_begins_with_the_text_of_the_source(folder: Path, source: Callable[..., Source]) -> None:
    kept_tree.update(folder, source(a="1\n", b="2\n"))
    kept_tree.change(folder, ["a", "new"], appended("first\n"))
    built(folder)
    kept_tree.change(folder, ["a", "new"], appended("second\n"))
    assert touched(folder) == {"a": "1\nsecond\n", "new": "second\n"}


def test_a_changed_source_below_a_patch_is_patched_anew(folder: Path, source: Callable[..., Source]) -> None:
    kept_tree.update(folder, source(a="1\n", b="2\n"))
    kept_tree.change(folder, ["a", "new"], appended("ours\n"))
    built(folder)
    kept_tree.update(folder, source(a="one\n", b="2\n"))
    kept_tree.change(folder, ["a", "new"], appended("ours\n"))
    assert touched(folder) == {"a": "one\nours\n"}


def test_what_a_patch_no_longer_adds_or_changes_is_as_the_source_has_it(
    folder: Path, source: Callable[..., Source]
) -> None:
    kept_tree.update(folder, source(a="1\n", b="2\n"))
    kept_tree.change(folder, ["a", "new"], appended("ours\n"))
    kept_tree.change(folder, [], lambda _: None)
    assert (folder / kept_tree.TREE / "a").read_text() == "1\n"
    assert not (folder / kept_tree.TREE / "new").exists()


def test_a_tree_whose_update_was_interrupted_is_made_anew(folder: Path, source: Callable[..., Source]) -> None:
    kept_tree.update(folder, source(a="1", b="2"))
    (folder / kept_tree.TREE / "b").write_text("half")
    (folder / kept_tree.RECORD).write_text('{"": "ha')
    kept_tree.update(folder, source(a="1", b="2"))
    assert (folder / kept_tree.TREE / "b").read_text() == "2"
