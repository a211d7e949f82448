"""Fetches so many bytes by QUIC, and tells how long each took: `python3 quic.py HOST BYTES ...`."""

import json
import subprocess
import sys
import time

host, *sizes = sys.argv[1:]
found = {}
for size in sizes:
    begun = time.monotonic()
    client = ["gtlsclient", "--quiet", "--exit-on-all-streams-close", host, "4433", f"https://{host}/{size}"]
    subprocess.run(client, check=True, stdout=subprocess.DEVNULL)
    found[f"{size}_bytes_ms"] = 1e3 * (time.monotonic() - begun)
print(json.dumps(found))
