//! The source tree that the command belongs to, and where its products stand; or the place where
//! they were installed without their sources.

use std::path::{Path, PathBuf};

use crate::failure::{Class, Failure, Outcome};

/// The kernel's file among those that were installed, and the folder of the programs.
pub const INSTALLED_KERNEL: &str = "kernel";
/// Folder of the programs that were installed, by their groups.
pub const INSTALLED_PROGRAMS: &str = "programs";

/// The root of the source tree, or of what was installed.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    is_installed: bool,
}

impl Tree {
    /// The tree named by `NACRE_ROOT`, which the script `nacre` sets; else what was installed with
    /// the command; else the tree that the command was built from.
    pub fn find() -> Outcome<Tree> {
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf);
        let named = std::env::var_os("NACRE_ROOT").map(PathBuf::from);
        if let (None, Some(root)) = (&named, installed()) {
            return Ok(Tree { root, is_installed: true });
        }
        let root = named.or(built_from).unwrap_or_default();
        if root.join("kernel/image/Cargo.toml").is_file() {
            return Ok(Tree { root, is_installed: false });
        }
        Err(Failure::new(Class::Internal, format!("{} does not hold Nacre's sources", root.display()))
            .remedy("start the command by the script `nacre` at the root of the tree"))
    }

    /// The root itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if there are products and no sources.
    pub fn is_installed(&self) -> bool {
        self.is_installed
    }

    /// Checks that there are sources.
    pub fn check_sources(&self) -> Outcome<()> {
        if self.is_installed {
            let failure = Failure::new(Class::Usage, "this subcommand needs Nacre's sources, and this command was installed without them");
            return Err(failure.remedy("start ./nacre in a source tree"));
        }
        Ok(())
    }

    /// A path inside the tree.
    pub fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.root.join(inside)
    }

    /// Returns the folder of the products of `group`; where nothing is built, of what is fetched.
    pub fn target(&self, group: &str) -> PathBuf {
        if self.is_installed { cache().join(group) } else { self.root.join("build").join(group) }
    }
}

/// The folder that lies beside the command's own: `bin/nacre` has `lib/nacre`.
fn installed() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let library = own.parent()?.parent()?.join("lib/nacre");
    library.join(INSTALLED_KERNEL).is_file().then_some(library)
}

/// The user's folder of files that can be fetched again (XDG Base Directory Specification).
fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(|| PathBuf::from("/var/cache")).join("nacre")
}
