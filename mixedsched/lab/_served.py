"""The arms of a comparison with what serves them: a site's files, or edges before an application that runs."""

from collections.abc import Sequence
from dataclasses import replace

from mixedsched.lab.bench import Say, ServedArm
from mixedsched.lab.model import Arm
from mixedsched.lab.plan import WITH_RULES, arms_of, refuse_servers
from mixedsched.sites.application import LiveOptions, open_application
from mixedsched.sites.opening import open_site
from mixedsched.sites.site import Origins, Site, site_digest


def planned_arms(
    schemes: Sequence[str], mapping: str | None, live: LiveOptions | None, *, against_itself: bool
) -> list[Arm]:
    """As `arms_of`; and one scheme with the operator's rules is compared without and with them."""
    arms = arms_of(schemes, mapping, against_itself=against_itself)
    if live is not None:
        refuse_servers(arms)
    if live is None or live.rules is None or len(arms) != 1:
        return arms
    (arm,) = arms
    return [arm, replace(arm, label=arm.label + WITH_RULES)]


def opened_site(site: Site | str, origins: Origins | None, live: LiveOptions | None, say: Say) -> Site:
    """Raises as `open_site` and `open_application`."""
    if live is not None:
        return open_application(str(site), live, say)
    return open_site(site, origins, say) if isinstance(site, str) else site


def served_arms(arms: Sequence[Arm], site: Site) -> tuple[ServedArm, ...]:
    """All by one site. Where one arm is marked as that with an operator's rules, the others do without."""
    if not any(arm.label.endswith(WITH_RULES) for arm in arms) or site.application is None:
        digest = site_digest(site)
        return tuple(ServedArm(arm, site, digest) for arm in arms)
    bare = replace(site, application=replace(site.application, rules=None, rules_digest=""))
    sites = [site if arm.label.endswith(WITH_RULES) else bare for arm in arms]
    return tuple(ServedArm(arm, item, site_digest(item)) for arm, item in zip(arms, sites, strict=True))
