//! Paths as the guest has them. The fuzz targets include this file without the rest of the command.

use std::path::{Component, Path, PathBuf};

/// The absolute form of `path`, seen from `directory`, without `.` and `..`; symbolic links are not
/// followed.
pub fn absolute(directory: &Path, path: &Path) -> PathBuf {
    let mut result = PathBuf::from("/");
    for component in directory.join(path).components() {
        match component {
            Component::Normal(name) => result.push(name),
            Component::ParentDir => {
                result.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute() {
        let here = Path::new("/home/me");
        for (given, wanted) in
            [("a", "/home/me/a"), ("./a/../b", "/home/me/b"), ("/x//y/", "/x/y"), ("../../../..", "/"), ("", "/home/me")]
        {
            assert_eq!(absolute(here, Path::new(given)), Path::new(wanted), "{given}");
        }
    }
}
