"""Experiments that together have a value of every metric, for the tests of sampling; and a run of a text."""

from typing import Any

from tailback.backends.sim import Sim
from tailback.results.store import Finished
from tailback.scenario import loads
from tailback.sweep.work import finish, measure_of


def finished(text: str) -> Finished:
    """The first run of an experiment, with its summary."""
    run: Any = loads(text).runs()[0]
    sim = Sim()
    return finish(sim, run.scenario, measure_of(run), sim.new_progress())


WIRED = """\
hosts:
  client: {{sysctl: {{net.ipv4.tcp_ecn: 1}}}}
  nowhere: {{}}
  router: {{}}
  server: {{}}
links:
  - {{ends: [client, router], rate: 100mbit, delay: 5ms}}
  - {{ends: [router, server], rate: 10mbit, delay: 5ms}}
  - {{ends: [client, nowhere], rate: 10mbit, delay: 5ms, loss: 100%}}
qdiscs:
  router -> server: fq_codel limit 200
  router -> client: pfifo limit 60
traffic:
  - {{tcp: client -> server, name: first, start: 0s}}
  - {{tcp: client -> server, name: second, cc: reno, start: 6s}}
  - {{tcp: server -> client, name: down, start: 0s}}
  - {{tcp: server -> client, name: short, size: 40kb, arrivals: poisson 3/s, start: 1s}}
  - {{ping: client -> server, interval: 100ms}}
  - {{ping: server -> client, name: back, interval: 130ms}}
  - {{udp: client -> server, name: flood, rate: 2mbit, size: 200b}}
  - {{call: client -> server, codec: g711}}
  - {{request: client -> server, answer: 20kb, every: 500ms}}
  - {{page: client -> server, every: 10s}}
  - {{video: client -> server}}
  - {{tcp: client -> server, name: file, bytes: 400kb, start: 8s}}
  - {{tcp: client -> nowhere, name: dead}}
duration: 30s
measure: {{warmup: 5s, {measure}}}
"""

RESPONSIVENESS = """\
links:
  - {{ends: [client, server], rate: 5mbit, delay: 5ms, loss: 0.3%}}
traffic:
  - {{preset: responsiveness, hosts: [client, server], start: 5s, flows: 2}}
duration: 20s
measure: {{warmup: 5s, {measure}}}
"""

CELL = """\
links:
  - wifi: {{ap: router, stations: [one, two]}}
    standard: 802.11n
    width: 20MHz
    mcs: 3
    driver: ath9k
  - {{ends: [router, server], rate: 1gbit, delay: 5ms}}
traffic:
  - {{tcp: one -> server, name: up}}
  - {{tcp: server -> two, name: down}}
  - {{game: two -> server, tick: 64/s}}
duration: 12s
measure: {{warmup: 2s, {measure}}}
"""

EXPERIMENTS = {"wired": WIRED, "responsiveness": RESPONSIVENESS, "cell": CELL}
