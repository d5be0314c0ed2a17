//! Debian's cloud kernel, downloaded and extracted but not installed, with a program of ours as its
//! first process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::boot::files::{Entry, Files};
use crate::cli::MachineArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::machine::{Boot, Machine};
use crate::tree::Tree;

const METAPACKAGE: &str = "linux-image-cloud-amd64";
const COMMAND_LINE: &str = "console=ttyS0 quiet loglevel=1 mitigations=off init_on_alloc=0 panic=-1 tsc=reliable";

/// Boots Linux with these files, of which `/init` is its first program. It ends by that program's
/// reboot or by a panic, so the status says nothing.
pub fn boot(tree: &Tree, files: &Files, arguments: MachineArguments, limit: Duration) -> Outcome<Captured> {
    let kernel = kernel(tree)?;
    let module = Scratch::write("initramfs", &initramfs(files))?;
    let boot = Boot::Kernel { kernel, module: module.path().to_path_buf(), command_line: COMMAND_LINE.to_string() };
    capture(&Machine { arguments, boot }, Limits { timeout: Some(limit), ..Limits::default() }, b"")
}

/// Returns the release of the kernel that [`boot`] boots.
pub fn release(tree: &Tree) -> Outcome<String> {
    let kernel = kernel(tree)?;
    let name = kernel.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(name.trim_start_matches("vmlinuz-").to_string())
}

/// The extracted kernel, fetched when it is not there yet.
fn kernel(tree: &Tree) -> Outcome<PathBuf> {
    let folder = tree.target("linux");
    if let Some(kernel) = find_kernel(&folder) {
        return Ok(kernel);
    }
    fs::create_dir_all(&folder).context(Class::File, || format!("cannot make {}", folder.display()))?;
    let package = package_name()?;
    eprintln!("nacre: downloading Debian's package {package} (not installing it)");
    let mut download = Command::new("apt-get");
    download.args(["download", "--quiet", &package]).current_dir(&folder);
    run(download)?;
    let file = packages(&folder).ok_or_else(|| Failure::new(Class::Machine, format!("apt-get downloaded no {package}")))?;
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(file).arg(&folder);
    run(extract)?;
    find_kernel(&folder).ok_or_else(|| Failure::new(Class::Machine, format!("{package} holds no kernel")))
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
fn package_name() -> Outcome<String> {
    let output = Command::new("apt-cache").args(["depends", METAPACKAGE]).output().context(Class::Machine, || "cannot start apt-cache".to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let name = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).find(|name| name.starts_with("linux-image-"));
    name.map(str::to_string).ok_or_else(|| {
        Failure::new(Class::Machine, format!("apt knows no {METAPACKAGE}")).remedy("run `apt-get update`, or measure with --no-linux")
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

/// An initial file system in the format `newc`: a console, a few directories, and the files.
fn initramfs(files: &Files) -> Vec<u8> {
    const DIRECTORY: u32 = 0o040755;
    const CHARACTER_DEVICE: u32 = 0o020600;
    let mut archive = Vec::new();
    for name in ["dev", "proc", "tmp", "bin"] {
        add(&mut archive, name, DIRECTORY, (0, 0), &[]);
    }
    add(&mut archive, "dev/console", CHARACTER_DEVICE, (5, 1), &[]);
    for (path, Entry { mode, content, .. }) in files.iter() {
        let path = path.to_string_lossy();
        add(&mut archive, path.trim_start_matches('/'), *mode, (0, 0), content);
    }
    add(&mut archive, "TRAILER!!!", 0, (0, 0), &[]);
    archive
}

fn add(archive: &mut Vec<u8>, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
    let number = archive.len() as u32 + 1;
    let fields = [number, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
    archive.extend_from_slice(b"070701");
    for field in fields {
        archive.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_aligned_and_ends() {
        let mut files = Files::default();
        files.add_file(Path::new("/init"), 0o755, *b"12345");
        let archive = initramfs(&files);
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        assert!(text.starts_with("070701") && text.contains("TRAILER!!!") && text.contains("init\0"));
        assert_eq!(text.matches("070701").count(), 7);
    }
}
