//! What a recording has so far, safe from a kill at any moment.
//!
//! A file of records, each `length | crc32 | seq | payload` (little endian: u32, u32, u64) and written by one
//! `write(2)`. The payload is an exchange as a cassette spells it, big bodies inline; there is no second format.
//! The first record is the header: it names the format and the cassette. A record with the last number there is holds
//! no exchange but the variables that were met so far. What is not a whole record ends the journal.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{FileExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use exchange::Exchange;
use yaml::Problem;

use super::{StoreError, create_private_folder, failed, resolve, state_folder};
use crate::{Scrubbed, format};

/// The journal of one recording.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Where the last whole record ends.
    end: u64,
    /// What it says of variables.
    variables: BTreeMap<String, String>,
}

/// An exchange as a journal holds it, ready to be appended.
#[derive(Debug)]
pub struct Entry(String);

impl Entry {
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl Journal {
    /// Starts a journal for a cassette whose [`super::Lock`] the caller holds.
    pub fn create(cassette: &Path, state_dir: &Path) -> Result<Self, StoreError> {
        let cassette = resolve(cassette);
        let folder = state_folder(&cassette, state_dir);
        create_private_folder(&folder)?;
        sweep(&folder)?;
        let number = numbered(&folder, EXTENSION)?.last().map_or(1, |(number, _)| number + 1);
        let path = folder.join(format!("{number}.{EXTENSION}"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("create", &path))?;
        let mut journal = Self { file, path, end: 0, variables: BTreeMap::new() };
        let header = [HEADER, cassette.as_os_str().as_bytes()].concat();
        match journal.put(0, &header) {
            Ok(()) => Ok(journal),
            Err(error) => {
                // The first error is the one to tell; an empty journal does no harm.
                let _ = fs::remove_file(&journal.path);
                Err(error)
            }
        }
    }

    /// Spells an exchange out. This is the slow half of appending it, and needs no journal: who shares one need not
    /// hold it meanwhile.
    pub fn entry(exchange: &Scrubbed<Exchange>) -> Entry {
        Entry(format::item(exchange, usize::MAX, &mut format::Blobs::new()))
    }

    /// Adds an exchange. Once this returns, a kill of the process cannot lose it. After an error the journal
    /// still holds what it held before.
    pub fn append_entry(&mut self, seq: u64, entry: &Entry) -> Result<(), StoreError> {
        self.put(seq, entry.0.as_bytes())
    }

    /// [`Self::entry`] and [`Self::append_entry`] together.
    pub fn append(&mut self, seq: u64, exchange: &Scrubbed<Exchange>) -> Result<(), StoreError> {
        self.append_entry(seq, &Self::entry(exchange))
    }

    /// Notes the variables whose values were met so far, each with its placeholder, if they are others than before.
    pub fn note_variables(&mut self, met: Vec<(String, String)>) -> Result<(), StoreError> {
        let met: BTreeMap<_, _> = met.into_iter().collect();
        if met != self.variables {
            self.put(VARIABLES, format::variables(&met).as_bytes())?;
            self.variables = met;
        }
        Ok(())
    }

    /// Changes every exchange whose text `holds` something that must not stay. The journal is replaced as a whole, so
    /// that a kill leaves either the old one or the new one.
    pub fn rewrite(
        &mut self,
        holds: &dyn Fn(&[u8]) -> bool,
        change: &mut dyn FnMut(Scrubbed<Exchange>) -> Scrubbed<Exchange>,
    ) -> Result<(), StoreError> {
        // A very long one is only gone through once, when it becomes the cassette.
        if self.end > MOST_REWRITTEN {
            return Ok(());
        }
        let text = fs::read(&self.path).map_err(failed("read", &self.path))?;
        if !holds(&text) {
            return Ok(());
        }
        let new_path = self.path.with_extension(REWRITING);
        let new = self.rewritten(&new_path, holds, change).and_then(|new| {
            fs::rename(&new_path, &self.path).map_err(failed("replace", &self.path))?;
            Ok(new)
        });
        match new {
            Ok(new) => {
                *self = Self { path: self.path.clone(), ..new };
                Ok(())
            }
            Err(error) => {
                // The first error is the one to tell, and whoever comes next sweeps too.
                let _ = fs::remove_file(&new_path);
                Err(error)
            }
        }
    }

    /// The same records in a new file, changed.
    fn rewritten(
        &self,
        new_path: &Path,
        holds: &dyn Fn(&[u8]) -> bool,
        change: &mut dyn FnMut(Scrubbed<Exchange>) -> Scrubbed<Exchange>,
    ) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(new_path)
            .map_err(failed("create", new_path))?;
        let mut records = Records::open(&self.path)?;
        let cassette =
            records.cassette().map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default();
        let mut new = Self { file, path: new_path.to_owned(), end: 0, variables: self.variables.clone() };
        new.put(0, &[HEADER, &cassette].concat())?;
        while let Some((seq, payload)) = records.next_record()? {
            let payload = match seq != VARIABLES && holds(&payload) {
                true => Self::entry(&change(records.exchange(payload)?)).0.into_bytes(),
                false => payload,
            };
            new.put(seq, &payload)?;
        }
        Ok(new)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal, once its exchanges are in the cassette.
    pub fn finish(self) -> Result<(), StoreError> {
        Self::discard(&self.path)
    }

    /// Removes a journal that a killed run left, once its exchanges are in the cassette.
    pub fn discard(path: &Path) -> Result<(), StoreError> {
        remove(&path.with_extension(REWRITING))?;
        remove(path)
    }

    /// The exchanges of a journal, up to the first record that is not whole.
    pub fn read(path: &Path) -> Result<Records, StoreError> {
        Records::open(path)
    }

    /// Removes what was half rewritten when an earlier run was killed; the journals themselves are whole. The caller
    /// holds the [`super::Lock`].
    pub fn sweep(cassette: &Path, state_dir: &Path) -> Result<(), StoreError> {
        sweep(&state_folder(&resolve(cassette), state_dir))
    }

    /// The journals that earlier runs left for a cassette, oldest first. Where the caller holds the [`super::Lock`]
    /// and has not started its own yet, none of them is in use.
    pub fn orphans(cassette: &Path, state_dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let folder = state_folder(&resolve(cassette), state_dir);
        Ok(numbered(&folder, EXTENSION)?.into_iter().map(|(_, path)| path).collect())
    }

    fn put(&mut self, seq: u64, payload: &[u8]) -> Result<(), StoreError> {
        let record = frame(seq, payload).map_err(failed("append to", &self.path))?;
        // At a known place, not at the end of the file: should cutting off a torn record fail too, the next
        // record still overwrites it.
        let written = match self.file.write_at(&record, self.end) {
            Ok(size) if size == record.len() => {
                self.end += size as u64;
                return Ok(());
            }
            Ok(_) => io::Error::from(io::ErrorKind::StorageFull),
            Err(error) => error,
        };
        let _ = self.file.set_len(self.end);
        Err(failed("append to", &self.path)(written))
    }
}

/// The exchanges of a journal, one in memory at a time.
#[derive(Debug)]
pub struct Records {
    input: BufReader<File>,
    path: PathBuf,
    /// Bytes of the file that were not read yet.
    left: u64,
    cassette: Option<PathBuf>,
    variables: BTreeMap<String, String>,
}

impl Records {
    /// The cassette that was recorded; `None` if the run was killed before it wrote even that.
    pub fn cassette(&self) -> Option<&Path> {
        self.cassette.as_deref()
    }

    /// The variables that the run had met, each with its placeholder; known once the last exchange is read.
    pub fn into_variables(self) -> BTreeMap<String, String> {
        self.variables
    }

    fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(failed("read", path))?;
        let left = file.metadata().map_err(failed("read", path))?.len();
        let mut records = Self {
            input: BufReader::new(file),
            path: path.to_owned(),
            left,
            cassette: None,
            variables: BTreeMap::new(),
        };
        let Some((_, header)) = records.next_record()? else {
            return Ok(records);
        };
        match header.strip_prefix(HEADER) {
            Some(cassette) => {
                records.cassette = Some(OsString::from_vec(cassette.to_vec()).into());
                Ok(records)
            }
            None => {
                let newer = "it was written by another version of wiretape";
                Err(failed("read", path)(io::Error::new(io::ErrorKind::InvalidData, newer)))
            }
        }
    }

    /// The next whole record.
    fn next_record(&mut self) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let read = failed("read", &self.path);
        let mut head = [0; HEAD];
        if self.left < HEAD as u64 {
            return Ok(None);
        }
        self.input.read_exact(&mut head).map_err(&read)?;
        self.left -= HEAD as u64;
        let (size, sum, seq) = unframe(head);
        // Before anything of that size is allocated: the length may be torn.
        if u64::from(size) > self.left {
            return Ok(self.stop());
        }
        let mut payload = vec![0; size as usize];
        self.input.read_exact(&mut payload).map_err(&read)?;
        self.left -= u64::from(size);
        Ok(if checksum(seq, &payload) == sum { Some((seq, payload)) } else { self.stop() })
    }

