//! Which files become which cassettes.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use cassettes::import::{Format, Look, Origin, is_recording_name, is_recording_opening, look};

use super::files;
use crate::exit::Failure;

/// What is read, and what is not.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    pub(super) passed: Vec<Passed>,
}

/// One cassette to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    /// Usually one file; of WireMock all the mappings of a folder.
    pub(super) sources: Vec<PathBuf>,
    pub(super) target: PathBuf,
    /// Where files are that the sources name.
    pub(super) beside: PathBuf,
    /// What the sources are, where that is settled before they are read.
    pub(super) format: Option<Format>,
    /// Found in a folder, and not named by a person.
    pub(super) was_found: bool,
}

/// A file of a folder that is not imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) path: PathBuf,
    pub(super) why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Link,
    Name,
    Unknown,
    Cassette,
}

impl Job {
    pub(super) fn source(&self, origin: Origin) -> &Path {
        &self.sources[origin.source]
    }
}

impl Why {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Link => "it is a link",
            Self::Name => "neither its name nor its first bytes are those of a recording",
            Self::Unknown => "it is not a recording in any format that wiretape reads",
            Self::Cassette => "it is a wiretape cassette already",
        }
    }
}

pub(super) fn plan(input: &Path, output: &Path, format: Option<Format>) -> Result<Plan, Failure> {
    let metadata = fs::metadata(input)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", input.display())))?;
    if !metadata.is_dir() {
        let job = file_job(input, target_of_file(input, output), false);
        return Ok(Plan { jobs: vec![job], passed: Vec::new() });
    }
    if output.is_file() {
        return Err(Failure::with_help(
            format!("{} is a folder, and {} is a file", input.display(), output.display()),
            "name a folder with -o",
        ));
    }
    let mut walk = Walk { format, plan: Plan::default() };
    // `.` has a name too.
    let whole = fs::canonicalize(input).unwrap_or_else(|_| input.to_owned());
    let mappings = match name_of(&whole).as_str() {
        MAPPINGS => walk.mappings(input, &whole.with_file_name(FILES))?,
        _ => None,
    };
    walk.folder(input, output, mappings)?;
    if walk.plan.jobs.is_empty() {
        return Err(Failure::input(format!("{} holds no file that could be a recording", input.display())));
    }
    Ok(walk.plan)
}

/// A look through folders, to the bottom.
struct Walk {
    format: Option<Format>,
    plan: Plan,
}

/// The mappings of one WireMock: they are one cassette, for which of them answers depends on all.
struct Mappings {
    sources: Vec<PathBuf>,
    beside: PathBuf,
}

/// What becomes a cassette in one folder.
enum Found {
    File(PathBuf),
    Mappings(Mappings),
}

impl Walk {
    /// `own`: the mappings that are in this very folder.
    fn folder(&mut self, folder: &Path, output: &Path, own: Option<Mappings>) -> Result<(), Failure> {
        let taken = own.iter().flat_map(|own| own.sources.iter().cloned()).collect();
        self.rest(folder, output, &taken, own.map(Found::Mappings).into_iter().collect())
    }

    /// All but `taken`, which is part of a cassette already.
    fn rest(
        &mut self,
        folder: &Path,
        output: &Path,
        taken: &HashSet<PathBuf>,
        mut here: Vec<Found>,
    ) -> Result<(), Failure> {
        let mut entries: Vec<PathBuf> = list(folder)?;
        entries.sort_by_key(|path| natural(path));
        for path in entries {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let name = name_of(&path);
            if metadata.is_dir() {
                let below = output.join(&name);
                if is_passed_over(&name) {
                    continue;
                }
                let mappings = match name.as_str() {
                    MAPPINGS if taken.is_empty() => self.mappings(&path, &folder.join(FILES))?,
                    _ => None,
                };
                match mappings {
                    Some(mappings) => {
                        let taken = mappings.sources.iter().cloned().collect();
                        here.push(Found::Mappings(mappings));
                        self.rest(&path, &below, &taken, Vec::new())?;
                    }
                    None => self.rest(&path, &below, taken, Vec::new())?,
                }
            } else if !taken.contains(&path) {
                match pass(&path, &name, &metadata) {
                    Some(why) => self.plan.passed.push(Passed { path, why }),
                    None => here.push(Found::File(path)),
                }
            }
        }
        let targets = targets(here.iter().map(Found::name), output);
        self.plan.jobs.extend(here.into_iter().zip(targets).map(|(found, target)| match found {
            Found::File(path) => file_job(&path, target, true),
            Found::Mappings(Mappings { sources, beside }) => {
                Job { sources, target, beside, format: Some(Format::WireMock), was_found: true }
            }
        }));
        Ok(())
    }

