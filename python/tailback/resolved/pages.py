"""Shapes of web pages: their objects, and which object names which.

Counts and bytes by kind of file are those of the median page of October 2024: [almanac2024] requests by content type,
and weight by content type. Files of a kind have equal sizes. The dependencies are ours: the document names the style
sheets, the images and two thirds of the scripts; the first style sheet names the fonts; the first script names the
other scripts and the second document. The kinds do not add up to the published total weight, which includes video.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

KB = 1024


class PageObject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object of a page; `after` is the position of the one that names it, `None` for the first."""

    bytes: int
    after: int | None = None


class Files(Struct, frozen=True, kw_only=True):
    """The files of a kind: their number, and their bytes together."""

    count: int
    bytes: int

    @property
    def each(self) -> int:
        """Bytes of one."""
        return round(self.bytes / self.count)


class Shape(Struct, frozen=True, kw_only=True):
    """The files of a page by kind."""

    documents: Files
    styles: Files
    fonts: Files
    scripts: Files
    images: Files

    @property
    def objects(self) -> tuple[PageObject, ...]:
        """The objects of the page; each comes after the one that names it."""
        return tuple(self._objects())

    def _objects(self) -> Iterator[PageObject]:
        first_style, first_script = 1, 1 + self.styles.count
        early = self.scripts.count - self.scripts.count // 3
        yield PageObject(bytes=self.documents.each)
        yield from [PageObject(bytes=self.styles.each, after=0)] * self.styles.count
        yield from [PageObject(bytes=self.scripts.each, after=0)] * early
        yield from [PageObject(bytes=self.images.each, after=0)] * self.images.count
        yield from [PageObject(bytes=self.fonts.each, after=first_style)] * self.fonts.count
        yield from [PageObject(bytes=self.scripts.each, after=first_script)] * (self.scripts.count - early)
        yield from [PageObject(bytes=self.documents.each, after=first_script)] * (self.documents.count - 1)


SHAPES: Mapping[str, Shape] = {
    "desktop": Shape(
        documents=Files(count=2, bytes=18 * KB), styles=Files(count=8, bytes=78 * KB),
        fonts=Files(count=4, bytes=131 * KB), scripts=Files(count=24, bytes=613 * KB),
        images=Files(count=18, bytes=1054 * KB),
    ),
    "mobile": Shape(
        documents=Files(count=2, bytes=18 * KB), styles=Files(count=8, bytes=73 * KB),
        fonts=Files(count=3, bytes=111 * KB), scripts=Files(count=22, bytes=558 * KB),
        images=Files(count=16, bytes=900 * KB),
    ),
    "inner": Shape(
        documents=Files(count=2, bytes=18 * KB), styles=Files(count=8, bytes=73 * KB),
        fonts=Files(count=4, bytes=131 * KB), scripts=Files(count=22, bytes=627 * KB),
        images=Files(count=14, bytes=442 * KB),
    ),
}  # fmt: skip
"""The median home page on a desktop computer and on a telephone, and a page of a desktop site behind its home page."""
