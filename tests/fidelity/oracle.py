"""What each recording of the corpus says was on the wire, read from the formats' own definitions.

This module owns the expectations of the fidelity test. It shares no code with wiretape: whatever both agree on was read
twice, by two readers. `expected(path)` gives the exchanges of one recording in recorded order; `sources(corpus)` lists
the recordings. Run as a program, it reads a whole corpus and prints how many exchanges there are per format.
"""

from __future__ import annotations

import base64
import collections
import json
import re
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

import yaml

BYTES = "bytes"
JSON = "json"

Headers = list[tuple[str, str]]


@dataclass
class Message:
    """One message of a WebSocket conversation, or the server's close."""

    sent: bool
    data: Any = None
    close: tuple[int, str] | None = None


@dataclass
class Wire:
    """One exchange. The bodies are what the two programs meant: no content-encoding, no transfer-encoding."""

    format: str
    method: str
    url: str
    request_headers: Headers
    request_body: bytes
    status: int
    response_headers: Headers
    response_body: bytes
    compare: str = BYTES
    messages: list[Message] = field(default_factory=list)

    @property
    def provider(self) -> str:
        return provider_of(self.url)


# --- which recordings there are ---------------------------------------------------------------------------------------


def sources(corpus: Path) -> list[Path]:
    """The recordings under a folder. A WireMock `mappings` folder is one recording."""
    found = set()
    for path in corpus.rglob("*"):
        if path.suffix not in (".yaml", ".yml", ".json", ".har") or "__files" in path.parts:
            continue
        found.add(path.parent if path.parent.name == "mappings" else path)
    return sorted(found)


def expected(path: Path) -> list[Wire]:
    """The exchanges of one recording, in recorded order. URLs keep their placeholders."""
    if path.is_dir():
        return list(of_wiremock(path))
    document = load(path)
    if isinstance(document, list):
        return [of_nock(item) for item in document]
    if "log" in document:
        return [of_har(item) for item in document["log"]["entries"]]
    if "http_interactions" in document:
        return [reader(item) for reader in [reader_of(path, document)] for item in document["http_interactions"]]
    if any("kind" in item for item in document["interactions"]):
        return list(of_frames(document["interactions"]))
    parsed = any("parsed_body" in side for item in document["interactions"] for side in item.values())
    return [of_vcrpy(item, "vcrpy-parsed" if parsed else "vcrpy") for item in document["interactions"]]


def reader_of(path: Path, document: dict):
    if document["recorded_with"].startswith("betamax"):
        return of_betamax
    name = "ruby-vcr-json" if path.suffix == ".json" else "ruby-vcr-yaml"
    return lambda item: of_ruby_vcr(item, name)


# --- YAML as data -----------------------------------------------------------------------------------------------------


