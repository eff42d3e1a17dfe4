//! Which files become which cassettes.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use cassettes::import::{Origin, is_recording_name};

use crate::exit::Failure;

/// One cassette to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    /// Usually one file; of WireMock all the mappings of a folder.
    pub(super) sources: Vec<PathBuf>,
    pub(super) target: PathBuf,
    /// Where files are that the sources name.
    pub(super) beside: PathBuf,
    /// Found in a folder, and not named by a person.
    pub(super) was_found: bool,
}

impl Job {
    pub(super) fn source(&self, origin: Origin) -> &Path {
        &self.sources[origin.source]
    }
}

pub(super) fn jobs(input: &Path, output: &Path) -> Result<Vec<Job>, Failure> {
    let metadata = fs::metadata(input)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", input.display())))?;
    if !metadata.is_dir() {
        return Ok(vec![file_job(input, target_of_file(input, output), false)]);
    }
    if output.is_file() {
        return Err(Failure::with_help(
            format!("{} is a folder, and {} is a file", input.display(), output.display()),
            "name a folder with -o",
        ));
    }
    let mut jobs = Vec::new();
    walk(input, output, &mut jobs)?;
    if jobs.is_empty() {
        return Err(Failure::input(format!("{} holds no file that could be a recording", input.display())));
    }
    Ok(jobs)
}

fn walk(folder: &Path, output: &Path, jobs: &mut Vec<Job>) -> Result<(), Failure> {
    let mut entries: Vec<PathBuf> = list(folder)?;
    entries.sort_by_key(|path| natural(path));
    let mut here = Vec::new();
    for path in entries {
        // A link may lead anywhere, and round in a circle.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let name = name_of(&path);
        if metadata.is_dir() {
            match name.as_str() {
                "mappings" => jobs.extend(mappings_job(folder, &path, output)?),
                name if is_passed_over(name) => {}
                name => walk(&path, &output.join(name), jobs)?,
            }
        } else if metadata.is_file() && is_recording_name(&name) {
            here.push(path);
        }
    }
    let targets = targets(&here, output);
    jobs.extend(here.iter().zip(targets).map(|(path, target)| file_job(path, target, true)));
    Ok(())
}

fn file_job(path: &Path, target: PathBuf, was_found: bool) -> Job {
    let folder = path.parent().unwrap_or(Path::new("."));
    // A mapping that stands alone still has its bodies where WireMock put them.
    let beside = match folder.file_name() {
        Some(name) if name == "mappings" => folder.with_file_name("__files"),
        _ if folder.join("__files").is_dir() => folder.join("__files"),
        _ => folder.to_owned(),
    };
    Job { sources: vec![path.to_owned()], target, beside, was_found }
}

/// The mappings of one WireMock are one cassette: which of them answers depends on all.
fn mappings_job(parent: &Path, folder: &Path, output: &Path) -> Result<Option<Job>, Failure> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in list(&folder)? {
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => folders.push(path),
                Ok(metadata) if metadata.is_file() && is_recording_name(&name_of(&path)) => {
                    sources.push(path)
                }
                _ => {}
            }
        }
    }
    sources.sort_by_key(|path| natural(path));
    let beside = parent.join("__files");
    let target = output.join("mappings.yaml");
    Ok((!sources.is_empty()).then_some(Job { sources, target, beside, was_found: true }))
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
fn targets(files: &[PathBuf], output: &Path) -> Vec<PathBuf> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        *uses.entry(stem(&name_of(file)).to_owned()).or_default() += 1;
    }
    let mut taken = HashSet::new();
    let names = files.iter().map(|file| {
        let name = name_of(file);
        let stem = stem(&name);
        let mut target = if uses[stem] == 1 { format!("{stem}.yaml") } else { format!("{name}.yaml") };
        while !taken.insert(target.clone()) {
            target = format!("{target}.yaml");
        }
        output.join(target)
    });
    names.collect()
}

/// A name without the endings that formats have.
fn stem(name: &str) -> &str {
    let mut stem = name;
    for ending in [".gz", ".yaml", ".yml", ".json", ".zhar", ".har", ".mitm", ".flows"] {
        stem = stem.strip_suffix(ending).filter(|rest| !rest.is_empty()).unwrap_or(stem);
    }
    stem
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Folders that hold no recordings of their own.
fn is_passed_over(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "node_modules" | "__files" | "__pycache__")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_is_named_after_its_file_and_clashes_keep_their_endings() {
        let files = ["a.json", "b.yaml.gz", "recording.har.yaml", "a.yml"].map(PathBuf::from);
        let names: Vec<String> =
            targets(&files, Path::new("out")).iter().map(|p| p.display().to_string()).collect();
        assert_eq!(names, ["out/a.json.yaml", "out/b.yaml", "out/recording.yaml", "out/a.yml.yaml"]);
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["10-user.json", "2-user.json", "1-app.json", "user.json"].map(PathBuf::from);
        names.sort_by_key(|path| natural(path));
        assert_eq!(names, ["1-app.json", "2-user.json", "10-user.json", "user.json"].map(PathBuf::from));
    }
}
