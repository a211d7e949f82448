"""Debian's packages of the kernel's source, had without touching the user's apt.

`apt-get` reads a list of sources, keys and folders of ours instead of the machine's. So a suite of another release
(5.10 of bullseye, 7.3 of trixie-backports) can be asked without adding it there, and without root. The signatures of
the suites are checked with Debian's own keyring. The server is the one that the machine's apt names for Debian, or
`--mirror`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback.kernel import cache
from tailback.kernel.errors import BuildFailed, KernelMissing
from tailback.kernel.scratch import scratch

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

SUITES = (
    ("bullseye-security", "bookworm-security", "trixie-security"),
    ("bookworm-backports", "trixie-backports"),
    ("bullseye", "bookworm", "trixie"),
    ("sid",),
)
"""Where linux-source packages are, in the order in which they are asked: the newest point release of a series first.
bullseye has 5.10, bookworm 6.1, trixie 6.12, and trixie's backports what is newest."""

ROOM_BYTES = 1 << 30
"""Free space that lists, package and archive need in the cache."""

INSTEAD = "get the source some other way, and name its folder: --source DIR"

TROUBLES = (
    (
        r"NO_PUBKEY|BADSIG|EXPKEYSIG|REVKEYSIG|is not signed|signatures? (couldn't|could not) be verified|weak digest",
        "the signature of Debian's list of packages is not one that the keyring knows",
        "install the newest debian-archive-keyring; if it stays, do not use this mirror",
    ),
    (
        r"Hash Sum mismatch|File has unexpected size|Size mismatch",
        "what the mirror sent is not what Debian signed",
        "try again later or with another mirror: --mirror URI",
    ),
    (r"No space left on device|don't have enough free space", "the disk is full", "free some space in {home}"),
    (
        r"Could not resolve|Temporary failure|[Cc]ould not connect|Connection (failed|refused|timed out)"
        r"|Network is unreach|Unable to connect",
        "the mirror does not answer",
        "is this machine connected? another mirror: --mirror URI; without a network: " + INSTEAD,
    ),
    (r"404 +Not Found|does not have a Release file", "the mirror does not have it", "name another: --mirror URI"),
)
"""What apt prints for a trouble, what it means, and what helps."""

STEP_PERCENT = 20

Say = Callable[[str], None]


@dataclass(frozen=True)
class Mirror:
    """Where Debian's suites are had from."""

    archive: str
    security: str

    @classmethod
    def at(cls, uri: str) -> Mirror:
        """A mirror by the address of its archive; its security suites are beside it, as on all of them."""
        plain = uri.rstrip("/")
        return cls(plain, f"{plain}-security")

    def of(self, suite: str) -> str:
        """The address that has a suite."""
        return self.security if suite.endswith("-security") else self.archive


def archive(version: str, say: Say, mirror: str | None = None) -> Path:
    """The archive of `linux-source-VERSION` in the cache, downloaded if it is not there."""
    kept = sorted(_folder().glob(f"linux-source-{version}_*.tar.xz"))
    if kept:
        return kept[-1]
    _check_programs()
    chosen = Mirror.at(mirror) if mirror else machine_mirror()
    _folder().mkdir(parents=True, exist_ok=True)
    _check_room()
    with scratch(".partial-download-", _folder()) as room:
        apt = Apt(room, chosen, KEYRING)
        package = _find(apt, version, say)
        say(f"downloading {package}, {apt.size_bytes(package) // 1_000_000} MB")
        apt.download(package, say)
        return _unpacked(next(room.glob("*.deb")), version)


