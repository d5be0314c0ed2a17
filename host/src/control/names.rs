//! Names of machines that run: sockets in a directory that this user alone can enter.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::failure::{Class, Context, Failure, Outcome, suggestion};
use crate::scratch::shared_parent;

/// Maximum length of a name.
const LONGEST: usize = 64;
/// Ending of the name of a socket.
const ENDING: &str = ".sock";

/// Checks a name that somebody gave.
pub fn checked(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if text.is_empty() || text.len() > LONGEST || text.starts_with('.') || !text.bytes().all(is_plain) {
        return Err(format!("a name is 1 to {LONGEST} letters, digits, '.', '_' and '-', and does not begin with '.'"));
    }
    Ok(text.to_string())
}

/// A name for a machine that was given none: its program's, and the number of this process.
pub fn made_up(program: &str) -> String {
    let plain: String = program.chars().filter(|letter| letter.is_ascii_alphanumeric()).take(32).collect();
    format!("{}-{}", if plain.is_empty() { "run" } else { &plain }, std::process::id())
}

/// The directory of all sockets of this user, which is made if it is not there.
pub fn directory() -> Outcome<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let path = match runtime {
        Some(runtime) => runtime.join("nacre"),
        None => shared_parent().join(format!("nacre-{user}")),
    };
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error).context(Class::File, || format!("cannot make {}", path.display())),
    }
    let found = fs::symlink_metadata(&path).context(Class::File, || format!("cannot look at {}", path.display()))?;
    if !found.is_dir() || found.uid() != user || found.permissions().mode() & 0o077 != 0 {
        return Err(Failure::new(Class::File, format!("{} is not a directory that only this user can enter", path.display())).remedy("remove it, or set XDG_RUNTIME_DIR"));
    }
    Ok(path)
}

/// A socket under a name. Dropping it removes the name.
#[derive(Debug)]
pub struct Named {
    /// The socket.
    pub listener: UnixListener,
    path: PathBuf,
}

impl Named {
    /// Takes a name. The socket of a machine that has gone is replaced.
    pub fn take(name: &str) -> Outcome<Named> {
        Named::take_in(&directory()?, name)
    }

    fn take_in(directory: &Path, name: &str) -> Outcome<Named> {
        let path = directory.join(format!("{name}{ENDING}"));
        // Until it listens, the socket looks like one of a machine that has gone.
        let _alone = alone(directory).context(Class::File, || format!("cannot lock {}", directory.display()))?;
        if path.exists() && UnixStream::connect(&path).is_err() {
            let _ = fs::remove_file(&path);
        }
        match UnixListener::bind(&path) {
            Ok(listener) => {
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o600));
                Ok(Named { listener, path })
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                Err(Failure::new(Class::Usage, format!("a machine with the name {name} is running")).remedy("give another --name; `nacre ps` lists those that run"))
            }
            Err(error) => Err(error).context(Class::File, || format!("cannot listen at {}", path.display())),
        }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps others from taking and removing names, until what is returned is dropped.
fn alone(directory: &Path) -> std::io::Result<File> {
    let file = File::open(directory)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// The names of all machines that run, in order. Sockets of those that have gone are removed.
pub fn all() -> Outcome<Vec<String>> {
    all_in(&directory()?)
}

fn all_in(directory: &Path) -> Outcome<Vec<String>> {
    let entries = fs::read_dir(directory).context(Class::File, || format!("cannot read {}", directory.display()))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_suffix(ENDING).map(str::to_string));
    let mut running: Vec<String> = names.filter(|name| is_running(&directory.join(format!("{name}{ENDING}")))).collect();
    running.sort();
    Ok(running)
}

/// Returns true if a machine with this name runs.
pub fn is_there(name: &str) -> bool {
    directory().is_ok_and(|directory| is_running(&directory.join(format!("{name}{ENDING}"))))
}

fn is_running(path: &Path) -> bool {
    let look = || UnixStream::connect(path).map_err(|error| error.kind());
    match look() {
        Err(ErrorKind::ConnectionRefused) => {}
        found => return found.is_ok(),
    }
    // Looked at once more, since it could have been one that did not listen yet.
    let Some(_alone) = path.parent().and_then(|directory| alone(directory).ok()) else { return false };
    match look() {
        Err(ErrorKind::ConnectionRefused) => {
            let _ = fs::remove_file(path);
            false
        }
        found => found.is_ok(),
    }
}

/// Connects to the machine with this name.
pub fn connect(name: &str) -> Outcome<UnixStream> {
    let path = directory()?.join(format!("{name}{ENDING}"));
    UnixStream::connect(&path).map_err(|_| {
        let near = all().map(|names| suggestion(name, names.iter())).unwrap_or_default();
        Failure::new(Class::Usage, format!("no machine with the name {name} is running{near}")).remedy("`nacre ps` lists those that run")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for wrong in ["", ".", "..", "a/b", "../x", ".hidden", "a b", "a\n", &"x".repeat(65)] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
        for good in ["a", "web-1", "x.y_z", &"x".repeat(64)] {
            assert_eq!(checked(good).as_deref(), Ok(good));
        }
        assert!(checked(&made_up("/usr/bin/py thon")).is_ok() && checked(&made_up("")).is_ok());
    }

    #[test]
    fn a_socket_of_a_machine_that_has_gone_is_removed() {
        let folder = crate::scratch::Folder::new("names").unwrap();
        let path = folder.path().join("old.sock");
        drop(UnixListener::bind(&path).unwrap());
        let _running = UnixListener::bind(folder.path().join("new.sock")).unwrap();
        assert_eq!(all_in(folder.path()).unwrap(), ["new"]);
        assert!(!path.exists());
    }

    #[test]
    fn whoever_looks_at_all_names_removes_none_that_is_just_taken() {
        let folder = crate::scratch::Folder::new("names-taken").unwrap();
        let path = folder.path().to_path_buf();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| (0..2_000).all(|_| Named::take_in(&path, "new").is_ok_and(|named| named.path.exists())));
            while !taken.is_finished() {
                all_in(&path).unwrap();
            }
            assert!(taken.join().unwrap());
        });
    }
}
