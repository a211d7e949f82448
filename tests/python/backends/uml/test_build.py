"""Building and storing kernels, without compiling one."""

import errno
import fcntl
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Collection
from dataclasses import asdict, replace
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from command import in_process
from tailback.kernel import (
    BuildFailed,
    CacheUnwritable,
    KernelMissing,
    cache,
    checkout,
    find_kernel,
    kept_tree,
    kernels,
    remove,
    tree,
)
from tailback.kernel.build import Recipe, apply, build
from tailback.kernel.scratch import YOUNG_S, scratch
from tailback.kernel.source import Package
from waiting import GENEROUS_S

BUILD = sys.modules["tailback.kernel.build"]
"""The module; the package calls a function so."""

PROGRAM = shutil.which("true") or "/bin/true"
"""Something to strip."""

PATCH = "Why.\n{head}\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def manifest(name: str, built: str) -> cache.Manifest:
    return cache.Manifest(name, "0123456789abcdef", "6.12.1", "linux-source-6.12", "gcc", built, 1.0)


def kept(tmp_path: Path, name: str, built: str = "2026-01-01") -> cache.Kernel:
    shutil.copyfile(PROGRAM, tmp_path / "linux")
    (tmp_path / ".config").write_text("CONFIG_TCP_CONG_BBR=y\n# CONFIG_TCP_CONG_NV is not set\n")
    (tmp_path / "Module.symvers").write_text("0x00000000\tkfree\tvmlinux\tEXPORT_SYMBOL\t\n")
    return cache.keep(tmp_path, manifest(name, built))


def test_of_kernels_with_one_name_the_list_says_which_is_meant_by_it_and_how_the_older_is_named(tmp_path: Path) -> None:
    older = replace(manifest("stock", "2026-01-01"), digest="fedcba9876543210")
    kept(tmp_path, "stock", "2026-01-02")
    kept(tmp_path, "wifi", "2026-01-03")
    shutil.copytree(find_kernel().folder, tmp_path / "cache" / "tailback" / "kernels" / older.digest)
    file = tmp_path / "cache" / "tailback" / "kernels" / older.digest / cache.MANIFEST
    file.write_text(json.dumps(asdict(older)))
    newest, stock, old = in_process("kernel", "list").stdout.splitlines()
    assert (newest.split()[0], stock.split()[0], "older" in stock) == ("wifi", "stock", False)
    assert old.endswith("older than the one of this name: uml:fedcba98")
    assert find_kernel("fedcba98").manifest == older


def patched(tmp_path: Path, content: str, *, head: str = "", version: str = "6.12.1") -> str:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "f").write_text(content)
    (tmp_path / "0001-x.patch").write_text(PATCH.format(head=head))
    apply([tmp_path / "0001-x.patch"], tmp_path / "tree", version)
    return (tmp_path / "tree" / "f").read_text()


def test_a_change_is_applied(tmp_path: Path) -> None:
    assert patched(tmp_path, "old\n") == "new\n"


@pytest.mark.parametrize(("version", "added"), [("6.12.9", True), ("7.0", True), ("6.11.1", False), ("5.10", False)])
def test_the_driver_is_added_to_kernels_for_which_it_is_written(tmp_path: Path, version: str, added: bool) -> None:
    wireless = tmp_path / "tree" / "drivers" / "net" / "wireless"
    wireless.mkdir(parents=True)
    (wireless / "Kconfig").write_text("if WLAN\nendif # WLAN\n")
    (wireless / "Makefile").write_text("obj-$(CONFIG_WLAN) += virtual/\n")
    BUILD.add_driver(checkout.part("kernel"), tmp_path / "tree", version)
    assert (wireless / "tailback" / "tailback_wifi.c").is_file() == added
    assert ('source "drivers/net/wireless/tailback/Kconfig"' in (wireless / "Kconfig").read_text()) == added
    assert ("+= tailback/" in (wireless / "Makefile").read_text()) == added


def test_a_feature_that_a_kernel_cannot_have_is_named_with_those_that_it_can(tmp_path: Path) -> None:
    known = "`ipv6`, `l4s`, `mptcp`, `programs`, `wifi`"
    with pytest.raises(KernelMissing, match=rf"no feature `bluetooth` of a kernel\n  hint: use one of {known}"):
        build(Recipe(package_of(tmp_path), "mine", ("bluetooth",)), print)


def test_a_feature_changes_the_digest_and_its_absence_does_not(tmp_path: Path) -> None:
    def digest(*features: str) -> str:
        recipe = Recipe(package_of(tmp_path), "mine", features)
        return str(BUILD.digest_of(recipe, checkout.part("kernel"), "gcc"))

    assert len({digest(), digest("wifi"), digest("ipv6"), digest("ipv6", "wifi"), digest("l4s")}) == 5
    assert digest() == digest()


