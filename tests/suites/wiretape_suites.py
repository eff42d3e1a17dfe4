"""A pytest plugin that sends a suite's recorded traffic through wiretape instead of its in-process recorder.

Loaded with `-p wiretape_suites`; `scripts/suites` sets what it reads from the environment:

    WIRETAPE_SUITES_MODE       `own`: leave the recorder alone, only watch it. `proxy`: switch it off and use wiretape.
    WIRETAPE_SUITES_REPORT     where to write what became of each test (JSON)
    WIRETAPE_SUITES_CASSETTES  in proxy mode: a JSON file, folder of recordings -> folder of their imported counterparts
    WIRETAPE_SUITES_EMPTY      in proxy mode: a cassette without exchanges
    WIRETAPE_SUITES_PROXY      in proxy mode: the proxy as HOST:PORT
    WIRETAPE_CONTROL           in proxy mode: the control API of the proxy, as `wiretape env` prints it
                               (and WIRETAPE_CONTROL_TOKEN, where it is reached over TCP)

In proxy mode a process (each xdist worker is one) has one session, whose name is in the proxy URL from the start, before
the suite's own modules are imported: a client that reads its proxy once, when it is made, stays right. Each use of a
cassette loads the imported counterpart into that session, and a test that uses none finds an empty cassette, so that
nothing left over from another test can answer it.
"""

import contextlib
import http.client
import json
import os
import socket
from pathlib import Path

import pytest

# What a proxy variable may be called; some clients read only one spelling.
PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
NO_PROXY_VARIABLES = ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy")


class Control:
    """The control API of a running proxy. One connection per call: a test may leave threads and loops in any state."""

    def __init__(self, address, token=None, timeout=60):
        self.address = address
        self.token = token
        self.timeout = timeout

    def call(self, method, path, body=None):
        connection = self._connection()
        headers = {"content-type": "application/json"} if body is not None else {}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status >= 300:
            raise ControlError(f"{method} {path}: {response.status} {text}")
        return json.loads(text)

    def _connection(self):
        if self.address.startswith("unix:"):
            return UnixConnection(self.address.removeprefix("unix:"), self.timeout)
        host, port = self.address.removeprefix("http://").rstrip("/").rsplit(":", 1)
        return http.client.HTTPConnection(host, int(port), timeout=self.timeout)


class ControlError(Exception):
    pass


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Watch:
    """Notes which cassettes a test uses. With its own recorder in charge there is nothing more to do."""

    def __init__(self):
        self.test = None

    def begin(self, nodeid):
        self.test = {"cassettes": [], "absent": [], "played": 0, "missed": 0, "misses": [], "unplayed": 0}

    def load(self, recording):
        recording = Path(recording).absolute()
        self.note("cassettes", recording)
        if not recording.exists():
            self.note("absent", recording)
        return recording

    def unload(self, played):
        if self.test is not None:
            self.test["played"] += played

    def note(self, key, recording):
        if self.test is not None:
            self.test[key].append(os.path.relpath(recording))

    def finish(self):
        """What is known of the current test."""
        return self.test


class Tape(Watch):
    """Loads the imported counterpart of a recording into this process's session, and keeps the score."""

    def __init__(self, control, session, folders, empty):
        super().__init__()
        self.control = control
        self.session = session
        self.folders = [(Path(source), Path(imported)) for source, imported in folders.items()]
        self.empty = empty
        self.before = self.control.call(
            "POST", "/v1/sessions", {"name": session, "mode": "replay", "cassette": str(empty)}
        )

    def begin(self, nodeid):
        super().begin(nodeid)
        self._put(self.empty)

    def load(self, recording):
        recording = super().load(recording)
        self._score()
        imported = self._counterpart(recording)
        if imported is None or not imported.exists():
            if recording.exists():
                self.note("absent", recording)
            imported = self.empty
        self._put(imported)

    def unload(self, played):
        # What the recorder played is nothing here; the proxy knows.
        unplayed = self._score()["unplayed"]
        if self.test is not None:
            self.test["unplayed"] += len(unplayed)
        self._put(self.empty)

    def finish(self):
        self._score()
        return self.test

    def _put(self, cassette):
        self.before = self.control.call("PUT", f"/v1/sessions/{self.session}/cassette", {"path": str(cassette)})

    def _score(self):
        """Adds what happened since the last look. Counts may start anew with a cassette or go on: both are right here."""
        verdict = self.control.call("GET", f"/v1/sessions/{self.session}/verdict")
        if self.test is not None:
            missed = verdict["missed"] - self.before["missed"]
            self.test["played"] += verdict["played"] - self.before["played"]
            self.test["missed"] += missed
            self.test["misses"] += verdict["misses"][len(verdict["misses"]) - missed:] if missed else []
        self.before = {"missed": verdict["missed"], "played": verdict["played"]}
        return verdict

    def _counterpart(self, recording):
        for source, imported in self.folders:
            with contextlib.suppress(ValueError):
                return imported / recording.relative_to(source).with_suffix(".yaml")
        return None


