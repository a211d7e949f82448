"""The kinds of traffic, one file and one name in `registry.py` each.

A kind defines its keys in the experiment file, its entry in the resolved scenario, its checks, and an estimate of its
rows. Its applications, of every backend, are one file in `crates/traffic`.
"""

from tailback.scenario.traffic.kind import File, Flow, Kind
from tailback.scenario.traffic.registry import KINDS, NotListed, of, with_keys

__all__ = ["KINDS", "File", "Flow", "Kind", "NotListed", "of", "with_keys"]
