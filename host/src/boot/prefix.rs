//! A program that was unpacked into a folder of its own, such as `/usr/local/go/bin/go`: what lies
//! beside its `bin` is its.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose `bin` many programs share.
const SHARED: [&str; 4] = ["/", "/usr", "/usr/local", "/opt"];
/// Folders beside `bin` of which one at least shows that the folder is a program's own.
const SIGNS: [&str; 4] = ["lib", "libexec", "share", "pkg"];

/// Returns the contents of the program's own folder, one level deep and the smallest first; `None`
/// if it has no such folder.
pub fn folders_of(host: &Path) -> Option<Vec<PathBuf>> {
    let real = fs::canonicalize(host).ok()?;
    let bin = real.parent().filter(|folder| folder.ends_with("bin"))?;
    let own = bin.parent().filter(|own| !is_shared(own) && SIGNS.iter().any(|sign| own.join(sign).is_dir()))?;
    let entries = fs::read_dir(own).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut sized: Vec<_> = entries.map(|path| (super::data::size_of(&path, &mut Default::default()), path)).collect();
    sized.sort();
    Some(sized.into_iter().map(|(_, path)| path).collect())
}

/// Returns true for a folder into which everybody installs, a user's own ones too, or one that
/// packages fill.
fn is_shared(folder: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    SHARED.iter().any(|shared| folder == Path::new(shared)) || folder == home || folder.parent() == Some(&home) || folder.starts_with("/usr/lib")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn a_folder_of_its_own_comes_smallest_first() {
        let folder = Folder::new("prefix").unwrap();
        let own = fs::canonicalize(folder.path()).unwrap().join("tool");
        fs::create_dir_all(own.join("bin")).unwrap();
        fs::write(own.join("bin/tool"), "program").unwrap();
        assert_eq!(folders_of(&own.join("bin/tool")), None);
        fs::create_dir_all(own.join("lib")).unwrap();
        fs::write(own.join("lib/large"), vec![0; 9000]).unwrap();
        assert_eq!(folders_of(&own.join("bin/tool")), Some(vec![own.join("bin"), own.join("lib")]));
        std::os::unix::fs::symlink(own.join("bin/tool"), folder.path().join("alias")).unwrap();
        assert!(folders_of(&folder.path().join("alias")).is_some());
    }

    #[test]
    fn folders_that_many_programs_share_stay() {
        for path in ["/bin/sh", "/usr/bin/env", "/nonexistent"] {
            assert_eq!(folders_of(Path::new(path)), None, "{path}");
        }
        assert!(is_shared(Path::new("/usr/local")) && !is_shared(Path::new("/usr/local/go")));
    }
}
