"""The statements of a module, for tests that look for some of them: most nodes of a tree are within expressions."""

import ast
from collections.abc import Iterator


def statements(block: ast.AST) -> Iterator[ast.stmt]:
    """All statements below a node, wherever they are."""
    for field in ("body", "orelse", "finalbody"):
        for node in getattr(block, field, None) or ():
            yield node
            yield from statements(node)
    for part in (*(getattr(block, "handlers", None) or ()), *(getattr(block, "cases", None) or ())):
        yield from statements(part)
