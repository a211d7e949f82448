"""The kinds of traffic, one file and one name in `registry.py` each.

A kind defines its keys in the experiment file, its entry in the resolved scenario, its checks, and an estimate of its
rows. Its application in the simulator is one file in `crates/world/src/app`.
"""

from tailback.scenario.traffic.kind import File, Flow, Kind
from tailback.scenario.traffic.registry import KINDS, NotListed, of, with_keys

__all__ = ["KINDS", "File", "Flow", "Kind", "NotListed", "of", "with_keys"]
