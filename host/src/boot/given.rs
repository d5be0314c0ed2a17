//! The files that `--file` names, on the way into a guest.

use std::fs;
use std::path::Path;

use super::files::Files;
use crate::absolute::absolute;
use super::{data, libraries, links};
use super::program::{self, GUEST_PATH};
use crate::failure::{Class, Context, Failure, Outcome};

/// Adds `HOST[:PATH]`, and the libraries that programs in it need. A host name that exists with its
/// colon is taken whole. Without `:PATH` a symbolic link stays one, what it leads to comes along,
/// and so does the data of a program. `is_alone`: the file comes without any of that, since the
/// guest has a root directory of its own.
pub fn add(files: &mut Files, directory: &Path, option: &str, is_alone: bool) -> Outcome<()> {
    let whole = Path::new(option);
    let (host, path, moves) = match option.rsplit_once(':') {
        Some((host, path)) if !whole.exists() => (Path::new(host), absolute(Path::new("/"), Path::new(path)), true),
        _ => (whole, absolute(directory, whole), false),
    };
    if !host.exists() {
        return Err(Failure::new(Class::File, format!("there is no file {}", host.display())).remedy("check what --file names"));
    }
    if is_alone {
        return files.add_from_host(host, &path);
    }
    if moves {
        files.add_from_host(host, &path)?;
    } else {
        links::add(files, &path)?;
    }
    if host.is_dir() {
        libraries::add_below(files, host);
        return Ok(());
    }
    files.take_over(&path, GUEST_PATH);
    let bytes = fs::read(host).context(Class::File, || format!("cannot read {}", host.display()))?;
    libraries::add(files, host, &bytes)?;
    if moves || !program::is_executable(host) { Ok(()) } else { data::add(files, &path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_file_option_names_a_place() {
        let mut files = Files::default();
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        add(&mut files, Path::new("/"), manifest, false).unwrap();
        add(&mut files, Path::new("/"), &format!("{manifest}:/a/b"), false).unwrap();
        assert!(files.contains(Path::new(manifest)) && files.contains(Path::new("/a/b")));
        assert_eq!(add(&mut files, Path::new("/"), "/nonexistent:/x", false).unwrap_err().class, Class::File);
    }

    #[test]
    fn a_link_keeps_its_place() {
        let folder = crate::scratch::Folder::new("given-link").unwrap();
        let place = fs::canonicalize(folder.path()).unwrap();
        fs::write(place.join("data"), "bytes").unwrap();
        std::os::unix::fs::symlink("data", place.join("link")).unwrap();
        let mut files = Files::default();
        add(&mut files, &place, &place.join("link").display().to_string(), false).unwrap();
        add(&mut files, &place, &format!("{}:/copy", place.join("link").display()), false).unwrap();
        let content = |path: &Path| files.iter().find(|(name, _)| *name == path).map(|(_, entry)| entry.content.clone());
        assert_eq!(content(&place.join("link")).as_deref(), Some(&b"data"[..]));
        assert_eq!(content(&place.join("data")).as_deref(), Some(&b"bytes"[..]));
        assert_eq!(content(Path::new("/copy")).as_deref(), Some(&b"bytes"[..]));
    }

    #[test]
    fn a_program_that_is_named_hides_the_applet_of_its_name() {
        let mut files = Files::default();
        files.add_link(Path::new("/bin/ls"), OsStr::new("/bin/busybox"));
        files.add_file(Path::new("/sbin/ls"), 0o755, *b"another program");
        add(&mut files, Path::new("/"), "/usr/bin/ls", false).unwrap();
        let content = |path: &str| files.iter().find(|(name, _)| *name == Path::new(path)).map(|(_, entry)| entry.content.clone());
        assert_eq!(content("/bin/ls").as_deref(), Some(&b"/usr/bin/ls"[..]));
        assert_eq!(content("/sbin/ls").as_deref(), Some(&b"another program"[..]));
    }

    #[test]
    fn programs_in_a_directory_bring_their_libraries() {
        let folder = crate::scratch::Folder::new("given").unwrap();
        fs::copy("/usr/bin/ls", folder.path().join("list")).unwrap();
        let mut files = Files::default();
        add(&mut files, Path::new("/"), &folder.path().display().to_string(), false).unwrap();
        assert!(files.iter().any(|(path, _)| path.ends_with("libc.so.6")));
    }
}
