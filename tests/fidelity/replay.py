"""Replays a corpus of real recordings through wiretape and compares every answer with the oracle's.

This module owns the run and its report: it imports each folder of the corpus, starts one replaying proxy, gives every
recording a session of its own, sends what the recording's client sent, and holds each answer against `oracle.expected`.

    python tests/fidelity/replay.py WIRETAPE CORPUS OUT [--roundtrip] [--only TEXT] [--threads N]

It prints a table and one line per failure, writes both to OUT/report.json, and exits with 1 if anything failed or was refused.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import filecmp
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path

import oracle
from client import Closed, Control, Proxy
from oracle import JSON, Headers, Message, Wire

# What stands in recorded URLs in place of something private, and what the test puts there.
SUBSTITUTIONS = {
    "<AWS_REGION>": "us-east-1",
    "<GOOGLE_CLOUD_PROJECT>": "project-1",
    "<GOOGLE_CLOUD_LOCATION>": "global",
    "<OLLAMA_API_BASE>": "http://localhost:11434/v1",
    "<GPUSTACK_API_BASE>": "http://localhost:11444/v1",
    "<GITHUB_LOGIN>": "octo-login",
    "<GITHUB_COLLABORATOR_LOGIN>": "octo-collaborator",
    "<GITHUB_TEST_REPOSITORY>": "octo-repository",
    "<GITHUB_TEST_REPOSITORY_ID>": "1001",
    "<GITHUB_TEST_ORGANIZATION>": "octo-organization",
    "<GITHUB_TEST_ORG_TEAM_ID>": "1002",
    "<GITHUB_TEAM_ID>": "1003",
    "<GITHUB_TEST_INTEGRATION_INSTALLATION>": "1004",
    "<<ENTERPRISE_HOSTNAME>>": "https://ghe.test/api/v3/",
    "<<ENTERPRISE_MANAGEMENT_CONSOLE_ENDPOINT>>": "https://ghe.test:8443/",
    "<<ENTERPRISE_MANAGEMENT_CONSOLE_PASSWORD>>": "console-password",
}

# Where requests went, for folders of recordings that do not say it.
ORIGINS = {"hub4j+github-api": "https://api.github.com"}
SOCKETS = {
    "test_openai_ws": "wss://api.openai.com/v1/realtime",
    "test_azure_ws": "wss://pydantic-ai-realtime-dev.openai.azure.com/openai/v1/realtime",
    "test_google_ws": "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "test_xai_ws": "wss://api.x.ai/v1/realtime",
}

# Recordings that may be refused, by their path in the corpus, each with the reason.
MAY_BE_REFUSED: dict[str, str] = {}

# Headers of one connection, or of how its bytes were framed. `alt-svc` names a way around the proxy and is never replayed.
NOT_COMPARED = {
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade",
    "content-length", "content-encoding", "alt-svc",
}  # fmt: skip
# What a client gets where a secret stood.
REDACTED_BYTES = re.compile(rb"redacted-[a-z-]+-[0-9]{6}|[\w.+/-]*DUMMY[\w.+/=-]*|https://redacted\.invalid/[0-9]+")
REDACTED = re.compile(REDACTED_BYTES.pattern.decode())


@dataclass
class Row:
    """One line of the table."""

    files: int = 0
    imported: int = 0
    refused: int = 0
    exchanges: int = 0
    byte_equal: int = 0
    json_equal: int = 0
    redacted_bodies: int = 0
    redacted_values: int = 0
    failed: int = 0


@dataclass
class Failure:
    file: str
    interaction: int | None
    what: str

    def __str__(self) -> str:
        at = "" if self.interaction is None else f" [{self.interaction}]"
        return f"{self.file}{at}: {self.what}"


@dataclass
class Recording:
    """A recording of the corpus, what it says, and where its cassette is to be."""

    name: str
    source: Path
    cassette: Path
    wires: list[Wire]

    @property
    def row(self) -> tuple[str, str]:
        return self.wires[0].format, self.wires[0].provider


@dataclass
class Report:
    rows: dict[tuple[str, str], Row] = field(default_factory=lambda: collections.defaultdict(Row))
    failures: list[Failure] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, row: tuple[str, str], **counts: int) -> None:
        with self.lock:
            for name, count in counts.items():
                setattr(self.rows[row], name, getattr(self.rows[row], name) + count)

    def fail(self, file: str, interaction: int | None, what: str) -> None:
        with self.lock:
            self.failures.append(Failure(file, interaction, " ".join(what.split())[:600]))

    def total(self) -> Row:
        sums = Row()
        for row in self.rows.values():
            for name, count in asdict(row).items():
                setattr(sums, name, getattr(sums, name) + count)
        return sums


# --- the recordings ---------------------------------------------------------------------------------------------------


def recordings(corpus: Path, cassettes: Path, only: str) -> list[Recording]:
    return [
        Recording(name, source, cassette_of(cassettes / name), [completed(wire, source) for wire in oracle.expected(source)])
        for source in oracle.sources(corpus)
        for name in [source.relative_to(corpus).as_posix()]
        if only in name
    ]


def cassette_of(path: Path) -> Path:
    """The cassette that an import makes of a recording at the same place."""
    stem = re.sub(r"\.(har\.yaml|yaml\.gz|json|yml|har|yaml)$", "", path.name)
    return path.with_name(stem + ".yaml")


def completed(wire: Wire, source: Path) -> Wire:
    """With the URL that a client can ask for."""
    wire.url = substituted(wire.url)
    if wire.url.startswith("/"):
        wire.url = next(origin for folder, origin in ORIGINS.items() if folder in source.parts) + wire.url
    if wire.messages:
        wire.url = SOCKETS[source.parent.name]
    return wire


def substituted(url: str) -> str:
    for text, value in SUBSTITUTIONS.items():
        url = url.replace(text, value)
    return url


# --- import and export ------------------------------------------------------------------------------------------------


class Wiretape:
    """The program under test, with a state folder of its own."""

    def __init__(self, program: Path, state: Path):
        self.program = program
        self.environment = {**os.environ, "XDG_STATE_HOME": str(state), "NO_COLOR": "1"}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self.program, *map(str, arguments)], env=self.environment, cwd="/", text=True, errors="replace", capture_output=True
        )

    def imports(self, source: Path, out: Path, *options: str) -> subprocess.CompletedProcess:
        out.parent.mkdir(parents=True, exist_ok=True)
        return self.run("import", source, "-o", out, *options)


def import_all(wiretape: Wiretape, corpus: Path, cassettes: Path, wanted: list[Recording]) -> str:
    """Each folder of the corpus at once; recordings of sockets one by one, since each kind has an origin of its own."""
    common = [word for text, value in SUBSTITUTIONS.items() for word in ("--substitute", f"{text}={value}")]
    said = []
    for folder in sorted({recording.name.split("/")[0] for recording in wanted}):
        origin = ["--origin", ORIGINS[folder]] if folder in ORIGINS else []
        done = wiretape.imports(corpus / folder, cassettes / folder, *common, *origin)
        said.append(f"== {folder} (exit code {done.returncode})\n{done.stdout}{done.stderr}")
    for recording in wanted:
        if recording.wires[0].messages:
            recording.cassette.unlink(missing_ok=True)
            done = wiretape.imports(recording.source, recording.cassette, "--origin", recording.wires[0].url)
            said.append(f"== {recording.name} (exit code {done.returncode})\n{done.stdout}{done.stderr}")
    return "\n".join(said)


def roundtrip(wiretape: Wiretape, wanted: list[Recording], cassettes: Path, out: Path, threads: int, report: Report) -> dict:
    """Exports every cassette, imports the exports, and compares the cassettes byte by byte."""
    there = [recording for recording in wanted if recording.cassette.exists()]
    counts = {}
    for form, suffix in (("har", ".har"), ("vcrpy", ".yaml")):
        exported, again = out / form / "exported", out / form / "imported"
        shutil.rmtree(out / form, ignore_errors=True)

        def export(recording: Recording) -> str | None:
            place = (exported / recording.cassette.relative_to(cassettes)).with_suffix(suffix)
            place.parent.mkdir(parents=True, exist_ok=True)
            done = wiretape.run("export", "--to", form, recording.cassette, "-o", place)
            return None if done.returncode == 0 else f"export --to {form} failed: {done.stderr}"

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            problems = list(pool.map(export, there))
        done = wiretape.imports(exported, again)
        (out / f"import-{form}.txt").write_text(done.stdout + done.stderr)
        same = 0
        for recording, problem in zip(there, problems):
            second = again / recording.cassette.relative_to(cassettes)
            problem = problem or difference(recording.cassette, second)
            if problem:
                report.fail(recording.name, None, f"roundtrip by {form}: {problem}")
            else:
                same += 1
        counts[form] = {"cassettes": len(there), "identical": same}
    return counts


def difference(first: Path, second: Path) -> str | None:
    """The first line that differs, or which large body does."""
    if not second.exists():
        return "the export was not imported"
    left, right = first.read_bytes().splitlines(), second.read_bytes().splitlines()
    for number, (one, other) in enumerate(zip(left + [b"(end)"], right + [b"(end)"]), 1):
        if one != other:
            return f"line {number}: {one[:120].decode(errors='replace')!r} became {other[:120].decode(errors='replace')!r}"
    if len(left) != len(right) or first.read_bytes() != second.read_bytes():
        return "the last lines differ"
    return blobs_differ(first.with_name(first.name + ".blobs"), second.with_name(second.name + ".blobs"))


def blobs_differ(first: Path, second: Path) -> str | None:
    names = [{blob.name for blob in folder.glob("*")} for folder in (first, second)]
    if names[0] != names[1]:
        return f"other large bodies: {len(names[0])} became {len(names[1])}"
    _, differ, missing = filecmp.cmpfiles(first, second, names[0], shallow=False) if names[0] else ([], [], [])
    return f"{len(differ + missing)} large bodies differ" if differ or missing else None


# --- the proxy --------------------------------------------------------------------------------------------------------


class RunningProxy:
    """A replaying proxy with a session folder, its control API and its certificate authority."""

    def __init__(self, wiretape: Wiretape, sessions: Path, log: Path):
        self.log = log
        with log.open("w") as stderr:
            self.process = subprocess.Popen(
                [wiretape.program, "proxy", "--mode", "replay", "--sessions", sessions, "--quiet", "--pace", "instant"],
                env=wiretape.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
            )  # fmt: skip
        try:
            self.host, self.port = self.address()
            self.control = Control(self.control_path())
            self.trust = ssl.create_default_context(cafile=self.authority(wiretape))
        except BaseException:
            self.stop()
            raise

    def address(self) -> tuple[str, int]:
        line = self.process.stdout.readline()
        found = re.search(r"(127\.0\.0\.1|localhost|\[::1\]):(\d+)", line)
        if not found:
            raise SystemExit(f"the proxy did not start: {line}{self.log.read_text()}")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return found[1], int(found[2])

    def control_path(self) -> str:
        for _ in range(100):
            if found := re.search(r"control: unix:(\S+)", self.log.read_text()):
                return found[1]
            threading.Event().wait(0.05)
        raise SystemExit(f"the proxy does not say where its control API is: {self.log.read_text()}")

    def authority(self, wiretape: Wiretape) -> str:
        done = wiretape.run("env", "--format", "json", "--port", str(self.port))
        if done.returncode:
            raise SystemExit(f"wiretape env failed: {done.stderr}")
        return json.loads(done.stdout)["set"]["SSL_CERT_FILE"]

    def as_session(self, name: str) -> Proxy:
        return Proxy(self.host, self.port, name, self.trust)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# --- one recording ----------------------------------------------------------------------------------------------------


def replay(proxy: RunningProxy, session: str, recording: Recording, report: Report) -> None:
    """Sends everything that a recording's client sent, in recorded order, and lets the session end."""
    try:
        proxy.control.create(session, str(recording.cassette))
    except Exception as error:
        report.add(recording.row, exchanges=len(recording.wires), failed=len(recording.wires))
        report.fail(recording.name, None, f"no session: {error}")
        return
    through = proxy.as_session(session)
    good = True
    for index, wire in enumerate(recording.wires):
        outcome = exchange(through, wire)
        good = good and not outcome.problem
        tell(recording, index, wire, outcome, report)
    verdict = proxy.control.end(session)
    if good and not verdict["strict_passed"]:
        report.fail(recording.name, None, f"the session ended with {verdict['missed']} misses, unplayed {verdict['unplayed']}")


