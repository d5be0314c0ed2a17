//! Files of this machine on their way into a guest with the symbolic links that lead to them: a
//! program finds what is its own beside the file that a link leads to.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::files::{Files, MAX_LINKS};
use crate::failure::{Class, Context, Failure, Outcome};

/// Folders that are links on a merged Debian and folders of their own in a guest.
const MERGED: [&str; 4] = ["/bin", "/sbin", "/lib", "/lib64"];

/// Puts the file or directory at the absolute path `host` into `files` where it lies here, with
/// each link on the way. Returns the place behind the links.
pub fn add(files: &mut Files, host: &Path) -> Outcome<PathBuf> {
    let mut rest = names(host).collect::<VecDeque<_>>();
    let (mut place, mut links) = (PathBuf::from("/"), 0);
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            place.pop();
            continue;
        }
        place.push(&name);
        let Some(target) = target(&place) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(Failure::new(Class::File, format!("{} leads in a circle", host.display())).remedy("check its symbolic links"));
        }
        files.add_link(&place, target.as_os_str());
        place = if target.is_absolute() { PathBuf::from("/") } else { place.parent().unwrap_or(Path::new("/")).to_path_buf() };
        names(&target).rev().for_each(|name| rest.push_front(name));
    }
    if place.exists() {
        return files.add_from_host(&place, &place).map(|()| place);
    }
    add_shortcut(files, host)
}

/// Puts the file into `files`, and one link to it: a relative link in a merged folder leads
/// elsewhere from the folder's other name.
fn add_shortcut(files: &mut Files, host: &Path) -> Outcome<PathBuf> {
    let real = fs::canonicalize(host).context(Class::File, || format!("cannot read {}", host.display()))?;
    files.add_from_host(&real, &real)?;
    if real != host {
        files.add_link(host, real.as_os_str());
    }
    Ok(real)
}

/// Path to which the link at `place` leads; nothing if there is no link or the guest has a folder
/// instead.
fn target(place: &Path) -> Option<PathBuf> {
    if MERGED.iter().any(|folder| place == Path::new(folder)) { None } else { fs::read_link(place).ok() }
}

fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir)).map(|part| part.as_os_str().to_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn content(files: &Files, path: &Path) -> Option<Vec<u8>> {
        files.iter().find(|(other, _)| *other == path).map(|(_, entry)| entry.content.clone())
    }

    #[test]
    fn each_link_on_the_way_comes_along() {
        let folder = Folder::new("links").unwrap();
        let place = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(place.join("versions/3")).unwrap();
        fs::write(place.join("versions/3/tool"), "3").unwrap();
        symlink("versions/3", place.join("now")).unwrap();
        symlink(place.join("now/../3/tool"), place.join("tool")).unwrap();
        let mut files = Files::default();
        assert_eq!(add(&mut files, &place.join("tool")).unwrap(), place.join("versions/3/tool"));
        assert_eq!(content(&files, &place.join("versions/3/tool")).as_deref(), Some(&b"3"[..]));
        assert_eq!(content(&files, &place.join("now")).as_deref(), Some(&b"versions/3"[..]));
        assert_eq!(content(&files, &place.join("tool")).as_deref(), Some(place.join("now/../3/tool").as_os_str().as_bytes()));
    }

    #[test]
    fn links_that_lead_nowhere_are_refused() {
        let folder = Folder::new("nowhere").unwrap();
        let place = fs::canonicalize(folder.path()).unwrap();
        symlink("b", place.join("a")).unwrap();
        symlink("a", place.join("b")).unwrap();
        symlink("c", place.join("d")).unwrap();
        for name in ["a", "d"] {
            assert_eq!(add(&mut Files::default(), &place.join(name)).unwrap_err().class, Class::File, "{name}");
        }
    }

    #[test]
    fn merged_folders_stay_folders() {
        let mut files = Files::default();
        let linker = add(&mut files, Path::new("/lib64/ld-linux-x86-64.so.2")).unwrap();
        assert!(files.contains(Path::new("/lib64/ld-linux-x86-64.so.2")) && files.contains(&linker));
        assert!(files.iter().all(|(path, entry)| path != Path::new("/lib64") || entry.is_directory()));
    }
}