    fn stop<T>(&mut self) -> Option<T> {
        self.left = 0;
        None
    }

    fn exchange(&self, payload: Vec<u8>) -> Result<Scrubbed<Exchange>, StoreError> {
        self.parsed(payload, |text| format::read_item(text, &|_| Ok(None)))
    }

    fn parsed<T>(
        &self,
        payload: Vec<u8>,
        read: impl Fn(&str) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let text = String::from_utf8(payload)
            .map_err(|error| super::not_utf8(&self.path, error.as_bytes(), error.utf8_error()))?;
        read(&text).map_err(|problem| StoreError::Invalid {
            file: self.path.clone(),
            source_text: text.as_str().into(),
            problem: Box::new(problem),
        })
    }
}

impl Iterator for Records {
    type Item = Result<(u64, Scrubbed<Exchange>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (seq, payload) = match self.next_record() {
                Ok(record) => record?,
                Err(error) => {
                    self.left = 0;
                    return Some(Err(error));
                }
            };
            if seq != VARIABLES {
                return Some(self.exchange(payload).map(|exchange| (seq, exchange)));
            }
            match self.parsed(payload, format::read_variables) {
                // The later record knows all that the earlier did.
                Ok(variables) => self.variables = variables,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn frame(seq: u64, payload: &[u8]) -> io::Result<Vec<u8>> {
    let size = u32::try_from(payload.len()).ok().filter(|size| *size <= MOST_BYTES);
    let size = size.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the exchange is too big"))?;
    let mut record = Vec::with_capacity(HEAD + payload.len());
    record.extend_from_slice(&size.to_le_bytes());
    record.extend_from_slice(&checksum(seq, payload).to_le_bytes());
    record.extend_from_slice(&seq.to_le_bytes());
    record.extend_from_slice(payload);
    Ok(record)
}

fn unframe(head: [u8; HEAD]) -> (u32, u32, u64) {
    let (size, rest) = head.split_first_chunk().expect("a head is longer");
    let (sum, rest) = rest.split_first_chunk().expect("a head is longer");
    let (seq, _) = rest.split_first_chunk().expect("a head is longer");
    (u32::from_le_bytes(*size), u32::from_le_bytes(*sum), u64::from_le_bytes(*seq))
}

fn checksum(seq: u64, payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&seq.to_le_bytes());
    sum.update(payload);
    sum.finalize()
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

fn sweep(folder: &Path) -> Result<(), StoreError> {
    numbered(folder, REWRITING)?.into_iter().try_for_each(|(_, path)| remove(&path))
}

/// The files in a folder that have a number for a name, in the order in which they were made.
fn numbered(folder: &Path, extension: &str) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("read the folder", folder)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("read the folder", folder))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| {
            let (number, ending) = name.split_once('.')?;
            number.parse().ok().filter(|_| ending == extension)
        });
        if let Some(number) = number {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

const EXTENSION: &str = "journal";
/// Of a journal that is about to take the place of another.
const REWRITING: &str = "new";
const HEADER: &[u8] = b"wiretape: journal/1\n";
/// No call has this number.
const VARIABLES: u64 = u64::MAX;
/// Reading more than this again and again would hold the traffic up.
const MOST_REWRITTEN: u64 = 8 << 20;
const HEAD: usize = 16;

/// Linux writes no more than this at once, and one record is one write.
const MOST_BYTES: u32 = 0x7fff_0000;

#[cfg(test)]
mod tests;