def tell(recording: Recording, index: int, wire: Wire, outcome: "Outcome", report: Report) -> None:
    row = wire.format, wire.provider
    report.add(row, exchanges=1, redacted_values=outcome.redacted)
    if outcome.problem:
        report.add(row, failed=1)
        report.fail(recording.name, index, f"{wire.method} {wire.url[:100]}: {outcome.problem}")
    else:
        report.add(row, **{outcome.equal: 1})


@dataclass
class Outcome:
    """How an answer compares: which way its body is equal, or what is wrong."""

    problem: str | None = None
    equal: str = "byte_equal"
    redacted: int = 0


def exchange(through: Proxy, wire: Wire) -> Outcome:
    try:
        return converse(through, wire) if wire.messages else ask(through, wire)
    except Exception as error:
        return Outcome(f"{type(error).__name__}: {error}")


def ask(through: Proxy, wire: Wire) -> Outcome:
    answer = through.ask(wire.method, wire.url, wire.request_headers, wire.request_body)
    if answer.status != wire.status:
        return Outcome(f"status {answer.status}, not {wire.status}: {answer.body[:400].decode(errors='replace')}")
    body = compared_bodies(wire, answer.body)
    if body.problem:
        return body
    headers = compared_headers(wire.response_headers, answer.headers)
    return Outcome(headers.problem, body.equal, body.redacted + headers.redacted)