def test_the_patches_of_a_feature_are_for_kernels_with_it_and_an_older_version_is_refused(tmp_path: Path) -> None:
    ours = checkout.part("kernel")
    without, having = (BUILD.patches_of(Recipe(package_of(tmp_path), "mine", of), ours) for of in ((), ("l4s",)))
    (own,) = set(having) - set(without)
    assert own.name == "0011-tcp-l4s.patch"
    BUILD.check_patches(having, "7.3.4")
    with pytest.raises(KernelMissing, match=r"Linux 6.12.117 cannot have `l4s`\n  hint: it needs Linux 7.3 or newer"):
        BUILD.check_patches(having, "6.12.117")


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("6.1.192", ["0013-um-register-sets-that-stay.patch"]),
        ("6.12.117", ["0012-um-clock-without-system-calls.patch", "0013-um-register-sets-that-stay.patch"]),
        ("7.3.4", ["0012-um-clock-without-system-calls.patch", "0014-um-wake-only-sleepers.patch"]),
    ],
)
def test_a_version_has_a_feature_with_those_of_its_patches_that_are_for_it(
    tmp_path: Path, version: str, names: list[str]
) -> None:
    ours = checkout.part("kernel")
    without, having = (BUILD.patches_of(Recipe(package_of(tmp_path), "mine", of), ours) for of in ((), ("programs",)))
    BUILD.check_patches(having, version)
    assert [patch.name for patch in having if patch not in without and BUILD.is_needed(patch, version)] == names


def package_of(tmp_path: Path) -> Package:
    (tmp_path / "linux-source-6.12.tar.xz").write_bytes(b"an archive")
    return Package(tmp_path / "linux-source-6.12.tar.xz")


def test_a_change_that_does_not_fit_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"`0001-x.patch` does not fit[^\n]*\n  hint: this tree \(Linux 6.12.1\)"):
        patched(tmp_path, "other\n")


@pytest.mark.parametrize(("version", "content"), [("6.12.9", "new\n"), ("6.13.0", "old\n"), ("7.0.0", "old\n")])
def test_a_change_that_newer_kernels_do_not_need_is_left_out(tmp_path: Path, version: str, content: str) -> None:
    assert patched(tmp_path, "old\n", head="Until: 6.13", version=version) == content


@pytest.mark.parametrize(("version", "content"), [("6.15.9", "old\n"), ("6.16.0", "new\n"), ("7.3.4", "new\n")])
def test_a_change_that_older_kernels_do_not_need_is_left_out(tmp_path: Path, version: str, content: str) -> None:
    assert patched(tmp_path, "old\n", head="Since: 6.16", version=version) == content


@pytest.mark.parametrize("version", ["5.10.262", "6.1.192", "6.12.117", "7.3.4"])
def test_every_kernel_gets_its_seed_and_its_small_queue_from_one_patch_each(version: str) -> None:
    patches = sorted((checkout.part("kernel") / "patches").glob("*.patch"))
    names = [patch.name for patch in patches if BUILD.is_needed(patch, version)]
    assert len([name for name in names if "seeded-randomness" in name]) == 1
    assert len([name for name in names if "small-queue-check" in name]) == 1


def test_a_folder_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelMissing, match="is not a tree of the Linux kernel"):
        tree(tmp_path)


def test_a_build_within_a_tree_does_not_change_its_digest(tmp_path: Path) -> None:
    (tmp_path / "arch" / "um").mkdir(parents=True)
    (tmp_path / "arch" / "um" / "Kconfig").write_text("config UML\n")
    before = tree(tmp_path).digest()
    (tmp_path / "arch" / "um" / "x.o").write_text("object")
    (tmp_path / ".config").write_text("CONFIG_X=y\n")
    assert tree(tmp_path).digest() == before
    (tmp_path / "arch" / "um" / "x.c").write_text("int x;\n")
    assert tree(tmp_path).digest() != before


def test_a_stored_kernel_is_found_by_its_name_and_lists_its_features(tmp_path: Path) -> None:
    kept(tmp_path, "mine")
    found = find_kernel("mine")
    assert found.has("TCP_CONG_BBR")
    assert not found.has("TCP_CONG_NV")
    assert found.binary.is_file()


