"""Says what its input tells it, byte for byte, and reads as much as it is told to: as no HTTP library does."""
import base64
import json
import os
import socket
import struct
import sys
import urllib.parse

plan = json.load(sys.stdin)
proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
held = []


def call(step, held_open):
    connection = socket.create_connection((proxy.hostname, proxy.port), timeout=30)
    connection.sendall(base64.b64decode(step["send"]))
    reader = connection.makefile("rb")
    status = reader.readline()
    if not status.startswith(b"HTTP/1.1 "):
        raise SystemExit(f"{step['place']}: {status!r}")
    length, line = 0, None
    while line not in (b"\r\n", b""):
        line = reader.readline().lower()
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        elif line.startswith(b"transfer-encoding:"):
            length = None
    if status.split()[1] == b"101":
        connection.sendall(base64.b64decode(step["frames"]))
    if plan["replayed"]:
        # What stands in for a secret has a length of its own.
        print(status.decode().split()[1], step["place"], flush=True)
        if status.split()[1] == b"101":
            connection.shutdown(socket.SHUT_WR)
            reader.read()
        elif length is None:
            chunked(reader)
        else:
            reader.read(length)
        return
    expected = step["cut"] if step["breaks_off"] else step["whole"]
    # More would wait for what never comes.
    got = reader.read(expected) if expected is not None else chunked(reader)
    if expected is not None and len(got) != expected:
        raise SystemExit(f"{step['place']}: {len(got)} bytes instead of {expected} after {status!r}: {got[:200]!r}")
    if held_open:
        held.append((connection, reader))
        return
    if step["breaks_off"] and step["resets"]:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reader.close()
    connection.close()


def chunked(reader):
    while reader.readline() not in (b"0\r\n", b""):
        pass
    while reader.readline() not in (b"\r\n", b""):
        pass


for line in plan["say"]:
    print(line, flush=True)
for step in plan["steps"]:
    call(step, False)
for step in plan["held"]:
    call(step, True)
if plan["held"]:
    print("held", flush=True)
    # The upstream says no more: this ends with the proxy, or with a signal.
    while held:
        connection, reader = held.pop()
        try:
            reader.read()
        except OSError:
            pass