def compared_bodies(wire: Wire, got: bytes) -> Outcome:
    if got == wire.response_body:
        return Outcome()
    if wire.compare == JSON and as_data(got) == as_data(wire.response_body):
        return Outcome(equal="json_equal")
    if count := len(REDACTED_BYTES.findall(got)):
        if same_but_for_redacted(wire, got):
            return Outcome(equal="redacted_bodies", redacted=count)
    return Outcome(bytes_differ(wire.response_body, got))


def same_but_for_redacted(wire: Wire, got: bytes) -> bool:
    """A placeholder stands for any run of text; everything around it is as recorded."""
    want = wire.response_body
    if wire.compare == JSON and isinstance(data := as_data(got), (dict, list)):
        got = oracle.as_json(data)
    around = [re.escape(piece) for piece in REDACTED_BYTES.split(got)]
    return re.fullmatch(b"[^\\n]*?".join(around), want) is not None


def as_data(content: bytes):
    """JSON as data; something that equals nothing if it is not JSON."""
    try:
        return json.loads(content)
    except ValueError:
        return object()


def bytes_differ(want: bytes, got: bytes) -> str:
    at = next((i for i, (one, other) in enumerate(zip(want, got)) if one != other), min(len(want), len(got)))
    near = slice(max(0, at - 20), at + 40)
    return f"body of {len(got)} bytes, not {len(want)}; from byte {at}: {got[near]!r}, not {want[near]!r}"


