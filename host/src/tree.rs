//! The source tree that the command belongs to, and where its products stand.

use std::path::{Path, PathBuf};

use crate::failure::{Class, Failure, Outcome};

/// The root of the source tree.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree named by `NACRE_ROOT`, which the script `nacre` sets; else the one that the command
    /// was built from.
    pub fn find() -> Outcome<Tree> {
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf);
        let root = std::env::var_os("NACRE_ROOT").map(PathBuf::from).or(built_from).unwrap_or_default();
        if root.join("kernel/image/Cargo.toml").is_file() {
            return Ok(Tree { root });
        }
        Err(Failure::new(Class::Internal, format!("{} does not hold Nacre's sources", root.display()))
            .remedy("start the command by the script `nacre` at the root of the tree"))
    }

    /// The root itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path inside the tree.
    pub fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.root.join(inside)
    }

    /// Returns the folder of the products of `group`.
    pub fn target(&self, group: &str) -> PathBuf {
        self.root.join("build").join(group)
    }
}
