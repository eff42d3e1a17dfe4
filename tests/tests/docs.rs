//! The documentation, held against the program: what a page shows is run, what it links to is there, and the reference
//! pages name every flag and every key. How a page marks its blocks is told in `docs/README.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    thread,
};

use wiretape_tests::{
    clients,
    sandbox::{Running, Sandbox, Stream},
    upstream::Upstream,
};

#[test]
fn every_block_marked_to_run_does_what_it_shows() {
    let runnable = |page: &Page| page.blocks.iter().any(|block| block.marker.starts_with("run"));
    let pages: Vec<Page> = pages().into_iter().filter(runnable).collect();
    for expected in ["README.md", "docs/tutorial.md"] {
        assert!(pages.iter().any(|page| page.name == expected), "{expected} has nothing to run");
    }
    thread::scope(|scope| {
        for page in &pages {
            thread::Builder::new().name(page.name.clone()).spawn_scoped(scope, || run(page)).unwrap();
        }
    });
}

#[test]
fn every_configuration_that_a_page_shows_is_accepted() {
    let sandbox = Sandbox::new();
    let mut shown = 0;
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.marker == "config") {
            sandbox.write("shown.yaml", &block.text);
            let doctor = sandbox.wiretape("doctor").args(["--config", "shown.yaml"]).run();
            assert!(
                doctor.stdout().contains("configuration from shown.yaml"),
                "{}:{}: {doctor}",
                page.name,
                block.line
            );
            shown += 1;
        }
    }
    assert!(shown > 0, "no page shows a configuration");
}

