"""What of a kernel programs can use: prints the name of each service that works as one JSON object, and of others why
not.
"""

import ctypes
import json
import os
import pty
import signal
import socket
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
IPC_CREAT, IPC_NOWAIT, SEM_UNDO = 0o1000, 0o4000, 0o10000
IN_CREATE = 0x100
PR_SET_SECCOMP, STRICT = 22, 1
KEYCTL, ADD_KEY = 250, 248
SESSION = -3


def done(value: int) -> int:
    """The value of a function of C; raises if it failed."""
    if value == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return value


def said(*words: str) -> str:
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise OSError(ended.stderr.strip())
    return ended.stdout.strip()


def uts() -> None:
    assert said("unshare", "-Uru", "sh", "-c", "hostname inner && hostname") == "inner"


def users() -> None:
    assert said("unshare", "-Ur", "id", "-u") == "0"


def processes() -> None:
    assert said("unshare", "-Urpf", "sh", "-c", "echo $$") == "1"


def ipc() -> None:
    key = done(libc.shmget(77, 4096, IPC_CREAT | 0o600))
    assert key >= 0 and said("unshare", "-Uri", "ipcs", "-m").count("0x0000004d") == 0


def groups() -> None:
    Path("groups").mkdir()
    script = "mount -t cgroup2 none groups && cat groups/cgroup.controllers"
    assert "memory" in said("unshare", "-UrmC", "sh", "-c", script).split()


def inotify() -> None:
    watch = done(libc.inotify_init1(0))
    done(libc.inotify_add_watch(watch, b".", IN_CREATE))
    Path("created").touch()
    _, mask, _, size = struct.unpack("iIII", (event := os.read(watch, 4096))[:16])
    assert mask == IN_CREATE and event[16 : 16 + size].rstrip(b"\0") == b"created"


def semaphores() -> None:
    number = done(libc.semget(0, 1, IPC_CREAT | 0o600))
    for change in (2, -1):
        done(libc.semop(number, struct.pack("HhH", 0, change, IPC_NOWAIT), 1))
    assert done(libc.semctl(number, 0, 12)) == 1


def shared_memory() -> None:
    place = libc.shmat(done(libc.shmget(0, 4096, IPC_CREAT | 0o600)), None, 0)
    ctypes.memmove(place, b"shared", 6)
    assert ctypes.string_at(place, 6) == b"shared"


def message_queues() -> None:
    number = done(libc.msgget(0, IPC_CREAT | 0o600))
    done(libc.msgsnd(number, struct.pack("q4s", 1, b"word"), 4, 0))
    room = ctypes.create_string_buffer(16)
    assert done(libc.msgrcv(number, room, 4, 0, 0)) == 4 and room.raw[8:12] == b"word"


def posix_queues() -> None:
    library = ctypes.CDLL("librt.so.1", use_errno=True)
    done(library.mq_open(b"/ours", os.O_CREAT | os.O_RDWR, 0o600, None))


def terminals() -> None:
    ours, theirs = pty.openpty()
    os.write(theirs, b"word\n")
    assert os.read(ours, 100) == b"word\r\n" and os.isatty(theirs)


def ipv6() -> None:
    place = ("::1", 8080)
    with socket.create_server(place, family=socket.AF_INET6) as server, socket.create_connection(place) as ours:
        ours.sendall(b"six")
        with server.accept()[0] as theirs:
            assert theirs.recv(3) == b"six"


def ipv6_inside() -> None:
    script = "ip link add d0 type dummy && ip -6 address add fd00::1/64 dev d0 nodad && ip -6 -o address show d0"
    assert "fd00::1" in said("unshare", "-Urn", "sh", "-c", script)


def seccomp() -> None:
    child = os.fork()
    if not child:
        libc.prctl(PR_SET_SECCOMP, STRICT, 0, 0, 0)
        libc.getppid()
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def keys() -> None:
    done(libc.syscall(ADD_KEY, b"user", b"ours", b"secret", 6, SESSION))


def sockets_of_datagrams() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.bind(("127.0.0.1", 5353))
        assert "127.0.0.1:5353" in said("ss", "-Huan")


def tried(service: Callable[[], None]) -> str | None:
    try:
        service()
    except (OSError, AssertionError, AttributeError) as error:
        return str(error) or "it does something else"
    return None


SERVICES = (
    uts, users, processes, ipc, groups, inotify, semaphores, shared_memory, message_queues, posix_queues, terminals,
    ipv6, ipv6_inside, seccomp, keys, sockets_of_datagrams,
)  # fmt: skip
print(json.dumps({service.__name__: tried(service) for service in SERVICES}, indent=1))