def compared_headers(want: Headers, got: Headers) -> Outcome:
    """Value by value under each name. A redacted value is counted and not compared."""
    wanted, answered = by_name(want), by_name(got)
    redacted = 0
    for name in wanted.keys() | answered.keys():
        recorded, replayed = wanted.get(name, []), answered.get(name, [])
        if len(recorded) != len(replayed):
            return Outcome(f"header {name}: {replayed}, not {recorded}")
        for one, other in zip(recorded, replayed):
            if other != one and REDACTED.search(other):
                redacted += 1
            elif one != other:
                return Outcome(f"header {name}: {other!r}, not {one!r}")
    return Outcome(redacted=redacted)


def by_name(headers: Headers) -> dict[str, list[str]]:
    names = collections.defaultdict(list)
    for name, value in headers:
        if name.lower() not in NOT_COMPARED:
            names[name.lower()].append(value.strip(" \t"))
    return names


def converse(through: Proxy, wire: Wire) -> Outcome:
    """Speaks the client's half of a WebSocket conversation and compares the server's."""
    socket = through.socket_to(wire.url)
    redacted = 0
    try:
        for index, message in enumerate(wire.messages):
            if message.sent:
                socket.say(oracle.as_json(message.data))
                continue
            problem, count = heard(socket, message)
            redacted += count
            if problem:
                return Outcome(f"message {index}: {problem}", redacted=redacted)
        return Outcome(equal="json_equal", redacted=redacted)
    finally:
        socket.leave()