#[test]
fn every_relative_link_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<PathBuf, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.clone(), page.anchors())).collect();
    let mut broken = Vec::new();
    for page in &pages {
        for link in page.links() {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.path.clone(),
                file => page.path.parent().unwrap().join(file),
            };
            let Ok(target) = target.canonicalize() else {
                broken.push(format!("{}: {link}", page.name));
                continue;
            };
            let known = anchors.get(&target).is_none_or(|known| known.contains(anchor));
            if !anchor.is_empty() && !known {
                broken.push(format!("{}: {link}: no such heading", page.name));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_tool_that_people_come_from_has_a_guide_that_is_linked_and_run() {
    let pages = pages();
    for tool in ["vcrpy", "ruby-vcr", "nock", "polly", "go-vcr", "wiremock", "mitmproxy", "hoverfly"] {
        let guide = format!("guides/from-{tool}.md");
        let page = pages.iter().find(|page| page.name == format!("docs/{guide}"));
        let page = page.unwrap_or_else(|| panic!("there is no {guide}"));
        let imports =
            |block: &Block| block.marker.starts_with("run") && block.text.contains("wiretape import ");
        assert!(page.blocks.iter().any(imports), "{guide} shows no import that is run");
        for (index, link) in [("docs/README.md", guide.clone()), ("README.md", format!("docs/{guide}"))] {
            let index = pages.iter().find(|page| page.name == index).unwrap();
            assert!(index.links().contains(&link), "{} does not link to {link}", index.name);
        }
    }
}

#[test]
fn the_command_reference_names_every_flag_and_no_other() {
    let page = Page::read("docs/reference/commands.md");
    let sandbox = Sandbox::new();
    for command in commands(&sandbox, &[]) {
        let section = page.section(&format!("`wiretape {}`", command.join(" ")));
        let help = help(&sandbox, &command);
        assert_eq!(flags(&section), flags(&help), "flags of {command:?}, documented and offered");
    }
    let everywhere = page.section("Everywhere");
    for flag in GLOBAL {
        assert!(everywhere.contains(flag), "{flag}");
    }
}

#[test]
fn the_configuration_reference_names_every_key_and_no_other() {
    let top = keys_read_by("cli/src/config.rs");
    let under = |parent: &'static str, source: &str| {
        keys_read_by(source).into_iter().map(move |key| format!("{parent}.{key}"))
    };
    let within_match = under("match", "cassettes/src/format/policy.rs");
    let rules = "cli/src/config/rules.rs";
    let accepted: BTreeSet<String> = top
        .into_iter()
        .chain(within_match)
        .chain(under("redact", rules))
        .chain(under("keep", rules))
        .collect();
    let page = Page::read("docs/reference/configuration.md");
    let documented = page.headings().filter_map(|heading| {
        let key = heading.trim_start_matches('#').trim().strip_prefix('`')?;
        key.strip_suffix('`').map(str::to_owned)
    });
    assert_eq!(documented.collect::<BTreeSet<_>>(), accepted);
}

#[test]
fn shown_output_fits_only_what_differs_where_it_may() {
    let fit = |shown: &str, said: &str| fits(&comparable(shown), &comparable(said));
    assert!(fit("played 3  (1.5 s)\n", "played 3 (12 ms)\n"));
    assert!(!fit("played 3 (1.5 s)\n", "played 2 (1.5 s)\n"));
    assert!(fit("a [..] c\n[...]\nz\n", "a b c\n1\n2\nz\n"));
    assert!(!fit("a [..] c\n", "a b d\n"));
    assert!(!fit("a\n", "a\nb\n"));
    assert!(!fit("  a\n", "a\n"));
}

/// Runs a page's blocks in order, in one sandbox, with something in place of the real hosts.
fn run(page: &Page) {
    let sandbox = Sandbox::new();
    let upstream = match &page.upstream {
        Some(cassette) => StandIn::Played(Played::start(cassette)),
        None => StandIn::Made(Upstream::start()),
    };
    let path = install(&sandbox, &upstream.flags());
    for file in &page.copies {
        let content = fs::read(clients::workspace().join(file)).unwrap();
        sandbox.write(Path::new(file).file_name().unwrap(), content);
    }
    let mut exports: Vec<(String, String)> = Vec::new();
    let mut status = 0;
    for block in &page.blocks {
        let place = format!("{}:{}", page.name, block.line);
        if let Some(name) = block.marker.strip_prefix("file: ") {
            sandbox.write(name, &block.text);
        }
        if !block.marker.starts_with("run") {
            continue;
        }
        for (command, shown) in block.commands() {
            if let Some((name, value)) = command.strip_prefix("export ").and_then(|e| e.split_once('=')) {
                exports.push((name.to_owned(), value.to_owned()));
                continue;
            }
            assert!(
                status == 0 || command == "echo $?",
                "{place}: a command exited with {status}, and the page does not show it before `{command}`"
            );
            // As on a terminal: both outputs in one, and `$?` of the command before.
            let script = format!("exec 2>&1; (exit {status}); {command}");
            let mut invocation =
                sandbox.program("sh").args(["-c", &script]).env("PATH", &path).env("PYTHONUNBUFFERED", "1");
            for (name, value) in &exports {
                invocation = invocation.env(name, value);
            }
            let outcome = invocation.run();
            let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
            assert!(
                fits(&block.general(&shown), &comparable(&said)),
                "{place}: `{command}`\n--- shown\n{shown}--- said\n{said}"
            );
            status = outcome.code().unwrap();
        }
    }
    assert_eq!(status, 0, "{}: the last command failed", page.name);
}

/// What answers in place of the real hosts.
enum StandIn {
    Made(Upstream),
    Played(Played),
}

impl StandIn {
    fn flags(&self) -> Vec<String> {
        match self {
            Self::Made(upstream) => {
                let ca = ["--upstream-ca".to_owned(), upstream.ca_file().display().to_string()];
                let maps = upstream.connect_to().into_iter().flat_map(|map| ["--connect-to".to_owned(), map]);
                ca.into_iter().chain(maps).collect()
            }
            Self::Played(played) => {
                vec!["--upstream-proxy".into(), played.url.clone(), "--upstream-ca".into(), played.ca.clone()]
            }
        }
    }
}

/// Another wiretape, far away: it plays the page's own upstream, so that the page can show answers worth reading.
struct Played {
    url: String,
    ca: String,
    _proxy: Running,
    _sandbox: Sandbox,
}

impl Played {
    fn start(cassette: &Path) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("wiretape.yaml", "match: {compare: uri, on_repeat: cycle}\n");
        let ca = sandbox.wiretape("ca").arg("init").run().exits(0);
        let proxy = sandbox.wiretape("proxy").args(["--mode", "replay", "-c"]).arg(cassette).spawn();
        let url = proxy.wait_for(Stream::Stdout, |line| line.starts_with("http://").then(|| line.to_owned()));
        Self { url, ca: ca.stdout().trim().to_owned(), _proxy: proxy, _sandbox: sandbox }
    }
}

