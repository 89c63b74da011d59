"""A picture with its heading: what every section of the plots is made of, in SVG and HTML alike."""

from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.report.svg import drawing

WIDTH = 1120.0


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture, WIDTH pixels wide."""

    title: str
    reading: str  # how to read it, in a sentence or three
    spoken: str  # its contents, for those who cannot see it
    height: float
    shapes: tuple[Markup, ...]

    def inline(self) -> Markup:
        """The picture alone, for an HTML page."""
        return drawing(WIDTH, self.height, self.spoken, *self.shapes, class_="wide sim")
