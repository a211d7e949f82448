"""Types a character into a session of ssh ten times a second, and reports how long its echo takes."""

import json
import subprocess
import sys
import time
from pathlib import Path

CHARACTERS = 60

Path("key").chmod(0o600)
options = ["-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-oLogLevel=error"]
command = ["ssh", "-i", "key", *options, sys.argv[1], "cat"]
took = []
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as ssh:
    # The first one waits until the session is there.
    for _ in range(1 + CHARACTERS):
        begun = time.perf_counter()
        ssh.stdin.write(b"x")
        ssh.stdout.read(1)
        took.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.1)
    ssh.stdin.close()
took = sorted(took[1:])
print(json.dumps({"typing_p50_ms": took[CHARACTERS // 2 - 1], "typing_p95_ms": took[CHARACTERS * 95 // 100 - 1]}))
