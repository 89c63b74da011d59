"""A stand-in for rtkit on a bus: `python -m tests.world.emulator.rtkit_stand_in ADDRESS_OF_BUS [MOOD]`.

It prints "ready", then each call that it gets as JSON. In the mood "kind" it does what rtkit does, as far as it is allowed
itself; "stern" it refuses, as where polkit knows no session; "silent" it never answers.
"""

from __future__ import annotations

import json
import os
import sys

from jeepney import HeaderFields, Message, MessageType, new_error, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.RealtimeKit1"
LONGEST_US = 200_000


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def _reply(message: Message, mood: str) -> Message | None:
    if mood == "silent":
        return None
    match message.header.fields[HeaderFields.member], message.body:
        case "Get", (interface, "RTTimeUSecMax") if interface == NAME:
            return new_method_return(message, "v", (("x", LONGEST_US),))
        case "MakeThreadRealtimeWithPID", (process, thread, priority) if mood == "kind" and process == thread:
            os.sched_setscheduler(process, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
            return new_method_return(message)
    return new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "s", ("Access denied",))


def main(address: str, mood: str = "kind") -> None:
    with open_dbus_connection(address) as connection:
        connection.send_and_get_reply(message_bus.RequestName(NAME))
        _say("ready")
        while True:
            message = connection.receive()
            if message.header.message_type is not MessageType.method_call:
                continue
            fields = message.header.fields
            call = {"path": fields[HeaderFields.path], "member": fields[HeaderFields.member], "body": message.body}
            _say(json.dumps({**call, "signature": fields.get(HeaderFields.signature)}))
            answer = _reply(message, mood)
            if answer is not None:
                connection.send(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
