"""How much work a function does, as the number of its calls: the same on every machine and at every load.

Work inside of one call of numpy or pandas does not count. So a loop over flows that searches a whole table for each is
seen by its many calls for each flow, not by their length; the bound of a test is a number of calls for each flow.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(function: Callable[[], object]) -> int:
    """The number of calls of Python and C functions during a call of `function`."""
    found = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal found
        if event in {"call", "c_call"}:
            found += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def calls_per_item(function: Callable[[int], object], few: int = 100, many: int = 400) -> float:
    """How many calls of functions each further item takes, from `few` to `many`; `function` takes their number."""
    # The first call imports modules and fills caches.
    function(few)
    return (calls(lambda: function(many)) - calls(lambda: function(few))) / (many - few)
