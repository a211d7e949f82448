"""Types a character into a session of ssh ten times a second, and reports how long its echo takes."""
import json, os, subprocess, sys, time

os.chmod("key", 0o600)
options = ["-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-oLogLevel=error"]
ssh = subprocess.Popen(["ssh", "-i", "key", *options, sys.argv[1], "cat"], stdin=-1, stdout=-1, bufsize=0)
took = []
for _ in range(61):
    begun = time.perf_counter()
    ssh.stdin.write(b"x")
    ssh.stdout.read(1)
    took.append(1000 * (time.perf_counter() - begun))
    time.sleep(0.1)
ssh.stdin.close()
took = sorted(took[1:])
print(json.dumps({"typing_p50_ms": took[29], "typing_p95_ms": took[56]}))
