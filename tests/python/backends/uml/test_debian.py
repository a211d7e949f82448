"""Debian's sources of Linux, from a small archive of our own that is signed by a key of our own."""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailback.kernel import BuildFailed, KernelMissing, debian, package

TOOLS = ("apt-get", "dpkg-deb", "dpkg-scanpackages", "gpg")


@pytest.fixture(autouse=True)
def tools() -> None:
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")


@dataclass
class Archive:
    """An archive of one suite with one package, and the keyring that its signature is checked with."""

    folder: Path
    keyring: Path
    gpg: list[str]

    @property
    def uri(self) -> str:
        return f"file:{self.folder}"

    @property
    def suite(self) -> Path:
        return self.folder / "dists" / "test"

    def publish(self, version: str) -> None:
        release = version.rpartition(".")[0]
        name = f"linux-source-{release}"
        content = self.folder / "content"
        (content / "DEBIAN").mkdir(parents=True)
        (content / "DEBIAN" / "control").write_text(
            f"Package: {name}\nVersion: {version}-1\nArchitecture: all\nMaintainer: nobody <n@example.org>\n"
            "Description: a source\n"
        )
        (content / "usr" / "src").mkdir(parents=True)
        (content / "usr" / "src" / f"{name}.tar.xz").write_text("the source")
        pool = self.folder / "pool"
        pool.mkdir(exist_ok=True)
        quietly("dpkg-deb", "--build", str(content), str(pool))
        shutil.rmtree(content)
        self.sign()

    def sign(self) -> None:
        lists = self.suite / "main" / "binary-amd64"
        lists.mkdir(parents=True, exist_ok=True)
        (lists / "Packages").write_text(quietly("dpkg-scanpackages", "--multiversion", "pool", cwd=self.folder))
        plain = (lists / "Packages").read_bytes()
        (self.suite / "Release").write_text(
            "Origin: Debian\nSuite: test\nCodename: test\nArchitectures: amd64\nComponents: main\n"
            "Date: Thu, 01 Jan 2026 00:00:00 UTC\n"
            f"SHA256:\n {hashlib.sha256(plain).hexdigest()} {len(plain)} main/binary-amd64/Packages\n"
        )
        (self.suite / "InRelease").unlink(missing_ok=True)
        quietly(*self.gpg, "--clearsign", "--output", str(self.suite / "InRelease"), str(self.suite / "Release"))


def quietly(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def key(home: Path) -> tuple[list[str], Path]:
    """A new key: how to sign with it, and the keyring with it."""
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"]
    quietly(*gpg, "--quick-generate-key", "test", "ed25519", "sign", "never")
    quietly(*gpg, "--export", "--output", str(home / "keyring.gpg"))
    return gpg, home / "keyring.gpg"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    gpg, keyring = key(tmp_path / "key")
    made = Archive(tmp_path / "mirror", keyring, gpg)
    made.folder.mkdir()
    monkeypatch.setattr(debian, "SUITES", (("test",),))
    monkeypatch.setattr(debian, "KEYRING", keyring)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made.publish("9.8.7")
    yield made
    # The agents of gpg outlive it.
    for home in filter(Path.is_dir, (tmp_path / "key", tmp_path / "other")):
        quietly("gpgconf", "--homedir", str(home), "--kill", "all")


def test_a_source_is_downloaded_once_and_says_what_it_is(archive: Archive) -> None:
    said: list[str] = []
    found = package("9.8", said.append, archive.uri)
    assert found.archive.read_text() == "the source"
    assert found.description == "linux-source-9.8_9.8.7-1"
    assert any("downloading linux-source-9.8=9.8.7-1" in line for line in said)
    shutil.rmtree(archive.folder)
    assert package("9.8", said.append, archive.uri) == found


def test_the_newest_point_release_is_taken(archive: Archive) -> None:
    archive.publish("9.8.10")
    assert package("9.8", mirror=archive.uri).description == "linux-source-9.8_9.8.10-1"


def test_a_release_that_there_is_not_is_named_with_those_that_there_are(archive: Archive) -> None:
    with pytest.raises(KernelMissing, match=r"no source of Linux 9\.7\n  hint: it has 9\.8; or get the source"):
        package("9.7", mirror=archive.uri)


def test_a_list_signed_by_another_key_is_refused(archive: Archive, tmp_path: Path) -> None:
    archive.gpg, _ = key(tmp_path / "other")
    archive.sign()
    with pytest.raises(BuildFailed, match=r"the signature .* is not one that the keyring knows: .*\n  hint: "):
        package("9.8", mirror=archive.uri)


def test_a_package_other_than_the_signed_one_is_refused(archive: Archive) -> None:
    place = next((archive.folder / "pool").glob("*.deb"))
    place.write_bytes(place.read_bytes()[:-1] + b"x")
    with pytest.raises(BuildFailed, match=r"not what Debian signed|Hash"):
        package("9.8", mirror=archive.uri)


def test_a_mirror_that_does_not_answer_is_named(archive: Archive) -> None:
    assert archive.folder.is_dir()
    with pytest.raises(BuildFailed, match=r"the mirror does not answer: .*\n  hint: is this machine connected"):
        package("9.8", mirror="http://127.0.0.1:9/debian")


def test_a_full_disk_is_refused_before_anything_is_downloaded(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "ROOM_BYTES", 1 << 60)
    with pytest.raises(BuildFailed, match=r"MiB free; a source needs \d+\n  hint: free some space"):
        package("9.8", mirror=archive.uri)


def test_missing_keys_are_named_with_their_package(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "KEYRING", archive.folder / "none.gpg")
    with pytest.raises(KernelMissing, match="apt-get install debian-archive-keyring"):
        package("9.8", mirror=archive.uri)


def test_nothing_of_the_users_apt_is_read_or_written(archive: Archive) -> None:
    words = list(debian.Apt(archive.folder, debian.Mirror.at(archive.uri), archive.keyring).options())
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    for name in ("Etc::SourceList", "State::Lists", "Cache"):
        assert settings[f"Dir::{name}"].startswith(str(archive.folder))
    assert settings["Dir::Etc::SourceParts"] == settings["Dir::Etc::TrustedParts"] == "/dev/null"


def test_the_mirror_of_this_machine_has_a_suite_for_security() -> None:
    try:
        found = debian.machine_mirror()
    except KernelMissing as missing:
        assert "--mirror URI" in str(missing)
        return
    assert found.of("bullseye-security") != found.of("trixie-backports")
