//! The Rust that builds for bare metal: chosen by the script `nacre`, told through the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::Tree;

/// The target of everything that runs on Nacre or is Nacre.
pub const TARGET: &str = "x86_64-unknown-none";

/// Cargo, rustc, and whether `core` must be built as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    cargo: OsString,
    rustc: OsString,
    build_std: bool,
}

impl Toolchain {
    /// The toolchain that the environment names; Debian's by default.
    pub fn from_environment() -> Toolchain {
        let variable = |name: &str, default: &str| std::env::var_os(name).unwrap_or_else(|| default.into());
        Toolchain {
            cargo: variable("NACRE_CARGO", "/usr/bin/cargo"),
            rustc: variable("NACRE_RUSTC", "/usr/bin/rustc"),
            build_std: variable("NACRE_BUILD_STD", "1") != "0",
        }
    }

    /// A cargo command in `tree` whose products go to the target folder of `group`.
    pub fn cargo(&self, tree: &Tree, group: &str) -> Command {
        let mut command = Command::new(&self.cargo);
        command
            .current_dir(tree.root())
            .env("RUSTC", &self.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", tree.target(group))
            .env_remove("RUSTFLAGS");
        if let Some(rustdoc) = self.rustdoc() {
            command.env("RUSTDOC", rustdoc);
        }
        command
    }

    /// The one that belongs to `rustc`: another in the path could not read what this one compiled.
    fn rustdoc(&self) -> Option<PathBuf> {
        let rustdoc = Path::new(&self.rustc).with_file_name("rustdoc");
        rustdoc.exists().then_some(rustdoc)
    }

    /// `cargo build --release` for bare metal with the given flags of rustc.
    pub fn bare_metal_build(&self, tree: &Tree, group: &str, flags: &str) -> Command {
        let mut command = self.cargo(tree, group);
        command.args(["build", "--release", "--target", TARGET]).env("RUSTFLAGS", flags);
        if self.build_std {
            command.args(["-Zbuild-std=core,alloc,compiler_builtins", "-Zbuild-std-features=compiler-builtins-mem"]);
        }
        command
    }
}
