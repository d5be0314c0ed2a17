//! The libraries and the dynamic linker that programs of this machine need, put where they lie
//! here.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::elf;
use super::files::Files;
use super::links;
use crate::absolute::absolute;
use crate::failure::{Class, Context, Failure, Outcome};

/// Folders in which Debian's dynamic linkers look, glibc's and musl's.
const FOLDERS: [&str; 5] = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib", "/usr/local/lib"];
const MUSL_FOLDERS: [&str; 5] = ["/lib/x86_64-linux-musl", "/usr/lib/x86_64-linux-musl", "/lib", "/usr/local/lib", "/usr/lib"];
/// Tells musl's linker its folders.
const MUSL_PATHS: &str = "/etc/ld-musl-x86_64.path";

/// The locale that programs fall back on for UTF-8.
const LOCALE: &str = "/usr/lib/locale/C.utf8";

/// Puts what the program or library at `host`, whose bytes these are, needs into `files`, and what
/// that needs.
pub fn add(files: &mut Files, host: &Path, bytes: &[u8]) -> Outcome<()> {
    let first = elf::dynamic(bytes);
    let musl = first.linker.as_ref().is_some_and(|linker| linker.contains("musl"));
    if musl && Path::new(MUSL_PATHS).exists() {
        files.add_from_host(Path::new(MUSL_PATHS), Path::new(MUSL_PATHS))?;
    }
    let folders = if musl { MUSL_FOLDERS } else { FOLDERS };
    let mut asked = vec![(host.to_path_buf(), first)];
    while let Some((owner, dynamic)) = asked.pop() {
        let linker = dynamic.linker.as_ref().map(PathBuf::from);
        for name in dynamic.needed.iter().map(Some).chain([None]) {
            let path = match name {
                Some(name) => find(name, &owner, &dynamic.search, &folders)?,
                None => match &linker {
                    Some(linker) => linker_of(linker, &owner)?,
                    None => continue,
                },
            };
            if files.contains(&path) {
                continue;
            }
            links::add(files, &path)?;
            let bytes = fs::read(&path).context(Class::File, || format!("cannot read {}", path.display()))?;
            asked.push((path, elf::dynamic(&bytes)));
        }
    }
    add_opened(files, &folders)
}

/// Puts what the programs and libraries below the directory `host` need into `files`, as far as it
/// is on this machine.
pub fn add_below(files: &mut Files, host: &Path) {
    let Ok(metadata) = fs::symlink_metadata(host) else { return };
    if metadata.is_dir() {
        let entries = fs::read_dir(host).map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect::<Vec<_>>());
        entries.unwrap_or_default().iter().for_each(|entry| add_below(files, entry));
    } else if metadata.is_file() && (metadata.mode() & 0o111 != 0 || host.extension().is_some_and(|extension| extension == "so")) {
        let mut start = [0; 4];
        let is_elf = fs::File::open(host).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"\x7fELF";
        if let (true, Ok(bytes)) = (is_elf, fs::read(host)) {
            // A directory may hold programs that cannot run on this machine either.
            let _ = add(files, host, &bytes);
        }
    }
}

/// Puts what glibc opens itself into `files`: a library when a thread ends early or the stack is
/// shown, without which the program is ended; and the locale for UTF-8.
fn add_opened(files: &mut Files, folders: &[&str]) -> Outcome<()> {
    if !folders.iter().any(|folder| files.contains(&Path::new(folder).join("libc.so.6"))) {
        return Ok(());
    }
    let unwinder = folders.iter().map(|folder| Path::new(folder).join("libgcc_s.so.1")).find(|path| path.exists());
    for path in unwinder.into_iter().chain([PathBuf::from(LOCALE)]).filter(|path| path.exists()) {
        if !files.contains(&path) {
            links::add(files, &path)?;
        }
    }
    Ok(())
}

/// The dynamic linker that `owner` asks for, which must be on this machine.
fn linker_of(linker: &Path, owner: &Path) -> Outcome<PathBuf> {
    if linker.is_absolute() && linker.exists() {
        return Ok(linker.to_path_buf());
    }
    let said = format!("{} asks for the dynamic linker {}, which is not on this machine", owner.display(), linker.display());
    Err(Failure::new(Class::NotRunnable, said).remedy("install the package that it comes with, or link the program with gcc -static"))
}

/// Finds a library that `owner` needs.
fn find(name: &str, owner: &Path, search: &str, folders: &[&str]) -> Outcome<PathBuf> {
    if name.contains('/') {
        return Ok(absolute(Path::new("/"), Path::new(name)));
    }
    let origin = owner.parent().unwrap_or(Path::new("/")).display().to_string();
    let own = search.split(':').filter(|folder| !folder.is_empty()).map(|folder| folder.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin));
    let mut all = own.chain(folders.iter().map(|folder| folder.to_string())).map(|folder| Path::new(&folder).join(name));
    all.find(|path| path.exists()).map(|path| absolute(Path::new("/"), &path)).ok_or_else(|| {
        Failure::new(Class::NotRunnable, format!("{} needs the library {name}, which is not on this machine", owner.display()))
            .remedy("install the package that it comes with")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let failure = find("libnonesuch.so.1", Path::new("/bin/x"), "$ORIGIN/../lib", &FOLDERS).unwrap_err();
        assert_eq!(failure.class, Class::NotRunnable);
        assert!(find("libc.so.6", Path::new("/bin/x"), "", &FOLDERS).is_ok());
    }
}
