"""How often Python searches for objects that refer to each other in a circle.

The objects of imported modules stay until the program ends, so that searching them again and again is in vain: it takes
a quarter of the time of `tailback check`, half of it when the program ends.
"""

import atexit
import gc

NEW_OBJECTS = 50_000
"""Python searches when so many objects more were made than freed. They occupy some 10 MB; imports make 80,000."""


def search_rarely() -> None:
    """Makes Python search less often, and not at all when the program ends. Files that nobody has closed are written
    anyway, unless they belong to such a circle.
    """
    gc.set_threshold(NEW_OBJECTS)
    # What is frozen is not searched.
    atexit.register(gc.freeze)