class Yaml11(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as PyYAML and Psych write it. Tags of Python objects are read as data and never carried out."""


class Yaml12(Yaml11):
    """YAML as the npm package `yaml` writes it: a date is a string, and so are `yes` and `no`."""

    yaml_implicit_resolvers: dict = {}


YAML_12_CORE = [
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
]


def plain_python(loader, suffix: str, node):
    """The data inside a Python tag: the text, the items, or what the object was made from."""
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        items = loader.construct_sequence(node, deep=True)
        return items[0] if suffix.startswith("object/apply") and items else items
    mapping = loader.construct_mapping(node, deep=True)
    inner = mapping.get("state") or mapping.get("args")
    return inner[0] if isinstance(inner, (list, tuple)) and inner else mapping


def set_up_yaml() -> None:
    binary = yaml.constructor.SafeConstructor.construct_yaml_binary
    Yaml11.add_constructor("!binary", binary)
    Yaml11.add_multi_constructor("tag:yaml.org,2002:python/", plain_python)
    Yaml12.yaml_constructors = dict(Yaml11.yaml_constructors)
    Yaml12.yaml_multi_constructors = dict(Yaml11.yaml_multi_constructors)
    for name, pattern, first in YAML_12_CORE:
        firsts = list(first) + ([""] if name == "null" else [])
        Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"^(?:{pattern})$"), firsts)


set_up_yaml()


def load(path: Path) -> Any:
    content = path.read_bytes()
    if path.suffix in (".json", ".har"):
        return json.loads(content)
    return yaml.load(content, Yaml12 if ".har" in path.suffixes else Yaml11)


# --- the formats ------------------------------------------------------------------------------------------------------


def of_vcrpy(item: dict, name: str) -> Wire:
    request, response = item["request"], item["response"]
    headers = pairs(response["headers"])
    legacy = "status_code" in response
    if "parsed_body" in response:
        body, compare = as_json(response["parsed_body"]), JSON
    else:
        stored = response.get("content") if legacy else (response.get("body") or {}).get("string")
        body, compare = decoded(as_bytes(stored), headers), BYTES
    return Wire(
        format=name,
        method=request["method"].upper(),
        url=request["uri"],
        request_headers=pairs(request["headers"]),
        request_body=vcrpy_request_body(request),
        status=response["status_code"] if legacy else response["status"]["code"],
        response_headers=headers,
        response_body=body,
        compare=compare,
    )


def vcrpy_request_body(request: dict) -> bytes:
    if "parsed_body" in request:
        return as_json(request["parsed_body"])
    body = request.get("body")
    return as_json(body) if isinstance(body, (dict, list)) else as_bytes(body)


def of_ruby_vcr(item: dict, name: str) -> Wire:
    request, response = item["request"], item["response"]
    headers = pairs(response["headers"])
    return Wire(
        format=name,
        method=request["method"].upper(),
        url=request["uri"],
        request_headers=pairs(request["headers"]),
        request_body=stored_body(request.get("body")),
        status=response["status"]["code"],
        response_headers=headers,
        response_body=decoded(stored_body(response.get("body")), headers),
    )


def of_betamax(item: dict) -> Wire:
    request, response = item["request"], item["response"]
    headers = pairs(response["headers"])
    status = response["status_code"] if "status_code" in response else response["status"]["code"]
    return Wire(
        format="betamax",
        method=request["method"].upper(),
        url=request["uri"],
        request_headers=pairs(request["headers"]),
        request_body=stored_body(request.get("body")),
        status=status,
        response_headers=headers,
        response_body=decoded(stored_body(response["body"]), headers),
    )


def stored_body(body: Any) -> bytes:
    """A body of Ruby VCR or Betamax: a string, or the base64 of the bytes."""
    if not isinstance(body, dict):
        return as_bytes(body)
    if body.get("base64_string"):
        return base64.b64decode(body["base64_string"])
    return as_bytes(body.get("string"))


def of_nock(item: dict) -> Wire:
    raw = item["rawHeaders"]
    headers = pairs(raw) if isinstance(raw, dict) else [(text(k), text(v)) for k, v in zip(raw[::2], raw[1::2])]
    body, compare = nock_response(item, headers)
    return Wire(
        format="nock",
        method=item["method"].upper(),
        url=without_default_port(item["scope"]) + item["path"],
        request_headers=pairs(item.get("reqheaders") or {}),
        request_body=as_bytes(item["body"]) if isinstance(item["body"], str) else as_json(item["body"]),
        status=item["status"],
        response_headers=headers,
        response_body=body,
        compare=compare,
    )


def nock_response(item: dict, headers: Headers) -> tuple[bytes, str]:
    """Encoded content is a list of hex chunks, binary content is hex, JSON content is parsed, the rest is text."""
    response = item["response"]
    if values(headers, "content-encoding") and isinstance(response, list):
        return decoded(b"".join(bytes.fromhex(chunk) for chunk in response), headers), BYTES
    if item.get("responseIsBinary"):
        return bytes.fromhex(response), BYTES
    if isinstance(response, str):
        return response.encode(), BYTES
    return as_json(response), JSON


def without_default_port(scope: str) -> str:
    return re.sub(r"^(https://[^/]+):443$|^(http://[^/]+):80$", lambda m: m[1] or m[2], scope)


def of_har(item: dict) -> Wire:
    request, response = item["request"], item["response"]
    headers = [(header["name"], header["value"]) for header in response["headers"]]
    return Wire(
        format="har",
        method=request["method"].upper(),
        url=request["url"],
        request_headers=[(header["name"], header["value"]) for header in request["headers"]],
        request_body=har_request_body(request.get("postData")),
        status=response["status"],
        response_headers=headers,
        response_body=har_content(response["content"], headers),
    )


def har_request_body(post: dict | None) -> bytes:
    """`textJSON` stands for the text that JSON.stringify made of it."""
    if not post:
        return b""
    return as_json(post["textJSON"]) if "textJSON" in post else as_bytes(post.get("text"))


def har_content(content: dict, headers: Headers) -> bytes:
    """Polly keeps encoded content as a JSON array of base64 chunks; others keep one base64 of the decoded content."""
    stored = content.get("text") or ""
    if content.get("encoding") != "base64":
        return stored.encode()
    if stored.startswith("["):
        return decoded(b"".join(base64.b64decode(chunk) for chunk in json.loads(stored)), headers)
    return base64.b64decode(stored)


def of_wiremock(mappings: Path) -> Iterator[Wire]:
    """One exchange per stub, in the order in which they were recorded. URLs start with the path: no host is kept."""
    stubs = [json.loads(path.read_bytes()) for path in mappings.glob("*.json")]
    for stub in sorted(stubs, key=lambda stub: stub["insertionIndex"]):
        request, response = stub["request"], stub["response"]
        headers = pairs(response["headers"])
        patterns = request.get("bodyPatterns", [])
        yield Wire(
            format="wiremock",
            method=request["method"],
            url=request["url"],
            request_headers=[(name, match["equalTo"]) for name, match in request["headers"].items()],
            request_body=patterns[0]["equalToJson"].encode() if patterns else b"",
            status=response["status"],
            response_headers=headers,
            response_body=decoded(wiremock_body(response, mappings.parent / "__files"), headers),
        )


def wiremock_body(response: dict, files: Path) -> bytes:
    if "bodyFileName" in response:
        return (files / response["bodyFileName"]).read_bytes()
    if "base64Body" in response:
        return base64.b64decode(response["base64Body"])
    return as_json(response["jsonBody"]) if "jsonBody" in response else as_bytes(response.get("body"))


def of_frames(items: list[dict]) -> Iterator[Wire]:
    """WebSocket conversations, one per connection: a close ends one. Neither URL nor handshake is kept."""
    messages: list[Message] = []
    for item in items:
        if item["kind"] == "close":
            messages.append(Message(sent=False, close=(item["code"], item["reason"])))
            yield conversation(messages)
            messages = []
        else:
            messages.append(Message(sent=item["direction"] == "sent", data=item["data"]))
    if messages:
        yield conversation(messages)


def conversation(messages: list[Message]) -> Wire:
    return Wire("vcrpy-frames", "GET", "", [], b"", 101, [], b"", JSON, messages)


# --- values -----------------------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else str(value)


def as_bytes(value: Any) -> bytes:
    if value is None:
        return b""
    return value if isinstance(value, bytes) else value.encode()


def as_json(value: Any) -> bytes:
    """As JSON.stringify lays it out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def pairs(headers: dict) -> Headers:
    """A header map as lines; a list of values is one line each."""
    lines = []
    for name, value in (headers or {}).items():
        several = value if isinstance(value, (list, tuple)) else [value]
        lines += [(text(name), text(one)) for one in several]
    return lines


def values(headers: Headers, name: str) -> list[str]:
    return [value for key, value in headers if key.lower() == name]


def decoded(body: bytes, headers: Headers) -> bytes:
    """The content, whether it was stored as on the wire or already decoded with the header left in place."""
    codings = [coding.strip().lower() for value in values(headers, "content-encoding") for coding in value.split(",")]
    for coding in reversed([coding for coding in codings if coding not in ("", "identity")]):
        body = without_coding(body, coding)
    return body


def without_coding(body: bytes, coding: str) -> bytes:
    if coding in ("gzip", "x-gzip"):
        return gunzipped(body) if body.startswith(b"\x1f\x8b") else body
    if coding == "deflate":
        return inflated(body)
    raise ValueError(f"unknown content-encoding {coding!r}")


def gunzipped(body: bytes) -> bytes:
    """All members of a gzip stream."""
    content = b""
    while body:
        member = zlib.decompressobj(31)
        content += member.decompress(body) + member.flush()
        if not member.eof:
            raise ValueError("the gzip stream is cut short")
        body = member.unused_data
    return content


def inflated(body: bytes) -> bytes:
    for window in (15, -15):
        try:
            return zlib.decompress(body, window)
        except zlib.error:
            continue
    return body


# --- providers --------------------------------------------------------------------------------------------------------

PROVIDERS = [
    ("azure", r"\.azure\.com"),
    ("openai", r"api\.openai\.com"),
    ("anthropic", r"anthropic\.com"),
    ("gemini", r"generativelanguage\.googleapis\.com"),
    ("vertex", r"(aiplatform|oauth2)\.googleapis\.com"),
    ("bedrock", r"bedrock-(runtime|mantle)\."),
    ("sagemaker", r"sagemaker\."),
    ("github", r"github(3|usercontent|status)?\.(com|dev)|ENTERPRISE_|^/|github3\.com|ghe\.test"),
    ("mistral", r"api\.mistral\.ai"),
    ("groq", r"api\.groq\.com"),
    ("cohere", r"api\.cohere\.(com|ai)"),
    ("xai", r"\.x\.ai"),
    ("openrouter", r"openrouter\.ai"),
    ("perplexity", r"perplexity\.ai"),
    ("deepseek", r"deepseek\.com"),
    ("ollama", r"ollama\.com|:11434|OLLAMA_API_BASE"),
    ("replicate", r"replicate\.(com|net)"),
    ("together", r"together\.xyz"),
    ("voyageai", r"voyageai\.com"),
    ("writer", r"api\.writer\.com"),
    ("deepgram", r"deepgram\.com"),
    ("huggingface", r"huggingface\.(co|cloud)"),
    ("sourcegraph", r"sourcegraph\.com"),
]


def provider_of(url: str) -> str:
    """By host. The whole of a URL counts up to its path, so that a placeholder in place of a host is seen too."""
    host = re.match(r"(?:\w+://)?[^/?]*/?", url)[0]
    return next((name for name, pattern in PROVIDERS if re.search(pattern, host)), "other")


# --- as a program -----------------------------------------------------------------------------------------------------


def main(corpus: Path) -> None:
    files, exchanges, messages = collections.Counter(), collections.Counter(), 0
    for path in sources(corpus):
        wires = expected(path)
        files[wires[0].format] += 1
        for wire in wires:
            exchanges[wire.format] += 1
            messages += len(wire.messages)
    for name in sorted(files):
        print(f"{name:14} {files[name]:5} recordings {exchanges[name]:5} exchanges")
    http = sum(exchanges.values()) - exchanges["vcrpy-frames"]
    print(f"{'total':14} {sum(files.values()):5} recordings {http:5} HTTP exchanges, {messages} WebSocket messages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
