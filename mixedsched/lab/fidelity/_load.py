"""A load to check a site by: our server on loopback, no network in between, a fresh Chromium."""

from mixedsched.lab.fidelity._compare import Fidelity, compare
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site
from mixedsched.world.browser.observation import Observation, ObservationJob
from mixedsched.world.browser.observe import Observer
from mixedsched.world.browser.pageload import FormFactor
from mixedsched.world.browser.profiles import make_profile_dir, remove_profile_dir
from mixedsched.world.server.running import ServerInput, running_server

_QUIET_S = 2.0
_LIMIT_S = 60.0
_SLACK_S = 1.5  # for work, and for what the page holds back to keep its order


async def check_site(site: Site, form_factor: FormFactor = "mobile") -> Fidelity:
    """Load a site once, and compare the load with its manifest.

    Raises MixedschedError if the site cannot be served, and PageLoadFailed if there is no load to judge.
    """
    return compare(site, *await observed(site, form_factor))


async def observed(site: Site, form_factor: FormFactor) -> tuple[Observation, int]:
    """The load itself, and the number of connections that carried its requests. Raises as check_site."""
    bodies_dir = make_profile_dir()
    try:
        async with running_server(ServerInput(served_site(site)), site.name) as server, Observer() as observer:
            job = ObservationJob(
                url=site.url,
                hosts=dict.fromkeys(site.hosts, server.facts.address[1]),
                spki_sha256=(server.facts.spki_sha256,),
                form_factor=form_factor,
                quiet_s=quiet_s(site),
                limit_s=max(_LIMIT_S, 3 * quiet_s(site)),
                bodies_dir=bodies_dir,
                screenshot=True,
            )
            seen = await observer.observe(job)
            requests, _ = server.take_log()
            return seen, len({request["connection"] for request in requests})
    finally:
        remove_profile_dir(bodies_dir)


def quiet_s(site: Site) -> float:
    """How long there must be no traffic for the page to be over: a little more than its longest think time."""
    longest_ms = max(item.delay_ms for item in site.page.resources)
    return max(_QUIET_S, min(longest_ms / 1000 + _SLACK_S, _LIMIT_S / 3))
