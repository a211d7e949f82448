"""The console that draws tables and progress: its own styles are the only escape sequences that it writes."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tailback import plain


class PlainConsole(Console):
    """A console that makes text safe and interprets no markup."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else plain.visible(segment.text)
            yield segment if text == segment.text else segment._replace(text=text)
