//! Files that take their place when they are whole. Until then, the one before stays as it was.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// File that is being written. One that is dropped leaves nothing behind.
pub struct WholeFile {
    file: File,
    place: PathBuf,
    /// Path that is written to; `None` if the file is written in its place, and when it is whole.
    partial: Option<PathBuf>,
    /// Number of files that stay: each gets the name of the one before it.
    kept: u64,
}

impl WholeFile {
    /// Begins a file. Links are followed.
    pub fn create(place: &Path) -> io::Result<WholeFile> {
        let before = fs::metadata(place).ok();
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
        let partial = partial(&place);
        // A terminal or a pipe has no other file beside it.
        let beside = if before.as_ref().is_none_or(|before| before.is_file()) { create_new(&partial).ok() } else { None };
        match beside {
            Some(file) => {
                let whole = WholeFile { file, place, partial: Some(partial), kept: 1 };
                if let Some(before) = before {
                    // Whoever may not give files away keeps this one.
                    let _ = fchown(&whole.file, Some(before.uid()), Some(before.gid()));
                    whole.file.set_permissions(before.permissions())?;
                }
                Ok(whole)
            }
            None => Ok(WholeFile { file: File::create(&place)?, place, partial: None, kept: 1 }),
        }
    }

    /// Waits until a disk has it all. What is no file needs no disk.
    pub fn sync(&self) -> io::Result<()> {
        self.partial.as_ref().map_or(Ok(()), |_| self.file.sync_all())
    }

    /// Lets so many files stay.
    pub fn keeping(self, kept: u64) -> WholeFile {
        let mut file = self;
        file.kept = kept;
        file
    }

    /// Puts the whole file in its place, and each of those before it one further.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(partial) = &self.partial else { return Ok(()) };
        for age in (1..self.kept).rev() {
            match fs::rename(self.older(age - 1), self.older(age)) {
                // There are not so many yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                moved => moved?,
            }
        }
        fs::rename(partial, &self.place)?;
        self.partial = None;
        Ok(())
    }

    /// Place of the file that is so many files older than the newest.
    fn older(&self, age: u64) -> PathBuf {
        match age {
            0 => self.place.clone(),
            _ => PathBuf::from(OsStr::from_bytes(&[self.place.as_os_str().as_bytes(), format!(".{age}").as_bytes()].concat())),
        }
    }
}

/// Path beside a file that no other process writes to.
fn partial(place: &Path) -> PathBuf {
    let end = format!(".{}.part", std::process::id());
    PathBuf::from(OsStr::from_bytes(&[place.as_os_str().as_bytes(), end.as_bytes()].concat()))
}

fn create_new(path: &Path) -> io::Result<File> {
    // A process of the same number may have been killed.
    let _ = fs::remove_file(path);
    File::create_new(path)
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // One that stays is in nobody's way.
            let _ = fs::remove_file(partial);
        }
    }
}
