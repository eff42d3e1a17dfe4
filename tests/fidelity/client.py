"""A plain client: HTTP/1.1 and WebSocket through a proxy as one session, and HTTP over a Unix socket.

This module owns the bytes that the fidelity test sends. It uses the standard library alone and adds no header of its own,
so that nothing but the recording and the proxy decides what is compared.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import Any

from oracle import Headers, decoded

TIMEOUT = 60
SENT_BY_THE_CLIENT_ITSELF = {
    "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
    "accept-encoding", "proxy-authorization", "proxy-connection",
}  # fmt: skip


@dataclass
class Answer:
    status: int
    headers: Headers
    body: bytes


@dataclass
class Address:
    """A URL as a client needs it: the target is kept to the letter."""

    tls: bool
    host: str
    port: int
    authority: str
    target: str


def address_of(url: str) -> Address:
    parts = re.fullmatch(r"(https?|wss?)://([^/?#]+)([^#]*)(?:#.*)?", url)
    if not parts:
        raise ValueError(f"not a URL that can be requested: {url}")
    scheme, authority, target = parts.groups()
    tls = scheme in ("https", "wss")
    host, _, port = authority.rpartition(":") if re.search(r":\d+$", authority) else (authority, "", "")
    if not target.startswith("/"):
        target = "/" + target
    return Address(tls, host, int(port or (443 if tls else 80)), authority, target)


class Proxy:
    """A proxy at an address, used as one session."""

    def __init__(self, host: str, port: int, session: str | None, trust: ssl.SSLContext):
        self.host, self.port, self.trust = host, port, trust
        self.credentials = {}
        if session is not None:
            token = base64.b64encode(f"{session}:".encode()).decode()
            self.credentials = {"Proxy-Authorization": f"Basic {token}"}

    def ask(self, method: str, url: str, headers: Headers, body: bytes) -> Answer:
        """One request on a connection of its own; the answer's body is decoded."""
        to = address_of(url)
        connection = self.connection(to)
        try:
            connection.putrequest(method, to.target if to.tls else url, skip_host=True, skip_accept_encoding=True)
            for name, value in self.lines(to, method, headers, body):
                connection.putheader(name, value.encode("utf-8", "surrogateescape"))
            connection.endheaders(body or None)
            response = connection.getresponse()
            got = response.getheaders()
            return Answer(response.status, got, decoded(response.read(), got))
        finally:
            connection.close()

    def connection(self, to: Address) -> http.client.HTTPConnection:
        if not to.tls:
            return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT, context=self.trust)
        connection.set_tunnel(to.host, to.port, self.credentials)
        return connection

    def lines(self, to: Address, method: str, headers: Headers, body: bytes) -> Headers:
        """What is sent: what was recorded, but framed by this client."""
        own = [("host", to.authority)]
        if not to.tls:
            own += self.credentials.items()
        if body or method in ("POST", "PUT", "PATCH"):
            own.append(("content-length", str(len(body))))
        accepted = [value for name, value in headers if name.lower() == "accept-encoding"]
        own.append(("accept-encoding", ", ".join(accepted) or "gzip, deflate"))
        return own + [(name, value) for name, value in headers if name.lower() not in SENT_BY_THE_CLIENT_ITSELF]

    def socket_to(self, url: str) -> "WebSocket":
        to = address_of(url)
        if not to.tls:
            raise ValueError("a WebSocket without TLS is not in the corpus")
        connection = self.connection(to)
        connection.connect()
        return WebSocket(connection.sock, to)


# --- WebSocket --------------------------------------------------------------------------------------------------------

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Closed(Exception):
    """The server closed the conversation."""

    def __init__(self, code: int | None, reason: str):
        super().__init__(f"closed with {code} {reason!r}")
        self.code, self.reason = code, reason


class WebSocket:
    """The client's side of RFC 6455, without extensions."""

    def __init__(self, sock: socket.socket, to: Address):
        self.sock = sock
        self.stream = sock.makefile("rb")
        self.handshake(to)

    def handshake(self, to: Address) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {to.target} HTTP/1.1", f"Host: {to.authority}", "Connection: Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", "", "",
        ]  # fmt: skip
        self.sock.sendall("\r\n".join(lines).encode())
        status = self.stream.readline()
        head = []
        while (line := self.stream.readline()) not in (b"\r\n", b""):
            head.append(line)
        if b" 101 " not in status + b" ":
            raise ValueError(f"the handshake was answered with {status.decode('latin-1').strip()}")

    def say(self, payload: bytes, opcode: int = TEXT) -> None:
        mask = os.urandom(4)
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        self.sock.sendall(head + mask + masked(payload, mask))

    def hear(self) -> bytes:
        """The next whole message. Pings are answered; a close is raised."""
        message = b""
        while True:
            final, opcode, payload = self.frame()
            if opcode == PING:
                self.say(payload, PONG)
            elif opcode == CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if payload else None
                raise Closed(code, payload[2:].decode())
            elif opcode != PONG:
                message += payload
                if final:
                    return message

    def frame(self) -> tuple[bool, int, bytes]:
        first, second = self.exactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self.exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.exactly(8))
        return bool(first & 0x80), first & 0x0F, self.exactly(size)

    def exactly(self, count: int) -> bytes:
        content = self.stream.read(count)
        if len(content) != count:
            raise Closed(None, "the connection ended")
        return content

    def leave(self) -> None:
        try:
            self.say(struct.pack("!H", 1000), CLOSE)
            while True:
                self.hear()
        except (Closed, OSError):
            pass
        finally:
            self.stream.close()
            self.sock.close()


def masked(payload: bytes, mask: bytes) -> bytes:
    if not payload:
        return b""
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(payload), "big")


# --- the control API --------------------------------------------------------------------------------------------------


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str):
        super().__init__("wiretape", timeout=TIMEOUT)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Control:
    """The control API of a proxy, over its Unix socket."""

    def __init__(self, path: str):
        self.path = path

    def call(self, method: str, route: str, body: Any = None) -> Any:
        connection = UnixConnection(self.path)
        try:
            content = None if body is None else json.dumps(body)
            headers = {} if body is None else {"content-type": "application/json"}
            connection.request(method, route, content, headers)
            response = connection.getresponse()
            answer = response.read()
            if response.status >= 400:
                raise ControlRefused(response.status, answer.decode("utf-8", "replace"))
            return json.loads(answer)
        finally:
            connection.close()

    def create(self, name: str, cassette: str) -> dict:
        return self.call("POST", "/v1/sessions", {"name": name, "cassette": cassette})

    def verdict(self, name: str) -> dict:
        return self.call("GET", f"/v1/sessions/{name}/verdict")

    def end(self, name: str) -> dict:
        return self.call("DELETE", f"/v1/sessions/{name}")


class ControlRefused(Exception):
    def __init__(self, status: int, words: str):
        super().__init__(f"the control API answered {status}: {words}")
        self.status = status