def set_up_proxy(session, proxy):
    # The password says nothing, but without one requests sends no user name either, and botocore wants it not to be empty.
    for name in PROXY_VARIABLES:
        os.environ[name] = f"http://{session}:x@{proxy}"
    for name in NO_PROXY_VARIABLES:
        os.environ.pop(name, None)
    os.environ["NO_PROXY"] = ""


def watch_vcrpy(tape, off):
    """pytest-recording, pytest-vcr, `use_cassette` as decorator or context: all come through the patch generator."""
    try:
        from vcr.cassette import CassetteContextDecorator
    except ImportError:
        return
    original = CassetteContextDecorator._patch_generator

    def patch_generator(self, cassette):
        extra = getattr(getattr(cassette, "_persister", None), "extra_paths", None)
        assert not extra, f"more than one cassette for a test: {extra}"
        tape.load(cassette._path)
        if off:
            yield cassette
        else:
            yield from original(self, cassette)
        tape.unload(cassette.play_count)

    CassetteContextDecorator._patch_generator = patch_generator


def watch_betamax(tape, off):
    try:
        from betamax import Betamax
    except ImportError:
        return
    use_cassette, stop = Betamax.use_cassette, Betamax.stop

    # The cassette is still read by Betamax: tests ask the recorder for it. But no adapter of the session is replaced.
    def watched_use_cassette(self, cassette_name, **options):
        recorder = use_cassette(self, cassette_name, **options)
        tape.load(self.current_cassette.cassette_path)
        return recorder

    def watched_stop(self):
        played = sum(1 for each in self.current_cassette.interactions if each.used) if self.current_cassette else 0
        stop(self)
        tape.unload(played)

    Betamax.use_cassette = watched_use_cassette
    Betamax.stop = watched_stop
    if off:
        Betamax.start = lambda self: None


class Plugin:
    def __init__(self, tape, report):
        self.tape = tape
        self.report = report
        self.tests = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.tape.begin(item.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        # After the fixtures went, the score is final. The report of the call is the one that is shown.
        report.wiretape = dict(self.tape.finish())
        if report.wiretape["misses"] and report.when != "teardown":
            report.sections.append(("wiretape: calls that were not on the cassette", told(report.wiretape["misses"])))
        return report

    def pytest_runtest_logreport(self, report):
        test = self.tests.setdefault(report.nodeid, {"outcome": "passed", "detail": None})
        test.update(getattr(report, "wiretape", {}))
        if report.failed:
            test["outcome"] = "failed" if report.when == "call" else "error"
            test["detail"] = first_words(report)
        elif report.skipped and test["outcome"] == "passed":
            test["outcome"] = "xfailed" if hasattr(report, "wasxfail") else "skipped"

    def pytest_collectreport(self, report):
        if report.failed:
            self.tests[report.nodeid] = {"outcome": "error", "detail": first_words(report)}

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            Path(self.report).write_text(json.dumps({"tests": self.tests}, indent=1, sort_keys=True) + "\n")


def told(misses):
    return "\n".join(f"{miss['method']} {miss['url']}\n{miss.get('explanation', '')}" for miss in misses)


def first_words(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    words = crash.message if crash else str(report.longrepr)
    return (words.strip().splitlines() or [""])[0][:300]


def start():
    mode = os.environ["WIRETAPE_SUITES_MODE"]
    if mode == "proxy":
        session = f"suite-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
        set_up_proxy(session, os.environ["WIRETAPE_SUITES_PROXY"])
        tape = Tape(
            Control(os.environ["WIRETAPE_CONTROL"], os.environ.get("WIRETAPE_CONTROL_TOKEN")),
            session,
            json.loads(Path(os.environ["WIRETAPE_SUITES_CASSETTES"]).read_text()),
            Path(os.environ["WIRETAPE_SUITES_EMPTY"]),
        )
    else:
        tape = Watch()
    watch_vcrpy(tape, off=mode == "proxy")
    watch_betamax(tape, off=mode == "proxy")
    return Plugin(tape, os.environ["WIRETAPE_SUITES_REPORT"])


def pytest_configure(config):
    config.pluginmanager.register(PLUGIN, "wiretape_suites_plugin")


PLUGIN = start()