/// Puts a `wiretape` on the path that finds the stand-in without a word of it on the page.
fn install(sandbox: &Sandbox, upstream: &[String]) -> String {
    let bin = sandbox.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\ncommand=$1; shift\ncase $command in\n  record|auto|proxy) set -- {} \"$@\" ;;\nesac\nexec '{}' \"$command\" \"$@\"\n",
        upstream.join(" "),
        binary().display()
    );
    fs::write(bin.join("wiretape"), script).unwrap();
    fs::set_permissions(bin.join("wiretape"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink(clients::node_modules(), sandbox.path("node_modules")).unwrap();
    let python = clients::python();
    let folders = [bin.as_path(), python.parent().unwrap()];
    let inherited = env::var_os("PATH").unwrap_or_default();
    let all = folders.into_iter().map(Path::to_owned).chain(env::split_paths(&inherited));
    env::join_paths(all).unwrap().into_string().unwrap()
}

/// The binary that the harness runs, built by it if need be.
fn binary() -> PathBuf {
    Sandbox::new().wiretape("--version").run().exits(0);
    env::var_os("WIRETAPE_BIN").map_or_else(
        || {
            let test = env::current_exe().unwrap();
            test.ancestors().nth(2).unwrap().join("wiretape")
        },
        PathBuf::from,
    )
}

/// One Markdown file.
struct Page {
    name: String,
    path: PathBuf,
    text: String,
    /// The cassette that plays the real hosts, where the page names one.
    upstream: Option<PathBuf>,
    /// Files of the workspace that the page's commands use.
    copies: Vec<String>,
    blocks: Vec<Block>,
}

/// A fenced block and the comment right before it.
struct Block {
    line: usize,
    marker: String,
    text: String,
}

impl Page {
    fn read(name: &str) -> Self {
        let path = clients::workspace().join(name).canonicalize().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let named = |what| text.lines().filter_map(comment).filter_map(move |c| c.strip_prefix(what));
        let upstream = named("upstream: ").map(|file| clients::workspace().join(file)).next();
        let copies = named("copy: ").map(str::to_owned).collect();
        Self { name: name.to_owned(), blocks: blocks(&text), path, text, upstream, copies }
    }

    /// Lines outside fenced blocks.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut fenced = false;
        self.text.lines().filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
    }

    fn headings(&self) -> impl Iterator<Item = &str> {
        self.prose().filter(|line| line.starts_with('#'))
    }

    /// Headings as GitHub names them in links.
    fn anchors(&self) -> BTreeSet<String> {
        let slug = |heading: &str| {
            let kept = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        };
        self.headings().map(slug).collect()
    }

    /// Targets of `[text](target)` that are not on another host.
    fn links(&self) -> Vec<String> {
        let targets =
            self.prose().flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        targets.filter(|target| !target.contains("://")).map(str::to_owned).collect()
    }

    /// What stands under a second-level heading.
    fn section(&self, heading: &str) -> String {
        let wanted = format!("## {heading}");
        let from = self.text.lines().skip_while(|line| *line != wanted);
        let mut lines = from.peekable();
        assert!(lines.next().is_some(), "{} has no `{wanted}`", self.name);
        lines.take_while(|line| !line.starts_with("## ")).fold(String::new(), |text, line| text + line + "\n")
    }
}

impl Block {
    /// Each command with the lines that the page shows under it.
    fn commands(&self) -> Vec<(String, String)> {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in self.text.replace("\\\n", "").lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((as_installed(command), String::new())),
                (None, Some((_, shown))) => *shown += &format!("{line}\n"),
                (None, None) => panic!("line {}: output before a command", self.line),
            }
        }
        commands
    }

    /// Shown text with what varies made into wildcards.
    fn general(&self, shown: &str) -> Vec<String> {
        let varies = self.marker.split_once("varies: ").map_or("", |(_, list)| list);
        let words = varies.split(", ").filter(|word| !word.is_empty());
        let general = words.fold(shown.to_owned(), |text, word| text.replace(word, ANY));
        comparable(&general)
    }
}

/// `cargo run --` is what stands in for an installed `wiretape` in a checkout.
fn as_installed(command: &str) -> String {
    command.replacen("cargo run -- ", "wiretape ", 1)
}