def test_kernels_are_listed_newest_first_without_half_written_ones(tmp_path: Path, home: Path) -> None:
    kept(tmp_path, "old", "2026-01-01")
    kept(tmp_path, "new", "2026-02-01")
    broken = home / "tailback" / "kernels" / "abc-broken"
    broken.mkdir()
    (broken / cache.MANIFEST).write_text(json.dumps(asdict(manifest("broken", "2026-03-01")))[:-9])
    assert [kernel.manifest.name for kernel in kernels()] == ["new", "old"]


def test_without_a_kernel_the_command_that_builds_one_is_named() -> None:
    with pytest.raises(KernelMissing, match=r"tailback kernel build$"):
        find_kernel()


def test_an_unknown_kernel_is_refused_with_a_list_of_the_kernels(tmp_path: Path) -> None:
    kept(tmp_path, "stock")
    with pytest.raises(KernelMissing, match=r"use one of `stock`, or build it: .* --name mine"):
        find_kernel("mine")
    with pytest.raises(KernelMissing, match=r"build it: tailback kernel build --version 5\.10"):
        find_kernel("linux-5.10")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CacheUnwritable, match="point XDG_CACHE_HOME to a folder that can be written"):
        kept(tmp_path, "stock")


class Overflowing:
    """A kernel source that does not fit on the disk."""

    description = "too much"

    def digest(self) -> str:
        return "0"

    def digests(self) -> None:
        return None

    def unpack(self, target: Path, names: Collection[str] | None = None) -> None:  # noqa: ARG002
        target.mkdir()
        (target / "half").write_text("of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_fills_up_while_building_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BUILD, "check_tools", lambda: None)
    with pytest.raises(CacheUnwritable, match=r"trees/mine`: No space left on device\n  hint: .*point XDG_CACHE_HOME"):
        build(Recipe(Overflowing(), "mine"), print)
    assert not (home / "tailback" / "kernels").exists()


def test_a_disk_without_room_is_refused_before_anything_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BUILD, "check_tools", lambda: None)
    monkeypatch.setattr(kept_tree, "ROOM_BYTES", 1 << 60)
    with pytest.raises(BuildFailed, match=r"MiB free; a build needs \d+\n  hint: free some space"):
        build(Recipe(Overflowing(), "mine"), print)


def test_a_removed_kernel_is_gone_with_its_headers_and_objects(tmp_path: Path, home: Path) -> None:
    kernel = kept(tmp_path, "mine")
    headers = home / "tailback" / "headers" / kernel.folder.name
    objects = home / "tailback" / "trees" / "mine"
    for folder in (headers, objects):
        folder.mkdir(parents=True)
    kept(tmp_path, "other")
    assert remove("mine", "objects") == [objects]
    assert set(remove("mine", "all")) == {kernel.folder, headers}
    assert [each.manifest.name for each in kernels()] == ["other"]
    with pytest.raises(KernelMissing, match="no kernel `mine`"):
        remove("mine", "all")


def test_a_name_that_cannot_be_part_of_a_folder_is_refused() -> None:
    with pytest.raises(KernelMissing, match=r"`../mine` cannot be the name of a kernel\n  hint: "):
        build(Recipe(Overflowing(), "../mine"), print)


def _hold_until_killed(parent: str, ready: Event) -> None:
    with scratch("test-", Path(parent)):
        ready.set()
        signal.pause()


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = [context.Event(), context.Event()]
    killed, alive = (context.Process(target=_hold_until_killed, args=(str(tmp_path), event)) for event in ready)
    for process, event in ((killed, ready[0]), (alive, ready[1])):
        process.start()
        assert event.wait(GENEROUS_S)
    killed.kill()
    killed.join()
    now = time.time()
    try:
        for folder in tmp_path.iterdir():
            os.utime(folder, (now + GENEROUS_S, now + GENEROUS_S))
        with scratch("test-", tmp_path):
            assert len(list(tmp_path.iterdir())) == 3, "the young are spared"
        for folder in tmp_path.iterdir():
            os.utime(folder, (now - 2 * YOUNG_S, now - 2 * YOUNG_S))
        with scratch("test-", tmp_path):
            assert len(list(tmp_path.iterdir())) == 2
    finally:
        alive.kill()
        alive.join()


def test_a_folder_that_is_removed_before_its_owner_has_locked_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Path] = []

    def stopped_for_a_minute(descriptor: int, _operation: int) -> None:
        if not removed:
            removed.append(Path(f"/proc/self/fd/{descriptor}").readlink())
            removed[0].rmdir()

    monkeypatch.setattr(fcntl, "flock", stopped_for_a_minute)
    with scratch("test-", tmp_path) as folder:
        assert folder.is_dir()
        assert folder not in removed
    assert len(removed) == 1
