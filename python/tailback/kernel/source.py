"""Finds the source of a kernel: Debian's `linux-source-VERSION`, or the user's own tree."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.files import LARGEST, content_of
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

    def unpack(self, target: Path) -> None:
        """Copies the source to the new folder `target`."""


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
        whole = hashlib.sha256()
        try:
            with open_regular(self.archive, LARGEST) as stream:
                for piece in stream.pieces():
                    whole.update(piece)
        except (OSError, FileRefused) as error:
            hint = "install the package again, or use your own tree: --source DIR"
            raise KernelMissing(f"`{self.archive}` cannot be read: {error}\n  hint: {hint}") from error
        return whole.hexdigest()

    def unpack(self, target: Path) -> None:
        """Unpacks it."""
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
        for name in self._files():
            path = self.folder / name
            content = str(path.readlink()).encode() if path.is_symlink() else content_of(path)
            whole.update(f"{name}\0{len(content)}\0".encode())
            whole.update(content)
        return whole.hexdigest()

    def unpack(self, target: Path) -> None:
        """Copies it."""
        for name in self._files():
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


def package(version: str) -> Package:
    """The archive of `linux-source-VERSION`."""
    archive = PACKAGES / f"linux-source-{version}.tar.xz"
    if not archive.is_file():
        hint = f"apt-get install linux-source-{version}, or use your own tree: --source DIR"
        raise KernelMissing(f"missing: the source of Linux {version} (`{archive}`)\n  hint: {hint}")
    return Package(archive)


def tree(folder: Path) -> Tree:
    """The user's tree."""
    if not (folder / "arch" / "um" / "Kconfig").is_file():
        raise KernelMissing(f"`{folder}` is not a tree of the Linux kernel\n  hint: name its top folder: --source DIR")
    return Tree(folder.resolve())
