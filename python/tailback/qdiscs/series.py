"""`series`: several disciplines in series on one device, which `tc` does not support. [docs/contracts.md]"""

from tailback.qdiscs.discipline import Discipline, InKernel, Shown, nothing

KIND = "series"

ROW = Discipline(
    KIND,
    shown=Shown(nothing),
    kernel=InKernel(
        no_device=(
            "a device of a kernel has one root discipline, but the file has several in series",
            "move one of them to the next hop, or make one the child of the other: htb rate 10mbit | fq_codel",
        ),
        marks=None,
    ),
    queue="none",
)