def machine_mirror() -> Mirror:
    """The mirror of Debian that the apt of this machine names; raises `KernelMissing` where it names none."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = [line.split() for line in done.stdout.splitlines() if line.startswith("Debian ")]
    places = {row[1].endswith("-security"): row[2].rstrip("/") for row in found if len(row) == 3}
    if False not in places:
        hint = f"name a mirror of Debian: --mirror URI; or {INSTEAD}"
        raise KernelMissing(f"the apt of this machine names no mirror of Debian\n  hint: {hint}")
    return Mirror(places[False], places.get(True, f"{places[False]}-security"))


@dataclass(frozen=True)
class Apt:
    """apt with lists, keys and folders in `room`."""

    room: Path
    mirror: Mirror
    keyring: Path

    def update(self, suites: Sequence[str]) -> None:
        """Reads the lists of these suites; raises `BuildFailed` if one cannot be had or is not signed."""
        lines = [f"deb [signed-by={self.keyring}] {self.mirror.of(suite)} {suite} main\n" for suite in suites]
        (self.room / "sources.list").write_text("".join(lines), encoding="utf-8")
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.room / folder).mkdir(parents=True, exist_ok=True)
        self.run("update", "--error-on=any")

    def candidate(self, name: str) -> str | None:
        """The newest version of a package in the lists that were read."""
        found = re.search(r"^ +Candidate: (\S+)$", self.run("policy", name, program="apt-cache"), re.MULTILINE)
        return None if found is None or found[1] == "(none)" else found[1]

    def names(self) -> list[str]:
        """The kernels' sources in the lists that were read."""
        return self.run("pkgnames", "linux-source-", program="apt-cache").split()

    def size_bytes(self, package: str) -> int:
        """The size of a package (`name=version`)."""
        found = re.search(r"^Size: (\d+)$", self.run("show", package, program="apt-cache"), re.MULTILINE)
        return int(found[1]) if found else 0

    def download(self, package: str, say: Say) -> None:
        """Downloads a package to `room`; says each fifth of it."""
        command = ["apt-get", *self.options(), "--option", "APT::Status-Fd=1", "download", package]
        said = 0
        printed = []
        with subprocess.Popen(
            command, cwd=self.room, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            for line in process.stdout or ():
                share = re.match(r"dlstatus:[^:]*:([\d.]+):", line)
                if share is None:
                    printed.append(line)
                elif float(share[1]) >= said + STEP_PERCENT:
                    said = int(float(share[1]) // STEP_PERCENT) * STEP_PERCENT
                    say(f"{said} %")
        if process.returncode:
            raise BuildFailed(_trouble("".join(printed)))

    def run(self, *words: str, program: str = "apt-get") -> str:
        """What one command prints."""
        command = [program, *self.options(), *words]
        done = subprocess.run(command, cwd=self.room, env=_environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildFailed(_trouble(done.stderr + done.stdout))
        return done.stdout

    def options(self) -> Iterator[str]:
        """What keeps apt to `room`."""
        settings = {
            "Dir::Etc::SourceList": self.room / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::Etc::Trusted": "/dev/null",
            "Dir::Etc::TrustedParts": "/dev/null",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": "/dev/null",
            "Dir::State::Lists": self.room / "lists",
            "Dir::State::Status": "/dev/null",
            "Dir::Cache": self.room / "cache",
            # The user that apt downloads as cannot read folders of root's.
            "APT::Sandbox::User": "root",
            "APT::Architecture": "amd64",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        return (word for name, value in settings.items() for word in ("--option", f"{name}={value}"))


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}


def _find(apt: Apt, version: str, say: Say) -> str:
    """`linux-source-7.3=7.3.4-1`, from the first suites that have it; raises `KernelMissing`."""
    name = f"linux-source-{version}"
    seen: set[str] = set()
    for suites in SUITES:
        say(f"asking {', '.join(suites)} for {name}")
        apt.update(suites)
        found = apt.candidate(name)
        if found is not None:
            return f"{name}={found}"
        seen |= {each.removeprefix("linux-source-") for each in apt.names()}
    known = ", ".join(sorted((each for each in seen if each), key=_by_number))
    raise KernelMissing(f"Debian has no source of Linux {version}\n  hint: it has {known}; or {INSTEAD}")


def _by_number(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _unpacked(package: Path, version: str) -> Path:
    """The archive out of a package, in the cache under the package's name and version."""
    target = _folder() / f"{package.name.removesuffix('.deb').removesuffix('_all')}.tar.xz"
    partial = package.with_suffix(".tar.xz")
    with partial.open("wb") as file:
        whole = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE)
        member = f"./usr/src/linux-source-{version}.tar.xz"
        words = ["tar", "--extract", "--to-stdout", member]
        done = subprocess.run(words, stdin=whole.stdout, stdout=file, stderr=subprocess.PIPE, check=False)
        if whole.stdout is not None:
            whole.stdout.close()
        whole.wait()
    if done.returncode:
        raise BuildFailed(_trouble(done.stderr.decode(errors="replace")))
    partial.rename(target)
    return target


def _trouble(printed: str) -> str:
    """What apt printed, as a message with a remedy."""
    lines = [line for line in printed.splitlines() if line[:2] in ("E:", "W:")] or [printed.strip()[-300:]]
    for pattern, what, remedy in TROUBLES:
        said = next((line for line in lines if re.search(pattern, line)), None)
        if said is not None:
            return f"{what}: {said}\n  hint: {remedy.format(home=_folder())}"
    return f"apt-get failed: {lines[-1]}\n  hint: {INSTEAD}"


def _check_programs() -> None:
    absent = [program for program in ("apt-get", "apt-cache", "dpkg-deb") if shutil.which(program) is None]
    if absent:
        raise KernelMissing(f"missing: {', '.join(absent)}, to download Debian's source of Linux\n  hint: {INSTEAD}")
    if not KEYRING.is_file():
        hint = "apt-get install debian-archive-keyring"
        raise KernelMissing(f"missing: the keys that sign Debian's packages (`{KEYRING}`)\n  hint: {hint}")


def _check_room() -> None:
    free = shutil.disk_usage(_folder()).free
    if free < ROOM_BYTES:
        hint = "free some space, or point XDG_CACHE_HOME to a folder with more"
        raise BuildFailed(f"`{_folder()}` has {free >> 20} MiB free; a source needs {ROOM_BYTES >> 20}\n  hint: {hint}")


def _folder() -> Path:
    return cache.home() / "sources"