fn pages() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned(), "CHANGELOG.md".into(), "SECURITY.md".into()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(clients::workspace().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                folders.push(name);
            } else if name.ends_with(".md") {
                names.push(name);
            }
        }
    }
    names.iter().map(|name| Page::read(name)).collect()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut marker = "";
    let mut lines = (1..).zip(text.lines());
    while let Some((line, content)) = lines.next() {
        if content.starts_with("```") {
            let inside = lines.by_ref().map(|(_, line)| line);
            let text = inside
                .take_while(|line| !line.starts_with("```"))
                .fold(String::new(), |text, line| text + line + "\n");
            let marker = marker.to_owned();
            blocks.push(Block { line, marker, text });
        }
        marker = comment(content).unwrap_or("");
    }
    blocks
}

fn comment(line: &str) -> Option<&str> {
    Some(line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim())
}

/// Text line by line as it is compared: no durations, no column widths.
fn comparable(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().collect();
        let inner = without_durations(&words.join(" "));
        format!("{}{inner}", " ".repeat(indent))
    };
    // A cassette leaves a duration of nothing out.
    let is_timing = |line: &String| matches!(line.trim(), "at: <time>" | "after: <time>");
    text.lines().map(line).filter(|line| !is_timing(line)).collect()
}

/// `12 ms`, `1.5s` and their like are another every time.
fn without_durations(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let after_word = rest[..start].ends_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
        let number =
            rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len() - start);
        let (before, tail) = rest.split_at(start + number);
        let unit = tail.trim_start_matches(' ');
        let end = ["ms", "s"].into_iter().find_map(|name| {
            let end = unit.strip_prefix(name)?;
            (!end.starts_with(|c: char| c.is_alphanumeric())).then_some(end)
        });
        match end.filter(|_| !after_word) {
            Some(end) => {
                out += &rest[..start];
                out += "<time>";
                rest = end;
            }
            None => {
                out += before;
                rest = tail;
            }
        }
    }
    out + rest
}

/// Whether what was said is what is shown: `[..]` is any text in a line, `[...]` on its own any lines.
fn fits(shown: &[String], said: &[String]) -> bool {
    match (shown.split_first(), said.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first.trim() == ANY_LINES => {
            (0..=said.len()).any(|skipped| fits(rest, &said[skipped..]))
        }
        (Some((first, shown)), Some((line, said))) => line_fits(first, line) && fits(shown, said),
        _ => false,
    }
}

fn line_fits(shown: &str, said: &str) -> bool {
    let Some((start, rest)) = shown.split_once(ANY) else {
        return shown == said;
    };
    let Some(said) = said.strip_prefix(start) else {
        return false;
    };
    let places = said.char_indices().map(|(at, _)| at).chain([said.len()]);
    places.into_iter().any(|at| line_fits(rest, &said[at..]))
}

/// Every command that runs something, as words: `record`, `ca init`.
fn commands(sandbox: &Sandbox, under: &[String]) -> Vec<Vec<String>> {
    let text = help(sandbox, under);
    let listed =
        text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let mut all = Vec::new();
    for name in names.filter(|name| *name != "help") {
        let command = [under, &[name.to_owned()]].concat();
        let below = commands(sandbox, &command);
        all.extend(if below.is_empty() { vec![command] } else { below });
    }
    all
}

fn help(sandbox: &Sandbox, command: &[String]) -> String {
    let words = command.iter().map(String::as_str).chain(["--help"]);
    let (first, rest) = {
        let mut words = words;
        (words.next().unwrap(), words.collect::<Vec<_>>())
    };
    sandbox.wiretape(first).args(rest).run().exits(0).stdout().to_owned()
}

/// The long flags that a text names, without those of every command.
fn flags(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("--").map(|(at, _)| &text[at..]);
    let names = starts.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-');
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    names
        .filter(|name| name.len() > 2 && !name.starts_with("---") && !GLOBAL.contains(&name.as_str()))
        .collect()
}

/// The keys that a reader asks its mapping for.
fn keys_read_by(source: &str) -> BTreeSet<String> {
    let source = fs::read_to_string(clients::workspace().join(source)).unwrap();
    let keys = source.split(".optional(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    let keys: BTreeSet<String> = keys.collect();
    assert!(!keys.is_empty(), "the reader of keys looks otherwise now");
    keys
}

const ANY: &str = "[..]";
const ANY_LINES: &str = "[...]";
const GLOBAL: [&str; 3] = ["--config", "--help", "--version"];
