"""Tables for the terminal that no window is too narrow for: no value is cut in two or left out."""

import re
import textwrap
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_FOLDED_FROM = 32  # columns of the terminal: longer words, such as paths, may be folded
_EDGES = 2
_GAP = 3  # columns of the terminal between two of a table
_DIVIDER = 1  # of them
_UNIT = re.compile(r"(?<=[\d–]) (?=(?:%|s|ms|min|B|kB|MB|GB|TB)(?!\w))")
_GLUE = "\N{NO-BREAK SPACE}"


class WideTable(Table):
    """A table in which text wraps between words, and numbers stay whole; columns that do not fit go on in a further table.

    Title and caption may be wider than all of them.

    keys: how many of the first columns stand in each of these. gap: columns of the terminal between two of the table, 1 or
    more. Columns that are aligned to the right hold numbers.
    """

    def __init__(self, title: Text | None = None, keys: int = 1, gap: int = _GAP) -> None:
        padding = 0, (gap - _DIVIDER + 1) // 2, 0, (gap - _DIVIDER) // 2
        super().__init__(title=title, box=box.SIMPLE, pad_edge=False, padding=padding)
        self._keys = keys
        self._gap = gap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        texts = [[_text_of(cell) for cell in (column.header, *column.cells)] for column in self.columns]
        least = [self._least_width(place, cells) for place, cells in enumerate(texts)]
        natural = [max(_width(cell.plain) for cell in cells) for cells in texts]
        if self.title:
            yield Text.assemble(self.title, style=self.title_style or "table.title")
        for places in self._parts(least, options.max_width):
            widths = self._widths(places, natural, least, options.max_width)
            part = Table(box=box.SIMPLE, pad_edge=False, padding=self.padding)
            for place, width in zip(places, widths, strict=True):
                header = _wrapped(texts[place][0], width)
                part.add_column(header, justify=self.columns[place].justify, overflow="fold", width=width)
            for row, facts in enumerate(self.rows, start=1):
                cells = [_wrapped(texts[place][row], width) for place, width in zip(places, widths, strict=True)]
                part.add_row(*cells, style=facts.style, end_section=facts.end_section)
            yield part
        if self.caption:
            yield Text.assemble(self.caption, style=self.caption_style or "table.caption")

    def _is_whole(self, place: int) -> bool:
        """Whether the values of a column must stay on one line."""
        column = self.columns[place]
        return column.no_wrap or column.justify == "right"

    def _least_width(self, place: int, cells: Sequence[Text]) -> int:
        """How narrow a column may become."""
        column, is_whole = self.columns[place], self._is_whole(place)
        header, *values = (cell.plain for cell in cells)
        values_width = max(((_width if is_whole else _longest_word)(value) for value in values), default=0)
        header_width = (_width if column.no_wrap else _longest_word)(header)
        return max(values_width if is_whole else min(values_width, _FOLDED_FROM), header_width, column.min_width or 0)

    def _parts(self, least: Sequence[int], width: int) -> list[list[int]]:
        """Places of the columns of each table: those that name a row, and as many others as fit, at least one."""
        keys = list(range(min(self._keys, len(least))))
        parts = [[*keys]]
        for place in range(len(keys), len(least)):
            if len(parts[-1]) > len(keys) and self._whole_width([least[item] for item in (*parts[-1], place)]) > width:
                parts.append([*keys])
            parts[-1].append(place)
        return parts

    def _whole_width(self, widths: Sequence[int]) -> int:
        return sum(widths) + self._gap * (len(widths) - 1) + _EDGES

    def _widths(self, places: Sequence[int], natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
        """Widths of these columns that fit: the widest gives first, and none more than it may; then words are folded."""
        widths = [natural[place] for place in places]
        for floors in (least, [least[place] if self._is_whole(place) else 1 for place in range(len(least))]):
            while self._whole_width(widths) > width:
                spare = [(given, index) for index, given in enumerate(widths) if given > floors[places[index]]]
                if not spare:
                    break
                widths[max(spare)[1]] -= 1
        return widths


def _text_of(cell: object) -> Text:
    """Strings stand as they are: names come from files, and may look like markup."""
    return cell if isinstance(cell, Text) else Text(str(cell))


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")), default=0)


def _longest_word(text: str) -> int:
    return max(map(cell_len, _UNIT.sub(_GLUE, text).replace("\n", " ").split(" ")), default=0)


def _wrapped(text: Text, width: int) -> Text:
    """Broken between words, but not before a unit. Styled parts of a text lose their style where it must be broken."""
    if _width(text.plain) <= width:
        return text
    lines = [
        part
        for line in _UNIT.sub(_GLUE, text.plain).split("\n")
        for part in textwrap.wrap(line, max(1, width), break_on_hyphens=False) or [""]
    ]
    return Text("\n".join(lines).replace(_GLUE, " "), style=text.style)
