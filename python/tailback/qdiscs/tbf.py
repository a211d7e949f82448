"""`tbf`: a token bucket filter, which shapes its child.                              [iproute2 q_tbf.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import PLAIN_NUMBER, Grammar, Option
from tailback.tc.printing import size


def _settings(resolved: Settings) -> Json:
    rate = resolved["rate"] // 8
    found: Json = {"rate": rate, "burst": f"{size(resolved['burst'])}/1", "mpu": resolved["mpu"]}
    latency = (resolved["limit"] - resolved["burst"]) * 1e6 / rate
    if "peakrate" in resolved:
        found["peakrate"] = resolved["peakrate"] // 8
        found["mtu"] = f"{size(resolved['mtu'])}/1"
        latency = max(latency, (resolved["limit"] - resolved["mtu"]) * 8e6 / resolved["peakrate"])
    layer = forms.LINK_LAYERS[resolved["linklayer"]]
    overhead = {"overhead": resolved["overhead"]} if resolved["overhead"] else {}
    return {**found, **overhead, "lat": round(latency), "linklayer": layer}


ROW = Discipline(
    "tbf",
    shown=Shown(
        _settings, counters=(("tokens", "ptokens"),), units={"rate": "rate", "peakrate": "rate", "lat": "time"}
    ),
    kernel=InKernel(),
    grammar=Grammar(
        options={
            **{name: Option("size and cell") for name in ("burst", "limit", "mtu")},
            "mpu": PLAIN_NUMBER,
        },
        aliases={"buffer": "burst", "maxburst": "burst", "minburst": "mtu", "lat": "latency"},
        forms={"linklayer": forms.link_layer},
        once=("rate", "burst", "limit", "latency", "peakrate", "mtu", "mpu"),
    ),
    writer=forms.with_link_layer,
    shaper="rate",
    queue="none",
)
