"""`series`: disciplines one after another on one device, which `tc` has not.          [docs/contracts.md]"""

from tailback.qdiscs.discipline import Discipline, InKernel, Shown, nothing

KIND = "series"

ROW = Discipline(
    KIND,
    shown=Shown(nothing),
    kernel=InKernel(
        no_device=(
            "a device of a kernel has one discipline, and the file gives several in series",
            "put one of them on the next hop, or one below the other: htb rate 10mbit | fq_codel",
        ),
        marks=None,
    ),
    queue="none",
)
