"""Who counts as one client, where each gets so much, whatever addresses it can choose from."""

import ipaddress

from mixedsched.core.h3.session import Address


def client_of(address: Address) -> str:
    """The key that counts as one client: an IPv4 address, or the /64 network that one IPv6 subscriber has."""
    host = str(address[0]).partition("%")[0]
    parsed = ipaddress.ip_address(host)
    if parsed.version == 4:
        return host
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((host, 64), strict=False))