def heard(socket, message: Message) -> tuple[str | None, int]:
    """What is wrong with the server's next message, and how many placeholders it holds."""
    try:
        got = socket.hear()
    except Closed as closed:
        if message.close == (closed.code, closed.reason):
            return None, 0
        return str(closed), 0
    if message.close:
        return f"{got[:100]!r}, not a close with {message.close}", 0
    want = oracle.as_json(message.data)
    outcome = compared_bodies(Wire("", "", "", [], b"", 0, [], want, JSON), got)
    return outcome.problem, outcome.redacted


# --- the run ----------------------------------------------------------------------------------------------------------


def main() -> int:
    options = arguments()
    cassettes = options.out / "cassettes"
    shutil.rmtree(cassettes, ignore_errors=True)
    cassettes.mkdir(parents=True)
    wanted = recordings(options.corpus, cassettes, options.only)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="wiretape-fidelity-") as state:
        wiretape = Wiretape(options.wiretape, Path(state))
        (options.out / "import.txt").write_text(import_all(wiretape, options.corpus, cassettes, wanted))
        count_imports(wanted, report)
        replay_all(wiretape, cassettes, options, wanted, report)
        trips = roundtrip(wiretape, wanted, cassettes, options.out / "roundtrip", options.threads, report) if options.roundtrip else {}
    report.failures.sort(key=lambda failure: (failure.file, -1 if failure.interaction is None else failure.interaction))
    print_report(report, trips)
    write_report(options.out / "report.json", report, trips)
    return 1 if report.failures else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wiretape", type=Path, help="the program under test")
    parser.add_argument("corpus", type=Path, help="the folder of recordings")
    parser.add_argument("out", type=Path, help="where cassettes and the report go; its `cassettes` folder is made anew")
    parser.add_argument("--roundtrip", action="store_true", help="also export every cassette, import it, and compare")
    parser.add_argument("--only", default="", metavar="TEXT", help="only recordings with this text in their path")
    parser.add_argument("--threads", type=int, default=3)
    options = parser.parse_args()
    for name in ("wiretape", "corpus", "out"):
        setattr(options, name, getattr(options, name).resolve())
    return options


def count_imports(wanted: list[Recording], report: Report) -> None:
    for recording in wanted:
        imported = recording.cassette.exists()
        report.add(recording.row, files=1, imported=int(imported), refused=int(not imported))
        if imported:
            continue
        if reason := MAY_BE_REFUSED.get(recording.name):
            report.allowed.append(f"{recording.name}: {reason}")
        else:
            report.fail(recording.name, None, "refused by import (see import.txt)")


def replay_all(wiretape: Wiretape, cassettes: Path, options: argparse.Namespace, wanted: list[Recording], report: Report) -> None:
    there = [recording for recording in wanted if recording.cassette.exists()]
    proxy = RunningProxy(wiretape, cassettes, options.out / "proxy.txt")
    try:
        with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
            list(pool.map(lambda item: replay(proxy, f"case-{item[0]}", item[1], report), enumerate(there)))
    finally:
        proxy.stop()


COLUMNS = list(asdict(Row()))


def print_report(report: Report, trips: dict) -> None:
    lines = [("format", "provider", *(name.replace("_", "-") for name in COLUMNS))]
    lines += [(*row, *map(str, asdict(counts).values())) for row, counts in sorted(report.rows.items())]
    lines.append(("total", "", *map(str, asdict(report.total()).values())))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) if column < 2 else cell.rjust(width) for column, (cell, width) in enumerate(zip(line, widths))))
    for form, counts in trips.items():
        print(f"roundtrip by {form}: {counts['identical']} of {counts['cassettes']} cassettes are identical")
    for allowed in report.allowed:
        print(f"refused, as it may be: {allowed}")
    for failure in report.failures:
        print(f"FAILED {failure}")


def write_report(path: Path, report: Report, trips: dict) -> None:
    rows = [{"format": form, "provider": provider, **asdict(counts)} for (form, provider), counts in sorted(report.rows.items())]
    content = {
        "rows": rows,
        "total": asdict(report.total()),
        "roundtrip": trips,
        "allowed": report.allowed,
        "failures": [asdict(failure) for failure in report.failures],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
