"""Writes a document and puts its code into it, or where it is too small, into a script of its own.

Three arrangements are tried, from the most natural one on: all in the document; the program in the document and what
it should do in a script; all in a script. What fits nowhere is left out, and reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from mixedsched.model.page import Resource
from mixedsched.model.request import Kind
from mixedsched.sites.synth._behaviour import Shifts, work_text
from mixedsched.sites.synth._markup import Piece, background_rule, face_rules, laid_out, smoothed, tag_of
from mixedsched.sites.synth._planned import STYLE, Address, Planned, Realm, SynthesisPlan
from mixedsched.sites.synth._ways import IMAGE_FOR_SCANNER, Item, items_call, parsed_call, runtime, table_call, way_of
from mixedsched.sites.synth.texts import dots

_OPEN = (
    '<!DOCTYPE html><html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width">'
    "<link rel=icon href=data:,><title>{title}</title>"
)
_OPEN_LEAN = "<!DOCTYPE html><link rel=icon href=data:,>"
_SCRIPT_COMMENT_BYTES = len("/**/")


@dataclass(slots=True)
class Texts:
    """Bodies by id, and what found no room."""

    bodies: dict[str, str] = field(default_factory=dict)
    left_out: list[Planned] = field(default_factory=list)
    has_shifts: bool = False  # whether the document makes those of its resources


@dataclass(slots=True)
class _Code:
    """The calls that the code of a document makes."""

    own: dict[str, list[Planned]] = field(default_factory=dict)  # inside of scripts
    table: dict[str, list[Planned]] = field(default_factory=dict)  # after the completion of other resources
    parsed: list[Planned] = field(default_factory=list)  # once the document is parsed


class RealmWriter:
    """Writes one document with its scripts and style sheets."""

    def __init__(
        self, realm: Realm, plan: SynthesisPlan, address: Address, host_names: Sequence[str], title: str
    ) -> None:
        self._realm = realm
        self._plan = plan
        self._address = address
        self._host_names = host_names
        self._title = title
        self._host = realm.document.host
        self._has_medium = any(one.priority == "Medium" for one in realm.tags if one.item.kind is Kind.IMAGE)
        tagged = {one.item.id for one in realm.tags}
        gated = [one for one in realm.calls if one.is_gated and one.item.id not in tagged]
        self._standing = [*realm.tags, *gated]  # the parser would have found the latter too early
        self._names: dict[str, str] = {}

    def write(self) -> Texts:
        sheets, anchors = self._sheets()
        code = self._code()
        for arrangement in (self._in_document, self._split, self._in_script):
            texts = arrangement(code, anchors)
            if texts is not None:
                break
        else:
            texts = self._without_code(anchors)
        texts.bodies.update(sheets)
        for name, one in self._plan.planned.items():
            if one.realm == self._realm.document.id and name not in texts.bodies and (work := work_text(one.item)):
                texts.bodies[name] = _padded(work, one.item)
        return texts

    # -- what there is to say

    def _code(self) -> _Code:
        code = _Code()
        for name, children in self._plan.children.items():
            calls = [one for one in children if one.realm == self._realm.document.id]
            trigger = self._plan.planned[name].item
            if not calls:
                continue
            if name == self._realm.document.id:
                code.parsed = calls
            elif trigger.kind is Kind.SCRIPT and len(self._own_call(name, calls)) <= trigger.body_bytes:
                code.own[name] = calls
            else:
                code.table[name] = calls
        return code

    def _own_call(self, name: str, calls: Sequence[Planned]) -> str:
        """What a script itself does: its work, then its calls; "" without either."""
        work_ms = self._plan.work_ms.get(name, 0.0)
        asks = items_call((self._item(one, work_ms) for one in calls), work_ms) if calls else ""
        return work_text(self._plan.planned[name].item) + asks

    def _item(self, one: Planned, work_ms: float = 0.0) -> Item:
        delay_ms = 0.0 if one.is_gated else max(0.0, one.item.delay_ms - work_ms)
        url = self._address(one.item, self._host)
        return Item(one.ticket, delay_ms, one.call, url, one.wait_ms, one.box.style if one.box is not None else "")

    def _runtime(self, code: _Code) -> str:
        ways = [one.call for one in self._realm.calls]
        return runtime(ways, has_table=bool(code.table), has_parsed=bool(code.parsed)) if ways else ""

    def _to_do(self, code: _Code) -> str:
        table = {self._key(name): [self._item(one) for one in calls] for name, calls in code.table.items()}
        said = table_call(table) if table else ""
        return said + (parsed_call(self._item(one) for one in code.parsed) if code.parsed else "")

    def _key(self, name: str) -> str:
        item = self._plan.planned[name].item
        return self._host_names[item.host] + item.path

    # -- where it can stand

    def _in_document(self, code: _Code, anchors: str) -> Texts | None:
        program = self._runtime(code) + self._to_do(code)
        line = f"<p>{self._title}</p>"  # without anything to see there would be no first paint to measure
        shifts = Shifts.of([(self._key(one.item.id), one.item.late_shift) for one in self._plan.shifting(self._realm)])
        for made in (shifts, Shifts()) if shifts else (shifts,):
            style, behind = STYLE + made.style, made.marks + anchors
            text = self._document(
                _OPEN.format(title=self._title), program + made.program, style, line + behind
            ) or self._document(_OPEN_LEAN, program + made.program, style, "a" + behind)
            if text is not None:
                return self._with_scripts(text, code, has_shifts=bool(made))
        text = self._document("", program, "", anchors)
        return None if text is None else self._with_scripts(text, code)

    def _split(self, code: _Code, anchors: str) -> Texts | None:
        text = self._document(_OPEN_LEAN, self._runtime(code), "", anchors)
        carrier = self._carrier(self._to_do(code), code)
        return None if text is None or carrier is None else self._with_scripts(text, code, {carrier: self._to_do(code)})

    def _in_script(self, code: _Code, anchors: str) -> Texts | None:
        """No code in the document: one script has it all, and the calls of others wait for their completion."""
        text = self._document(_OPEN_LEAN, None, "", anchors)
        whole = _Code({}, {**code.table, **code.own}, code.parsed)
        program = self._runtime(whole) + self._to_do(whole)
        carrier = self._carrier(program, whole)
        if text is None or carrier is None:
            return None
        return self._with_scripts(text, _Code(), {carrier: program})

    def _without_code(self, anchors: str) -> Texts:
        """The document without code, if neither it nor a script has room for any: its tags, as many as fit."""
        count = len(self._standing)
        while (text := self._document("", None, "", anchors if count else "", count)) is None and count:
            count -= 1
        left_out = [one for one in self._realm.calls if not one.is_gated] + self._standing[count:]
        left_out += self._realm.styled if not count and anchors else []
        bodies = {self._realm.document.id: text if text is not None else " " * self._realm.document.body_bytes}
        return Texts(bodies, left_out)

    def _carrier(self, program: str, code: _Code) -> str | None:
        """The first script of the document with room for the program beside its own calls."""
        for one in self._realm.tags:
            own = self._own_call(one.item.id, code.own.get(one.item.id, ()))
            if one.item.kind is Kind.SCRIPT and len(program) + len(own) <= one.item.body_bytes:
                return one.item.id
        return None

    def _with_scripts(
        self, text: str, code: _Code, programs: Mapping[str, str] = MappingProxyType({}), *, has_shifts: bool = False
    ) -> Texts:
        """The document with its scripts. programs: what stands before what a script itself does."""
        texts = Texts({self._realm.document.id: text}, has_shifts=has_shifts)
        for name in dict.fromkeys([*code.own, *programs]):
            calls = self._own_call(name, code.own.get(name, ()))
            texts.bodies[name] = _padded(programs.get(name, "") + calls, self._plan.planned[name].item)
        return texts

    # -- the document

    def _document(
        self, opening: str, program: str | None, style: str, anchors: str, count: int | None = None
    ) -> str | None:
        """The document's text, or None if it is too small for it. program: None if calls in their place cannot be made."""
        code = f"<script>{program}</script>" if program else ""
        head = Piece(opening + code + (f"<style>{style}</style>" if style else ""))
        has_program, in_head = program is not None, self._realm.head_count
        tags = [Piece(self._markup(one, has_program=has_program), one.item.found_at_bytes) for one in self._standing]
        tags = smoothed(tags[:count])
        body = Piece("<body>" + anchors if in_head or anchors else "")
        return laid_out([head, *tags[:in_head], body, *tags[in_head:]], self._realm.document.body_bytes)

    def _markup(self, one: Planned, *, has_program: bool) -> str:
        url = self._address(one.item, self._host)
        is_small = self._has_medium and one.item.kind is Kind.IMAGE and one.priority != "Medium"
        if one.carrier == "tag":
            before = IMAGE_FOR_SCANNER if one.needs_image else ""
            return before + tag_of(one, url, self._name(one), is_small=is_small)
        if has_program:
            return f"<script>{items_call([self._item(one)])}</script>"
        item = one.item
        plain = way_of(item.kind, item.chromium_priority, is_late=True, flags=item.flags, mime=item.mime)
        if not plain.tag:
            return f'<script>fetch("{url}")</script>' if item.kind is Kind.XHR else f"<link rel=stylesheet href={url}>"
        return tag_of(Planned(item, "tag", one.realm, plain, box=one.box), url, self._name(one), is_small=is_small)

    def _sheets(self) -> tuple[dict[str, str], str]:
        """Style sheets with their rules, and the elements that the rules are about."""
        of_sheet: dict[str, list[Planned]] = {}
        for one in self._realm.styled:
            of_sheet.setdefault(one.item.found_by or "", []).append(one)
        bodies, anchors = {}, []
        for name, styled in of_sheet.items():
            sheet = self._plan.planned[name].item
            images = [self._address(one.item, sheet.host) for one in styled if one.item.kind is Kind.IMAGE]
            fonts = [
                (self._name(one), self._address(one.item, sheet.host)) for one in styled if one.item.kind is Kind.FONT
            ]
            rules = "".join(face_rules(*font) for font in fonts)
            anchors += [f"<b id={font_name}>a</b>" for font_name, _ in fonts]
            if images:
                own = self._name(self._plan.planned[name])
                rules += background_rule(own, images)
                anchors.append(f"<b id={own}></b>")
            bodies[name] = _padded(rules, sheet)
        return bodies, "".join(anchors)

    def _name(self, one: Planned) -> str:
        return self._names.setdefault(one.item.id, f"x{len(self._names)}")


def _padded(text: str, item: Resource) -> str:
    """A script or style sheet with a comment at its end."""
    room = item.body_bytes - len(text)
    if room < _SCRIPT_COMMENT_BYTES:
        return text + "\n" * room
    return f"{text}/*{dots(room - _SCRIPT_COMMENT_BYTES)}*/"