    /// The mappings in a folder of that name, if WireMock wrote it: other tools have such folders too. What cannot be
    /// read counts as one of them, so that it is not lost without a word.
    fn mappings(&self, folder: &Path, beside: &Path) -> Result<Option<Mappings>, Failure> {
        if self.format.is_some_and(|format| format != Format::WireMock) {
            return Ok(None);
        }
        let mut sources = Vec::new();
        let mut is_wiremock = false;
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for path in list(&folder)? {
                let name = name_of(&path);
                match fs::symlink_metadata(&path) {
                    Ok(metadata) if metadata.is_dir() && !is_passed_over(&name) => folders.push(path),
                    Ok(metadata) if metadata.is_file() && is_recording_name(&name) => {
                        let look = files::read(&path).map_or(Look::Broken, |bytes| look(&name, &bytes));
                        let is_mapping = look == Look::Recording(Format::WireMock);
                        is_wiremock |= is_mapping;
                        if is_mapping || look == Look::Broken {
                            sources.push(path);
                        }
                    }
                    _ => {}
                }
            }
        }
        sources.sort_by_key(|path| natural(path));
        Ok(is_wiremock.then(|| Mappings { sources, beside: beside.to_owned() }))
    }
}

impl Found {
    fn name(&self) -> String {
        match self {
            Self::File(path) => name_of(path),
            Self::Mappings(_) => MAPPINGS.to_owned(),
        }
    }
}

/// Why a file is not even read.
fn pass(path: &Path, name: &str, metadata: &fs::Metadata) -> Option<Why> {
    // A link may lead anywhere, and round in a circle.
    if metadata.is_symlink() {
        return Some(Why::Link);
    }
    let is_candidate = metadata.is_file()
        && (is_recording_name(name) || files::opening(path).is_ok_and(|bytes| is_recording_opening(&bytes)));
    (!is_candidate).then_some(Why::Name)
}

fn file_job(path: &Path, target: PathBuf, was_found: bool) -> Job {
    let folder = path.parent().unwrap_or(Path::new("."));
    // A mapping that stands alone still has its bodies where WireMock put them.
    let beside = match folder.file_name() {
        Some(name) if name == MAPPINGS => folder.with_file_name(FILES),
        _ if folder.join(FILES).is_dir() => folder.join(FILES),
        _ => folder.to_owned(),
    };
    Job { sources: vec![path.to_owned()], target, beside, format: None, was_found }
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::input(format!("cannot read the folder {}: {error}", folder.display()))
    };
    let entries = fs::read_dir(folder).map_err(cannot)?;
    entries.map(|entry| entry.map(|e| e.path()).map_err(cannot)).collect()
}

/// Where one file goes: to the file that was named, or into the folder.
fn target_of_file(input: &Path, output: &Path) -> PathBuf {
    let is_folder = output.is_dir() || output.as_os_str().to_string_lossy().ends_with('/');
    if is_folder { output.join(format!("{}.yaml", stem(&name_of(input)))) } else { output.to_owned() }
}

/// Where the files of one folder go. Names that differ only in their ending keep it.
fn targets(names: impl Iterator<Item = String>, output: &Path) -> Vec<PathBuf> {
    let names: Vec<String> = names.collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        *uses.entry(stem(name)).or_default() += 1;
    }
    let mut taken = HashSet::new();
    let targets = names.iter().map(|name| {
        let stem = stem(name);
        let mut target = if uses[stem] == 1 { format!("{stem}.yaml") } else { format!("{name}.yaml") };
        while !taken.insert(target.clone()) {
            target = format!("{target}.yaml");
        }
        output.join(target)
    });
    targets.collect()
}

/// A name without the endings that formats have.
fn stem(name: &str) -> &str {
    let mut stem = name;
    for ending in [".gz", ".zz", ".yaml", ".yml", ".json", ".zhar", ".har", ".mitm", ".flow", ".flows"] {
        stem = stem.strip_suffix(ending).filter(|rest| !rest.is_empty()).unwrap_or(stem);
    }
    stem
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Folders that hold no recordings of their own.
fn is_passed_over(name: &str) -> bool {
    name.starts_with('.')
        || name.ends_with(".blobs")
        || matches!(name, "node_modules" | FILES | "__pycache__")
}

/// Text and numbers in turn, so that `2-user` comes before `10-user`.
fn natural(path: &Path) -> Vec<(String, u64)> {
    let name = name_of(path);
    let mut parts = Vec::new();
    let mut rest = name.as_str();
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(text);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, left) = after.split_at(digits);
        parts.push((word.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = left;
    }
    parts
}

/// Where WireMock has its mappings, and the bodies that they name.
const MAPPINGS: &str = "mappings";
const FILES: &str = "__files";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_is_named_after_its_file_and_clashes_keep_their_endings() {
        let files = ["a.json", "b.yaml.gz", "recording.har.yaml", "a.yml", "c.har.gz"].map(str::to_owned);
        let names: Vec<String> =
            targets(files.into_iter(), Path::new("out")).iter().map(|p| p.display().to_string()).collect();
        assert_eq!(
            names,
            ["out/a.json.yaml", "out/b.yaml", "out/recording.yaml", "out/a.yml.yaml", "out/c.yaml"]
        );
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["10-user.json", "2-user.json", "1-app.json", "user.json"].map(PathBuf::from);
        names.sort_by_key(|path| natural(path));
        assert_eq!(names, ["1-app.json", "2-user.json", "10-user.json", "user.json"].map(PathBuf::from));
    }
}
