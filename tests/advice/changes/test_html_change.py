"""A changed document differs in the change alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.changes import html_change
from mixedsched.advice.changes.change import Action, Change, Key
from mixedsched.advice.changes.html_change import (
    Document,
    changed_text,
    edits_of,
    head_place,
    start_tags,
    with_attribute,
)
from tests.advice.changes.shop import APP, BELOW, CSS, DOCUMENT, FONT, HERO, HOSTS, LATE, PAGE


def change(action: Action, *targets: Key, value: str = "") -> Change:
    return Change(action, targets, "a test wants it", value)


@pytest.mark.parametrize(
    ("wanted", "before", "after"),
    [
        (change(Action.FETCH_FIRST, HERO), '<img src="/hero.jpg"', '<img fetchpriority="high" src="/hero.jpg"'),
        (
            change(Action.FETCH_LAST, BELOW),
            '<img src="/below.jpg"><no',
            '<img fetchpriority="low" src="/below.jpg"><no',
        ),
        (change(Action.LAZY, BELOW), '<img src="/below.jpg"><no', '<img loading="lazy" src="/below.jpg"><no'),
        (change(Action.DEFER, LATE), '<script src="/late.js">', '<script defer src="/late.js">'),
        (
            change(Action.PRELOAD, FONT),
            '  <script src="/app.js">',
            '  <link rel="preload" as="font" href="/text.woff2" type="font/woff2" crossorigin>\n  <script src="/app.js">',
        ),
        (
            change(Action.PRELOAD, HERO),
            '  <script src="/app.js">',
            '  <link rel="preload" as="image" href="/hero.jpg" fetchpriority="high">\n  <script src="/app.js">',
        ),
    ],
)
def test_a_change_edits_its_tags_and_nothing_else(wanted: Change, before: str, after: str) -> None:
    assert changed_text(DOCUMENT, [wanted]) == DOCUMENT.text.replace(before, after)
    assert edits_of(DOCUMENT, wanted)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_tags_are_shown_as_their_author_wrote_them(encoding: str) -> None:
    document = Document('<img src="/hero.jpg" alt="caf\u00e9">'.encode(encoding).decode("latin-1"), PAGE, HOSTS)
    (edit,) = edits_of(document, change(Action.FETCH_FIRST, HERO))
    assert edit.before == '<img src="/hero.jpg" alt="caf\u00e9">'
    assert edit.after == '<img fetchpriority="high" src="/hero.jpg" alt="caf\u00e9">'


def test_a_change_for_the_server_leaves_the_document_alone() -> None:
    header = change(Action.HEADER, HERO, value="u=1")
    assert changed_text(DOCUMENT, [header]) == DOCUMENT.text
    assert edits_of(DOCUMENT, header) == []


def test_changes_add_up_and_do_not_disturb_each_other() -> None:
    text = changed_text(
        DOCUMENT, [change(Action.DEFER, APP, LATE), change(Action.FETCH_FIRST, HERO), change(Action.PRELOAD, FONT)]
    )
    assert text.count(" defer ") == 2
    assert text.index("preload") < text.index("/app.js") < text.index('fetchpriority="high" src="/hero.jpg"')


def test_bytes_that_are_no_text_survive() -> None:
    raw = b'<html><head><script src="/app.js"></script></head><img src="/hero.jpg" alt="\xff\xfe\x80">'
    document = Document(raw.decode("latin-1"), PAGE, HOSTS)
    changed = changed_text(document, [change(Action.FETCH_FIRST, HERO)]).encode("latin-1")
    assert changed == raw.replace(b"<img ", b'<img fetchpriority="high" ')


@pytest.mark.parametrize(
    "hidden",
    [
        '<!-- <img src="/hero.jpg"> -->',
        "<script>'<img src=\"/hero.jpg\">'</script>",
        '<noscript><img src="/hero.jpg"></noscript>',
        '<template><img src="/hero.jpg"></template>',
        '<template><textarea></template></textarea><img src="/hero.jpg"></template>',
        '<textarea><img src="/hero.jpg"></textarea>',
        '<title><img src="/hero.jpg"></title>',
        '<style>/* <img src="/hero.jpg"> */</style>',
        '<img src="/other.jpg">',
        '<img src="https://other.test/hero.jpg">',
        '<img alt="/hero.jpg">',
    ],
)
def test_what_a_browser_does_not_load_as_that_file_is_not_touched(hidden: str) -> None:
    document = Document(f"<html><head></head><body>{hidden}</body></html>", PAGE, HOSTS)
    assert changed_text(document, [change(Action.FETCH_FIRST, HERO)]) == document.text


@pytest.mark.parametrize(
    ("tag", "after"),
    [
        ('<img loading="lazy" src="a">', '<img loading="eager" src="a">'),
        ("<img src=a LOADING=lazy>", '<img src=a loading="eager">'),
        ("<img src=a loading='lazy'/>", '<img src=a loading="eager"/>'),
        ("<img loading src=a>", '<img loading="eager" src=a>'),
        ('<img data-loading="lazy" src=a>', '<img loading="eager" data-loading="lazy" src=a>'),
        ("<img>", '<img loading="eager">'),
        ("<IMG\n src=a>", '<IMG loading="eager"\n src=a>'),
        ('<img src="/img/loading/a.jpg">', '<img loading="eager" src="/img/loading/a.jpg">'),
        ('<img alt="still loading here" src=a>', '<img loading="eager" alt="still loading here" src=a>'),
        ("<img alt='x loading=lazy' loading=lazy>", "<img alt='x loading=lazy' loading=\"eager\">"),
        ('<img src="a"loading="lazy">', '<img src="a"loading="eager">'),
        ("<img loading = 'lazy'src=a>", '<img loading="eager"src=a>'),
    ],
)
def test_an_attribute_that_is_there_is_replaced(tag: str, after: str) -> None:
    assert with_attribute(tag, "loading", "eager") == after
    assert with_attribute(after, "loading", "eager") == after


def test_a_script_whose_address_has_the_word_is_deferred_all_the_same() -> None:
    assert with_attribute('<script src="/defer/app.js">', "defer", None) == '<script defer src="/defer/app.js">'


def test_images_are_found_by_their_srcset_too() -> None:
    document = Document('<head></head><img srcset="/hero.jpg 2x, /small.jpg">', PAGE, HOSTS)
    assert 'fetchpriority="high"' in changed_text(document, [change(Action.FETCH_FIRST, HERO)])


def test_what_follows_a_hidden_part_is_seen_again_whatever_stands_in_it() -> None:
    hidden = (
        "<template><template></template><img></template><textarea><template></textarea><noscript><title></noscript>"
    )
    assert [tag.name for tag in start_tags(f"{hidden}<img>")] == ["template", "textarea", "noscript", "img"]


@pytest.mark.parametrize(
    "src", ["/café.jpg".encode(), "/café.jpg".encode("latin-1"), b"/caf&eacute;.jpg", b"/caf%C3%A9.jpg"]
)
def test_letters_beyond_ascii_are_understood_however_an_address_has_them(src: bytes) -> None:
    """As UTF-8, as a reference, percent-encoded, or in the coding of an older document."""
    document = Document((b'<head></head><img src="' + src + b'">').decode("latin-1"), PAGE, HOSTS)
    assert document.tags_of([(0, "/caf%C3%A9.jpg")], "img")


def test_a_document_is_read_once_for_all_its_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have hundreds of images, each of which is looked for."""
    read: list[str] = []
    monkeypatch.setattr(html_change._Reader, "feed", lambda _, text: read.append(text))
    document = Document("<head></head><!-- of this test alone -->", PAGE, HOSTS)
    for _ in range(3):
        assert not document.tags_of([HERO], "img")
        assert not document.offers_choice(HERO)
    assert len(read) == 1


