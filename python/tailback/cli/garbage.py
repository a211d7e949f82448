"""How often Python searches for objects that refer to each other in a circle.

The objects of imported modules stay until the program ends, so that searching them again and again is in vain: it takes
a quarter of the time of `tailback check`, half of it when the program ends.
"""

import atexit
import gc

AT_THE_START = 200_000
"""Python searches when so many objects more were made than freed. Imports make 120,000."""

IN_WORK = 50_000
"""So many in long work. These objects occupy some 10 MB, and what they refer to more."""


def search_rarely() -> None:
    """Makes Python search less often, and not at all when the program ends. Files that nobody has closed are written
    anyway, unless they belong to such a circle.
    """
    gc.set_threshold(AT_THE_START)
    # What is frozen is not searched.
    atexit.register(gc.freeze)


def work_begins() -> None:
    """What is there now stays, so Python never searches it; what the work makes, it searches more often."""
    gc.freeze()
    gc.set_threshold(IN_WORK)
