"""The real servers take our configurations, and answer with just the priorities that the rules say."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

import pytest

from mixedsched.advice.tuner.result import HeaderRule
from mixedsched.advice.tuner.ship._patterns import canonical, fits
from mixedsched.advice.tuner.ship._servers import server_file
from tests.advice.tuner.ship import servers

Start = Callable[[servers.Place, str], servers.Setup]
SERVERS = [
    pytest.param("nginx.conf", servers.nginx, id="nginx"),
    pytest.param("Caddyfile", servers.caddy, id="caddy"),
    pytest.param("apache.conf", servers.apache, id="apache"),
    pytest.param("h2o.conf", servers.h2o, id="h2o"),
]
HOSTILE = ('"; } evil {', "\u2028\u0085\n{$HOME}", "` \\", "*/ --> <?php ?> %{x}e ${x}")


def rule(match: str, value: str) -> HeaderRule:
    return HeaderRule(match, value, ("id\n} evil", *HOSTILE), "why\\\n<If true>", {"net\n;": 1.0})


ORDINARY = (
    rule("/", "u=0, i=?0"),
    rule("/img/hero.jpg", "u=1, i=?0"),
    rule("/img/*.jpg", "u=5, i"),
    rule("*.woff2", "u=2, i=?0"),
    rule("/js/*", "u=4"),
)
ORDINARY_PATHS = (
    "/", "/?q=/img/a.jpg", "/img/hero.jpg", "/img/hero.jpg?v=2", "/img/a.jpg", "/img/deep/hero.jpg?x", "/img/a.jpg.webp",
    "/fonts/a.woff2", "/js/", "/js/a/b.js", "/css/site.css?/js/", "/IMG/a.jpg", "/img/xjpg",
)  # fmt: skip

AWKWARD_NAMES = (
    "a b", "quo'te", 'dou"ble', "back`tick", "back\\slash", "100%", "per%41cent", "semi;colon", "brace{x}", "close}", "$uri",
    "${x}", "{env.HOME}", "hash#tag", "star*", "what?", "line\nend", "tab\tx", "caf\u00e9", "\u0444\u00fc\U0001f600",
    "\xa0nbsp", "\u202eright", "sq[u]are", "pi|pe", "ca^ret", "(group)", "do.t+plus", "<If>", "&amp;", "u=1,i", "~tilde",
    "%{THE_REQUEST}",
)  # fmt: skip
AWKWARD = (
    *(rule(canonical("/n/" + quote(name)), f"u={index % 8}, i=?0") for index, name in enumerate(AWKWARD_NAMES)),
    *(rule(canonical("/p/" + quote(name)) + "-*.x", f"u={index % 8}, i") for index, name in enumerate(AWKWARD_NAMES)),
)
AWKWARD_PATHS = tuple(
    path
    for name in AWKWARD_NAMES
    for path in (f"/n/{quote(name)}", f"/n/{quote(name)}x", f"/p/{quote(name)}-1.x", f"/p/{quote(name)}.x")
)


def meant(rules: Sequence[HeaderRule], target: str) -> list[str]:
    return [item.value for item in rules if fits(item.match, target)][:1]


@pytest.mark.parametrize(("name", "start"), SERVERS)
@pytest.mark.parametrize(
    ("rules", "targets"), [(ORDINARY, ORDINARY_PATHS), (AWKWARD, AWKWARD_PATHS)], ids=["plain", "odd"]
)
def test_a_server_takes_the_configuration_and_sends_what_it_says(
    name: str, start: Start, rules: Sequence[HeaderRule], targets: Sequence[str]
) -> None:
    with servers.place() as where:
        for target in targets:
            path = unquote(target.partition("?")[0])
            where.add_file(path + "index.html" if path.endswith("/") else path)
        setup = start(where, server_file(name, rules))
        setup.checked()
        with setup.running(where):
            assert servers.priorities(where, targets) == {target: meant(rules, target) for target in targets}


@pytest.mark.parametrize(("name", "start"), SERVERS)
def test_no_rules_are_a_configuration_too(name: str, start: Start) -> None:
    with servers.place() as where:
        start(where, server_file(name, ())).checked()


def test_nginx_forgets_the_header_where_a_location_has_its_own_as_the_file_says() -> None:
    with servers.place() as where:
        where.add_file("/own/a.jpg")
        where.add_file("/")
        setup = servers.nginx(where, server_file("nginx.conf", [rule("*.jpg", "u=5, i")]))
        with setup.running(where):
            assert servers.priorities(where, ["/own/a.jpg", "/b.jpg", "/app/b.jpg"]) == {
                "/own/a.jpg": [],
                "/b.jpg": ["u=5, i"],  # with status 404, too
                "/app/b.jpg": ["u=5, i"],  # whatever try_files makes of it
            }


def test_apache_reads_it_from_htaccess() -> None:
    with servers.place() as where:
        for path in ORDINARY_PATHS[:5]:
            where.add_file(path.partition("?")[0])
        setup = servers.apache(where, "")
        (where.root / ".htaccess").write_text(server_file("apache.conf", ORDINARY), encoding="utf-8")
        with setup.running(where):
            found = servers.priorities(where, ORDINARY_PATHS[:5])
            assert found == {target: meant(ORDINARY, target) for target in ORDINARY_PATHS[:5]}


def test_a_request_that_names_the_whole_address_is_meant_too() -> None:
    """As HTTP/1.1 allows, and Apache shows some of HTTP/2."""
    with servers.place() as where:
        where.add_file("/img/hero.jpg")
        setup = servers.apache(where, server_file("apache.conf", ORDINARY))
        with setup.running(where):
            connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=20)
            connection.request("GET", "http://localhost/img/hero.jpg")
            assert connection.getresponse().headers["priority"] == "u=1, i=?0"
            connection.close()
