//! Debian's kernels, downloaded and extracted but not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Class, Context, Failure, Outcome};
use crate::tree::Tree;

/// A kernel of Debian's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Kernel for virtual machines: small and quick to boot.
    Cloud,
    /// Kernel for any machine. It has file systems that the other lacks, such as 9P.
    General,
}

impl Kind {
    fn metapackage(self) -> &'static str {
        match self {
            Kind::Cloud => "linux-image-cloud-amd64",
            Kind::General => "linux-image-amd64",
        }
    }

    /// Name of the folder that it is extracted to.
    fn folder(self) -> &'static str {
        match self {
            Kind::Cloud => "linux",
            Kind::General => "linux-general",
        }
    }
}

/// Returns the folder that a kernel was extracted to.
pub fn package_folder(kernel: &Path) -> Option<&Path> {
    kernel.parent()?.parent()
}

/// The extracted kernel, fetched when it is not there yet.
pub fn kernel(tree: &Tree, kind: Kind) -> Outcome<PathBuf> {
    let folder = tree.target(kind.folder());
    if let Some(kernel) = find_kernel(&folder) {
        return Ok(kernel);
    }
    // Others may fetch it at the same time, or be interrupted: whole or not at all.
    let fresh = tree.target(&format!("{}-{}", kind.folder(), std::process::id()));
    let fetched = fetch(&fresh, kind.metapackage());
    if fetched.is_ok() && fs::rename(&fresh, &folder).is_err() && find_kernel(&folder).is_none() {
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&fresh, &folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    }
    let _ = fs::remove_dir_all(&fresh);
    let package = fetched?;
    find_kernel(&folder).ok_or_else(|| Failure::new(Class::Machine, format!("{package} holds no kernel")))
}

/// Downloads the package and extracts it into a folder that nobody else uses; its name.
fn fetch(folder: &Path, metapackage: &str) -> Outcome<String> {
    fs::create_dir_all(folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    let package = package_name(metapackage)?;
    eprintln!("nacre: downloading Debian's package {package} (not installing it)");
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet", &package]).current_dir(folder);
    run(download)?;
    let file = packages(folder).ok_or_else(|| Failure::new(Class::Machine, format!("apt-get downloaded no {package}")))?;
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(file).arg(folder);
    run(extract)?;
    Ok(package)
}

fn find_kernel(folder: &Path) -> Option<PathBuf> {
    find(&folder.join("boot"), |name| name.starts_with("vmlinuz"))
}

fn packages(folder: &Path) -> Option<PathBuf> {
    find(folder, |name| name.ends_with(".deb"))
}

fn find(folder: &Path, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.filter_map(|entry| Some(entry.ok()?.path())).find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&wanted))
}

/// The kernel's package that the metapackage stands for.
fn package_name(metapackage: &str) -> Outcome<String> {
    let output = Command::new("apt-cache").args(["depends", metapackage]).output().context(Class::Machine, || "cannot start apt-cache".to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let name = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).find(|name| name.starts_with("linux-image-"));
    name.map(str::to_string).ok_or_else(|| {
        Failure::new(Class::Machine, format!("apt knows no {metapackage}")).remedy("run `apt-get update` first")
    })
}

fn run(mut command: Command) -> Outcome<()> {
    let name = command.get_program().display().to_string();
    let output = command.output().context(Class::Machine, || format!("cannot start {name}"))?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(Failure::new(Class::Machine, format!("{name} failed")).remedy("its message is above"))
}