def test_a_document_with_a_base_or_without_a_head_is_left_to_its_owner() -> None:
    assert DOCUMENT.can_be_changed
    for text in ('<head><base href="/x/"></head>', "<p>no head, nothing loaded"):
        assert not Document(text, PAGE, HOSTS).can_be_changed
    assert head_place("<p>no head") is None


PIECES = st.sampled_from(
    ['<img src="/hero.jpg">', "<img src='/below.jpg' alt=\"a > b\">", "<p class=x>", "text & more < than", "<!-- c -->", "\n",
     "<script>if (a<b) {}</script>", "<noscript>", "</noscript>", "\u00e9", "<br/>", "</p>"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_without_its_attribute_a_changed_document_is_the_old_one(body: str) -> None:
    document = Document(f"<html><head><title>t</title></head><body>{body}</body></html>", PAGE, HOSTS)
    changed = changed_text(document, [change(Action.FETCH_LAST, HERO, BELOW)])
    assert re.sub(' fetchpriority="low"', "", changed) == document.text
    assert changed_text(Document(changed, PAGE, HOSTS), [change(Action.FETCH_LAST, HERO, BELOW)]) == changed


# Random letters hardly ever make a tag.
SCRAPS = st.sampled_from(
    ["<", ">", "/", "=", '"', "'", " ", "\n", "!--", "-->", "img", "<IMG", "src", "<script", "</", "d\u00e9"]
)


@given(st.lists(SCRAPS | PIECES, max_size=20).map("".join))
def test_tags_of_any_text_lie_where_they_are_said_to(text: str) -> None:
    for tag in start_tags(text):
        assert text[tag.begin] == "<"
        assert text[tag.begin + 1 : tag.end].lower().startswith(tag.name)


def test_a_style_sheet_can_be_preloaded_from_another_host() -> None:
    page = PAGE.model_copy(
        update={"resources": (*PAGE.resources, PAGE.by_path()[CSS].model_copy(update={"host": 1, "id": "x"}))}
    )
    document = Document(DOCUMENT.text, page, ("shop.test", "cdn.test"))
    (edit,) = edits_of(document, change(Action.PRELOAD, (1, CSS[1])))
    assert edit.after == '<link rel="preload" as="style" href="https://cdn.test/site.css">'
