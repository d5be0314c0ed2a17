//! Private folders and files in the temporary directory, which other users of this machine share.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::{Class, Context, Failure, Outcome};

/// Names to try before the folder is given up.
const TRIES: usize = 16;

/// A folder with a random name that only this user can enter. Dropping it removes it with all that
/// is in it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes `nacre-NAME-` and 16 random digits. An existing file, folder or link of that name is
    /// never used.
    pub fn new(name: &str) -> Outcome<Folder> {
        let parent = std::env::temp_dir();
        for _ in 0..TRIES {
            let path = parent.join(format!("nacre-{name}-{:016x}", random()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context(Class::File, || format!("cannot make {}", path.display())),
            }
        }
        Err(Failure::new(Class::File, format!("cannot find a free name in {}", parent.display())))
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The temporary directory, which other users share: who uses a name there that can be guessed has
/// to look who made what lies there.
pub fn shared_parent() -> PathBuf {
    std::env::temp_dir()
}

/// Returns 64 bits of the keys that the operating system gives a hash map, which no other user can
/// guess.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A file in a [`Folder`] of its own.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _folder: Folder,
}

impl Scratch {
    /// Writes `bytes` to a new file that only this user can read.
    pub fn write(name: &str, bytes: &[u8]) -> Outcome<Scratch> {
        let folder = Folder::new("file")?;
        let path = folder.path().join(name);
        let cannot = || format!("cannot write {}", path.display());
        let mut file = fs::File::options().write(true).create_new(true).mode(0o600).open(&path).context(Class::File, cannot)?;
        file.write_all(bytes).context(Class::File, cannot)?;
        Ok(Scratch { path, _folder: folder })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn folders_are_private_differ_and_go() {
        let (first, second) = (Folder::new("test").unwrap(), Folder::new("test").unwrap());
        assert_ne!(first.path(), second.path());
        assert_eq!(fs::metadata(first.path()).unwrap().permissions().mode() & 0o7777, 0o700);
        let path = first.path().to_path_buf();
        fs::write(path.join("x"), "x").unwrap();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }

    #[test]
    fn a_file_is_private_and_goes() {
        let file = Scratch::write("name", b"bytes").unwrap();
        let path = file.path().to_path_buf();
        assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().permissions().mode() & 0o7777), (b"bytes".to_vec(), 0o600));
        drop(file);
        assert!(!path.exists());
    }

    /// Every temporary file of this crate is made here.
    #[test]
    fn nobody_else_names_the_temporary_directory() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![sources];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name() != Some("scratch.rs".as_ref()) {
                    assert!(!fs::read_to_string(&path).unwrap().contains("temp_dir"), "{}", path.display());
                }
            }
        }
    }
}
