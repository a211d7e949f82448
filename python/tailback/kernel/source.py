"""Finds the source of a kernel: Debian's `linux-source-VERSION`, installed or downloaded, or the user's own tree."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tailback.kernel import debian
from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.files import LARGEST
from tailback.limits import FileRefused, open_regular

PACKAGES = Path("/usr/src")
BUILT = (".o", ".a", ".ko", ".cmd", ".mod", ".mod.c")
"""Suffixes of files that an earlier build may have left in a tree."""
BUILT_FOLDERS = ("include/generated", "include/config", "arch/um/include/generated", "arch/x86/include/generated")
UNUSED = (
    "*/Documentation/*.rst",
    "*/Documentation/*.yaml",
    "*/Documentation/*.txt",
    "*/Documentation/*.svg",
    "*/tools/testing/*",
    "*/tools/perf/*",
    "*/arch/[!ux]*/*.[chS]",
    "*/arch/[!ux]*/*.dts*",
    "*/arch/x86/kvm/*",
    *(
        f"*/{folder}/*.[ch]"
        for folder in (
            "sound", "samples", "drivers/accel", "drivers/clk", "drivers/gpu", "drivers/infiniband", "drivers/media",
            "drivers/net/ethernet", "drivers/net/wireless", "drivers/pinctrl", "drivers/scsi", "drivers/staging",
            "drivers/usb", "fs/xfs", "fs/btrfs", "fs/smb",
        )
    ),
)  # fmt: skip
"""Parts of the archive that are not needed, about two thirds of it; deleting them later would take minutes."""

BUILT_FILES = (".config", "vmlinux", "linux", "System.map")


class Source(Protocol):
    """The source of a kernel."""

    @property
    def description(self) -> str:
        """The source as text, for lists."""

    def digest(self) -> str:
        """Digest of its content."""

    def digests(self) -> Mapping[str, str] | None:
        """Digest of each of its files; None if that takes unpacking it."""

    def unpack(self, target: Path, names: Collection[str] | None = None) -> None:
        """Copies the source, or its files of these names, to the new folder `target`."""


@dataclass(frozen=True)
class Package:
    """The archive of a Debian package."""

    archive: Path

    @property
    def description(self) -> str:
        """The package."""
        return self.archive.name.removesuffix(".tar.xz")

    def digest(self) -> str:
        """Digest of the archive."""
        return digest_of_file(self.archive)

    def digests(self) -> None:
        """Not known."""

    def unpack(self, target: Path, names: Collection[str] | None = None) -> None:  # noqa: ARG002
        """Unpacks all of it."""
        target.mkdir()
        unused = [f"--exclude={pattern}" for pattern in UNUSED]
        place = ["--strip-components=1", f"--directory={target}"]
        command = ["tar", "--extract", f"--file={self.archive}", *unused, *place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            hint = "free some space where temporary files go (TMPDIR), or install the package again"
            raise BuildFailed(f"cannot unpack `{self.archive}`: {done.stderr.strip()[-300:]}\n  hint: {hint}")


@dataclass(frozen=True)
class Tree:
    """The user's source tree, which is copied and not modified."""

    folder: Path

    @property
    def description(self) -> str:
        """The folder."""
        return str(self.folder)

    def digest(self) -> str:
        """Digest of all names and contents, without files from builds."""
        whole = hashlib.sha256()
        for name, digest in self.digests().items():
            whole.update(f"{name}\0{digest}\0".encode())
        return whole.hexdigest()

    def digests(self) -> Mapping[str, str]:
        """Digest of each file that is not from a build."""
        return {name: digest_of_file(self.folder / name) for name in self._files()}

    def unpack(self, target: Path, names: Collection[str] | None = None) -> None:
        """Copies it."""
        target.mkdir()
        for name in self._files() if names is None else names:
            copy = target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.folder / name, copy, follow_symlinks=False)

    def _files(self) -> list[str]:
        """The source files: in a git tree, files that git does not ignore; else all files that are not from a build."""
        listed = subprocess.run(
            ["git", "-C", str(self.folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=False,
        )
        if listed.returncode == 0 and (self.folder / ".git").exists():
            names = {name for name in listed.stdout.split("\0") if name}
        else:
            names = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if not path.is_dir()}
        return sorted(name for name in names if self._is_source(name))

    def _is_source(self, name: str) -> bool:
        path = self.folder / name
        built = name in BUILT_FILES or name.endswith(BUILT) or name.startswith(BUILT_FOLDERS)
        return not built and (path.is_symlink() or path.is_file())


def digest_of_file(path: Path) -> str:
    """Digest of a file's content, or of where a link points."""
    if path.is_symlink():
        return f"-> {path.readlink()}"
    whole = hashlib.sha256()
    try:
        with open_regular(path, LARGEST) as stream:
            for piece in stream.pieces():
                whole.update(piece)
    except (OSError, FileRefused) as error:
        hint = "install the package again, or use your own tree: --source DIR"
        raise KernelMissing(f"`{path}` cannot be read: {error}\n  hint: {hint}") from error
    return whole.hexdigest()


def package(version: str, say: Callable[[str], None] = lambda _: None, mirror: str | None = None) -> Package:
    """The archive of Debian's `linux-source-VERSION`: that of the installed package, else downloaded."""
    archive = PACKAGES / f"linux-source-{version}.tar.xz"
    return Package(archive if archive.is_file() else debian.archive(version, say, mirror))


def tree(folder: Path) -> Tree:
    """The user's tree."""
    if not (folder / "arch" / "um" / "Kconfig").is_file():
        raise KernelMissing(f"`{folder}` is not a tree of the Linux kernel\n  hint: name its top folder: --source DIR")
    return Tree(folder.resolve())
