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
    /// Kernel for processors of 32 bits, with PAE.
    Word,
}

impl Kind {
    fn metapackage(self) -> &'static str {
        match self {
            Kind::Cloud => "linux-image-cloud-amd64",
            Kind::General => "linux-image-amd64",
            Kind::Word => "linux-image-686-pae",
        }
    }

    /// Name of the folder that it is extracted to.
    fn folder(self) -> &'static str {
        match self {
            Kind::Cloud => "linux",
            Kind::General => "linux-general",
            Kind::Word => "linux-word",
        }
    }

    /// Debian's name of its architecture.
    fn architecture(self) -> &'static str {
        match self {
            Kind::Cloud | Kind::General => "amd64",
            Kind::Word => "i386",
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
    let fetched = fetch(&fresh, kind);
    if fetched.is_ok() && fs::rename(&fresh, &folder).is_err() && find_kernel(&folder).is_none() {
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&fresh, &folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    }
    let _ = fs::remove_dir_all(&fresh);
    let package = fetched?;
    find_kernel(&folder).ok_or_else(|| Failure::new(Class::Machine, format!("{package} holds no kernel")))
}

/// Options of apt for packages of an architecture. Lists of another one than this machine's are
/// kept in a folder of their own, so this machine's stay as they are.
struct Source {
    options: Vec<String>,
}

impl Source {
    fn new(folder: &Path, architecture: &str) -> Outcome<Source> {
        let own = Command::new("dpkg").arg("--print-architecture").output().context(Class::Machine, || "cannot start dpkg".to_string())?;
        if own.stdout.trim_ascii() == architecture.as_bytes() {
            return Ok(Source { options: Vec::new() });
        }
        let place = |name: &str| folder.join("apt").join(name);
        for name in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(place(name)).context(Class::File, || format!("cannot make {}", place(name).display()))?;
        }
        let set = [
            ("APT::Architecture", architecture.to_string()),
            ("APT::Architectures", architecture.to_string()),
            ("Dir::State::lists", place("lists").display().to_string()),
            ("Dir::Cache", place("cache").display().to_string()),
            ("Acquire::Languages", "none".to_string()),
        ];
        let source = Source { options: set.into_iter().map(|(name, value)| format!("--option={name}={value}")).collect() };
        // A source that fails can be one that is not needed: whether the package is known counts.
        let update = source.command("apt-get", &["update", "--quiet"]).output();
        update.context(Class::Machine, || "cannot start apt-get".to_string())?;
        Ok(source)
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(&self.options).args(words);
        command
    }
}

/// Downloads the package and extracts it into a folder that nobody else uses; its name.
fn fetch(folder: &Path, kind: Kind) -> Outcome<String> {
    fs::create_dir_all(folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    let source = Source::new(folder, kind.architecture())?;
    let package = package_name(&source, kind.metapackage())?;
    eprintln!("nacre: downloading Debian's package {package} (not installing it)");
    let mut download = source.command("apt-get", &["download", "--quiet", &package]);
    download.current_dir(folder);
    run(download)?;
    let file = packages(folder).ok_or_else(|| Failure::new(Class::Machine, format!("apt-get downloaded no {package}")))?;
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(file).arg(folder);
    run(extract)?;
    let _ = fs::remove_dir_all(folder.join("apt"));
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
fn package_name(source: &Source, metapackage: &str) -> Outcome<String> {
    let output = source.command("apt-cache", &["depends", metapackage]).output().context(Class::Machine, || "cannot start apt-cache".to_string())?;
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
