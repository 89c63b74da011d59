"""Which rules of RFC 9114 and RFC 9218 a server keeps, seen from outside: probes, and the judging of what was seen.

    seen      one connection from the client's side
    frames    what is sent, legal or not, and with which code the connection must be closed
    orders    requests for one large file, and who must get which share
    verdict   words for it

Pure: `world.client.talk` speaks to the server, `lab.conform` runs the probes.
"""
