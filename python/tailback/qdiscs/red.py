"""`red`: random early detection on an average of the queue.                          [iproute2 q_red.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar
from tailback.tc.printing import Printed

UNITS: dict[str, Printed] = {"min": "bytes", "max": "bytes"}


def law(resolved: Settings) -> Json:
    """The options of the RED law, which `sfq` has, too."""
    switches = {name: bool(resolved.get(name, 0)) for name in ("ecn", "harddrop", "adaptive", "nodrop")}
    thresholds = {name: resolved[name] for name in ("min", "max")}
    return {**thresholds, **switches, "probability": forms.share(resolved["probability"])}


def _settings(resolved: Settings) -> Json:
    return {**forms.limit(resolved), **law(resolved)}


ROW = Discipline(
    "red",
    shown=Shown(
        _settings,
        counters=(("marked", "early", "pdrop", "other", "max_P"),),
        shares=("max_P",),
        units={**UNITS, "limit": "bytes"},
    ),
    kernel=InKernel(marks=(12,)),
    grammar=Grammar(options=dict.fromkeys(("burst", "min", "max"), NOT_GIVEN_IF_ZERO)),
)
