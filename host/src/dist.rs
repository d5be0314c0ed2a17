//! `nacre dist DIR`: packages by which others install what was built here: a tarball, and a package
//! for Debian.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::boot::elf;
use crate::builds::{self, Products};
use crate::describe;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::scratch::Folder;
use crate::tree::{INSTALLED_KERNEL, INSTALLED_PROGRAMS, Tree};

/// Version of the packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Packages of Debian's that running a guest needs, and that `machine` and `debian` need.
const DEPENDS: &str = "libc6 (>= 2.36), qemu-system-x86, qemu-system-data, busybox-static";
const RECOMMENDS: &str = "debootstrap";

/// Arguments of `dist`.
#[derive(Args, Debug)]
pub struct DistArguments {
    /// Write this kind alone (default: both)
    #[arg(long, value_name = "KIND", value_enum)]
    pub only: Option<Kind>,
    /// The folder to write to; it is made
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Kind of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A package for Debian and its like
    Deb,
    /// A tarball that runs from wherever it is unpacked
    Tarball,
}

/// Writes the packages; its status.
pub fn dist(tree: &Tree, arguments: &DistArguments) -> Outcome<i32> {
    let products = builds::ensure_for(tree, &[])?;
    // Whoever installs a package is to be able to read it.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let cannot = || format!("cannot make {}", arguments.folder.display());
    fs::create_dir_all(&arguments.folder).context(Class::File, cannot)?;
    let folder = fs::canonicalize(&arguments.folder).context(Class::File, cannot)?;
    let scratch = Folder::new("dist")?;
    if arguments.only != Some(Kind::Deb) {
        let name = format!("nacre-{VERSION}");
        lay_out(tree, &products, &scratch.path().join(&name))?;
        let file = folder.join(format!("{name}-x86_64.tar.gz"));
        let words = ["--create", "--gzip", "--owner=0", "--group=0", "--sort=name", "--file"].map(Into::into);
        pack("tar", words.into_iter().chain([file.clone().into_os_string(), "--directory".into(), scratch.path().into(), name.into()]), &file)?;
    }
    if arguments.only != Some(Kind::Tarball) {
        let root = scratch.path().join("deb");
        lay_out(tree, &products, &root.join("usr"))?;
        describe_package(&root)?;
        let file = folder.join(format!("nacre_{VERSION}_amd64.deb"));
        pack("dpkg-deb", ["--root-owner-group".into(), "--build".into(), root.into_os_string(), file.clone().into_os_string()], &file)?;
    }
    Ok(0)
}

/// Starts a program that makes a package, and tells of the file.
fn pack(program: &str, words: impl IntoIterator<Item = std::ffi::OsString>, file: &Path) -> Outcome<()> {
    let mut command = Command::new(program);
    command.args(words);
    let output = command.output().map_err(|error| Failure::new(Class::Machine, format!("cannot start {program}: {error}")).remedy("install it, or name the other kind with --only"))?;
    if !output.status.success() {
        return Err(Failure::new(Class::File, format!("{program} could not write {}: {}", file.display(), String::from_utf8_lossy(&output.stderr).trim_end())));
    }
    println!("{}", file.display());
    Ok(())
}

/// Puts all that is installed below a folder, in the places that hier(7) gives it below `/usr`.
fn lay_out(tree: &Tree, products: &Products, below: &Path) -> Outcome<()> {
    let library = below.join("lib/nacre");
    let own = std::env::current_exe().context(Class::Internal, || "cannot find this command's own file".to_string())?;
    put(&own, &below.join("bin/nacre"), 0o755)?;
    put(&products.kernel, &library.join(INSTALLED_KERNEL), 0o644)?;
    for program in &products.programs {
        put_program(&program.path, &library.join(INSTALLED_PROGRAMS).join(&program.group).join(&program.name))?;
    }
    let documents = below.join("share/doc/nacre");
    for name in ["README.md", "CAVEATS.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        put(&tree.path(name), &documents.join(name), 0o644)?;
    }
    let cannot = || format!("cannot write below {}", below.display());
    symlink("LICENSE-APACHE", documents.join("copyright")).context(Class::File, cannot)?;
    describe::write_pages(&below.join("share/man/man1"))?;
    for (shell, path) in [(Shell::Bash, "bash-completion/completions/nacre"), (Shell::Zsh, "zsh/vendor-completions/_nacre"), (Shell::Fish, "fish/vendor_completions.d/nacre.fish")] {
        write(&below.join("share").join(path), describe::script(shell).as_bytes())?;
    }
    Ok(())
}

fn make_folder(file: &Path) -> Outcome<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).context(Class::File, || format!("cannot make {}", folder.display()))
}

/// Copies a program of a guest's. What only a debugger needs of it stays here.
fn put_program(from: &Path, to: &Path) -> Outcome<()> {
    let bytes = fs::read(from).context(Class::File, || format!("cannot read {}", from.display()))?;
    let bytes = elf::stripped(&bytes).map_err(|refusal| Failure::new(Class::Build, format!("{}: {refusal}", from.display())))?;
    write(to, &bytes)
}

/// Writes a file, and makes its folder.
fn write(to: &Path, bytes: &[u8]) -> Outcome<()> {
    make_folder(to)?;
    fs::write(to, bytes).context(Class::File, || format!("cannot write {}", to.display()))
}

/// Copies a file.
fn put(from: &Path, to: &Path, permissions: u32) -> Outcome<()> {
    let cannot = || format!("cannot copy {} to {}", from.display(), to.display());
    make_folder(to)?;
    fs::copy(from, to).context(Class::File, cannot)?;
    fs::set_permissions(to, fs::Permissions::from_mode(permissions)).context(Class::File, cannot)
}

/// Writes what Debian's tools want to know of the package.
fn describe_package(root: &Path) -> Outcome<()> {
    let text = format!(
        "Package: nacre\nVersion: {VERSION}\nArchitecture: amd64\nMaintainer: the Nacre project <nacre@localhost>\nDepends: {DEPENDS}\nRecommends: {RECOMMENDS}\n\
         Section: utils\nPriority: optional\nDescription: runs programs inside monitors that stack\n Nacre is a microkernel for recursive virtual machines. A program, a Linux\n \
         environment or a whole operating system runs inside monitors (pager,\n checkpointer, debugger, tracer, process manager), any on top of any other.\n"
    );
    write(&root.join("DEBIAN/control"), text.as_bytes())
}
