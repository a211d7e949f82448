"""`tailback search`: finds an experiment in which something happens, and shrinks it to the smallest file that shows it.

A space (`space`) of the keys of a file is searched for a point that meets a condition (`condition`), and the finding is
made smaller (`shrink`).
"""

from tailback.search.condition import Condition, condition
from tailback.search.errors import WrongSearch
from tailback.search.session import Found, Wanted, search
from tailback.search.space import seconds

__all__ = ["Condition", "Found", "Wanted", "WrongSearch", "condition", "search", "seconds"]
