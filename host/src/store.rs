//! Files of this machine that a guest has as memory that lasts: `--store FILE[:SIZE]`.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};

use nacre_snapshot::store::MAGIC;

use crate::failure::{Class, Context, Failure, Outcome};

/// Sizes of stores are multiples of this.
const STEP: u64 = 1 << 20;

/// A store as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    path: PathBuf,
    size: Option<u64>,
}

impl Named {
    /// A file that is a store in which images lie; `None`: it is another one.
    pub fn with_images(path: &Path) -> Option<Named> {
        let mut magic = [0; MAGIC.len()];
        // To open a named pipe would wait for somebody who writes to it.
        path.is_file().then_some(())?;
        File::open(path).and_then(|mut file| file.read_exact(&mut magic)).ok()?;
        (magic == MAGIC).then(|| Named { path: path.to_path_buf(), size: None })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns where a guest finds an image, and the store in which it lies, if it does.
pub fn in_guest(image: &Path) -> (Option<Named>, OsString) {
    match Named::with_images(image) {
        Some(store) => (Some(store), "/dev/store".into()),
        None => (None, image.as_os_str().to_os_string()),
    }
}

/// Reads `FILE` or `FILE:SIZE`.
pub fn parse(text: &str) -> Result<Named, String> {
    let (path, size) = match text.rsplit_once(':') {
        Some((path, size)) if size.starts_with(|first: char| first.is_ascii_digit()) => (path, Some(parse_bytes(size)?)),
        _ => (text, None),
    };
    match size {
        _ if path.is_empty() => Err("a store looks like FILE or FILE:64M".to_string()),
        Some(size) if size == 0 || !size.is_multiple_of(STEP) => Err("the size of a store is a multiple of 1M".to_string()),
        size => Ok(Named { path: path.into(), size }),
    }
}

/// Reads a number of bytes, with or without a suffix.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "a size looks like 512M or 2G".to_string())?;
    number.checked_mul(1 << shift).ok_or("the size is too large".to_string())
}

/// An open store, which no other machine has as long as this one does.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    size: u64,
    _file: File,
}

impl Named {
    /// Opens the file, makes it if it has a size, and makes it larger if it is smaller than that.
    /// Nothing is ever cut off.
    pub fn open(&self) -> Outcome<Store> {
        let file = File::options().read(true).write(true).create(self.size.is_some()).truncate(false).open(&self.path);
        let file = file.context(Class::File, || format!("cannot open the store {}", self.path.display())).map_err(|failure| match self.size {
            None if !self.path.exists() => failure.remedy(format!("make it with --store {}:64M", self.path.display())),
            _ => failure,
        })?;
        self.lock(&file)?;
        let size = self.grow(&file)?;
        let path = std::path::absolute(&self.path).context(Class::File, || format!("cannot find {}", self.path.display()))?;
        Ok(Store { path, size, _file: file })
    }

    fn lock(&self, file: &File) -> Outcome<()> {
        match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(Failure::new(Class::File, format!("another machine has the store {}", self.path.display())).remedy("end that machine first, or name another file")),
            Err(TryLockError::Error(error)) => Err(error).context(Class::File, || format!("cannot lock the store {}", self.path.display())),
        }
    }

    /// Returns the size that the file has then.
    fn grow(&self, file: &File) -> Outcome<u64> {
        let shown = self.path.display();
        let facts = file.metadata().context(Class::File, || format!("cannot look at {shown}"))?;
        let refuse = |what: String, remedy: String| Err(Failure::new(Class::Usage, what).remedy(remedy));
        let mebibytes = facts.len() / STEP;
        match self.size {
            _ if !facts.is_file() => refuse(format!("{shown} is no regular file"), "name a file, or one to be made: --store FILE:64M".to_string()),
            Some(size) if size > facts.len() => {
                file.set_len(size).context(Class::File, || format!("cannot make {shown} larger"))?;
                Ok(size)
            }
            Some(size) if size < facts.len() => refuse(format!("{shown} has {mebibytes} MiB, and nothing of a store is cut off"), format!("leave the size out: --store {shown}")),
            _ if facts.len() == 0 || !facts.len().is_multiple_of(STEP) => refuse(format!("the size of {shown} is no multiple of 1 MiB"), format!("make it larger: --store {shown}:{}M", mebibytes + 1)),
            _ => Ok(facts.len()),
        }
    }
}

impl Store {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Path from the root of this machine.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Word of the kernel's command line by which root finds it.
    pub fn word(&self) -> String {
        format!("store={}", self.size)
    }
}

/// Memory of a machine that has a store as well, so that QEMU puts the store, and nothing else, at
/// the end: whole GiB where the store is larger.
pub fn memory_beside(memory: u64, store: u64) -> u64 {
    memory.next_multiple_of(if store > memory { 1 << 30 } else { STEP })
}

/// QEMU's words for a machine of `memory` bytes and a store behind them. All memory below 4 GiB is
/// the machine's own: firmware and tables of the kernel lie there.
pub fn words(store: &Path, size: u64, memory: u64, cpus: u32) -> Vec<OsString> {
    // QEMU has a comma twice where it is part of a name.
    let path = store.to_string_lossy().replace(',', ",,");
    let words = [
        ("-machine", format!("max-ram-below-4g={memory}")),
        ("-object", format!("memory-backend-ram,id=own,size={memory}")),
        ("-object", format!("memory-backend-file,id=store,share=on,size={size},mem-path={path}")),
        ("-numa", format!("node,nodeid=0,cpus=0-{},memdev=own", cpus - 1)),
        ("-numa", "node,nodeid=1,memdev=store".to_string()),
    ];
    words.into_iter().flat_map(|(option, value)| [OsString::from(option), OsString::from(value)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    fn named(path: &Path, size: &str) -> Named {
        parse(&format!("{}{size}", path.display())).unwrap()
    }

    #[test]
    fn names_and_sizes_are_read() {
        assert_eq!(parse("a:64M"), Ok(Named { path: "a".into(), size: Some(64 << 20) }));
        assert_eq!(parse("a:b"), Ok(Named { path: "a:b".into(), size: None }));
        assert!(parse("a:5000").unwrap_err().contains("multiple of 1M"));
        assert!(parse("a:0").is_err() && parse(":1M").is_err() && parse("").is_err());
    }

    #[test]
    fn a_store_is_made_and_grows_and_is_never_cut() {
        let folder = Folder::new("store").unwrap();
        let path = folder.path().join("s");
        assert!(named(&path, "").open().unwrap_err().to_string().contains("make it with"));
        assert_eq!(named(&path, ":2M").open().unwrap().size(), 2 << 20);
        assert_eq!(named(&path, ":3M").open().unwrap().size(), 3 << 20);
        assert!(named(&path, ":2M").open().unwrap_err().to_string().contains("nothing of a store is cut off"));
        let store = named(&path, "").open().unwrap();
        assert!(named(&path, "").open().unwrap_err().to_string().contains("another machine has"));
        drop(store);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 3 << 20);
        std::fs::write(&path, b"odd").unwrap();
        assert!(named(&path, "").open().unwrap_err().to_string().contains("--store"));
    }

    #[test]
    fn memory_beside_a_larger_store_is_whole_gibibytes() {
        assert_eq!(memory_beside(512 << 20, 64 << 20), 512 << 20);
        assert_eq!(memory_beside(512 << 20, 1 << 30), 1 << 30);
    }
}
