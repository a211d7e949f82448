"""Who the lab answers: its own pages on this machine, and nobody else."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from command import in_process
from lab.serving import TEXT, Served, served


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guard")
    (folder / "x.yaml").write_text(TEXT)
    with served(folder, "x.yaml") as found:
        yield found


def status(lab: Served, path: str | None = None, **headers: str) -> int:
    """Of a request to the page, or to another path."""
    asked = http.client.HTTPConnection("127.0.0.1", lab.port)
    try:
        asked.request("GET", "/" + lab.address.split("/", 3)[3] if path is None else path, headers=headers)
        return asked.getresponse().status
    finally:
        asked.close()


def test_its_own_page_is_answered_also_through_a_tunnel(lab: Served) -> None:
    assert status(lab) == 200
    assert status(lab, Host=f"localhost:{lab.port}") == 200
    assert status(lab, Host="localhost:9999", Origin="http://localhost:9999") == 200


@pytest.mark.parametrize("path", ["/", "/socket", "/lab.js", "/index.html", "/wrong/", "/%2e%2e/", "/wrong/start.json"])
def test_a_request_without_the_token_is_refused(lab: Served, path: str) -> None:
    assert status(lab, path) == 403


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "", "10.0.0.1", "[::2]:80"])
def test_a_request_to_a_foreign_name_is_refused(lab: Served, host: str) -> None:
    assert status(lab, Host=host) == 403


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:1", "https://127.0.0.1"])
def test_a_request_of_a_foreign_page_is_refused(lab: Served, origin: str) -> None:
    assert status(lab, Origin=origin) == 403


@pytest.mark.parametrize("origin", ["http://example.org", None])
def test_a_socket_of_a_foreign_page_is_refused(lab: Served, origin: str | None) -> None:
    address = lab.address.replace("http:", "ws:") + "socket"
    headers = {} if origin is None else {"Origin": origin}
    with pytest.raises(InvalidStatus), connect(address, additional_headers=headers):
        pass


@pytest.mark.parametrize("message", ["", "{", "[]", "{}", '{"type":"show"}', '{"type":"show","wanted":{"id":"x"}}'])
def test_a_message_that_is_none_gets_an_answer_and_ends_nothing(lab: Served, message: str) -> None:
    address = lab.address.replace("http:", "ws:") + "socket"
    with connect(address, additional_headers={"Origin": f"http://127.0.0.1:{lab.port}"}) as socket:
        socket.send(message)
        assert "does not understand" in str(socket.recv())


def test_a_port_that_is_taken_is_an_error_that_says_so(lab: Served, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(TEXT)
    done = in_process("lab", str(tmp_path / "x.yaml"), "--no-browser", "--port", str(lab.port), status=2)
    assert f"cannot serve at port {lab.port}" in done.stderr
    assert "hint:" in done.stderr
