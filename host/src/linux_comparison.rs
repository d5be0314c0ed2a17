//! Runs the same Linux programs on Debian's Linux and on Nacre, in the same QEMU. One boot of each
//! system runs all programs, one after the other, each with a limit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bench::linux;
use crate::boot::files::Files;
use crate::boot::guest::Guest;
use crate::builds::{Products, run_quietly};
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Outcome};
use crate::run::machine;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::ports;
use crate::session::terminal::Facts;
use crate::tree::Tree;

/// A guard against hanging, far above what all programs together take.
const LIMIT: Duration = Duration::from_secs(1500);
/// The loaders and libraries of dynamic programs.
const LIBRARIES: [&str; 3] = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"];
const BUSYBOX: &str = "/bin/busybox";
/// The applets that programs start.
const APPLETS: [&str; 3] = ["sh", "cat", "true"];

/// Files of this machine, and programs among them with a word for each run.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Files of this machine, and their paths in the guest.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// A program's place, and the word that it is run with.
    pub runs: Vec<(String, String)>,
    /// Program that runs them on Nacre.
    pub starter: String,
    /// The monitors, with their options, that each runs below on Nacre.
    pub below: Vec<String>,
    /// The monitors are the whole command of each run.
    pub alone: bool,
    /// Files that the guest hands out: its paths, and those on this machine.
    pub outputs: BTreeMap<PathBuf, PathBuf>,
}

impl Batch {
    fn all_files(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        self.files.iter().cloned().chain(LIBRARIES.iter().map(|path| (path.into(), path.into())))
    }

    /// Runs them on Linux, whose first process is `tests/linux/driver.c`.
    pub fn on_linux(&self, tree: &Tree) -> Outcome<Captured> {
        let init = driver(tree)?;
        let mut files = Files::default();
        let list: String = self.runs.iter().map(|(file, name)| format!("{file} {name}\n")).collect();
        files.add_file(Path::new("/tests/list"), 0o644, list);
        for (host, path) in self.all_files().chain([(init, "/init".into()), (BUSYBOX.into(), BUSYBOX.into())]) {
            let bytes = fs::read(&host).context(Class::File, || format!("cannot read {}", host.display()))?;
            files.add_file(&path, 0o755, bytes);
        }
        for applet in APPLETS {
            files.add_link(&Path::new("/bin").join(applet), BUSYBOX.as_ref());
        }
        linux::boot(tree, &files, arguments(), LIMIT)
    }

    /// Runs them on Nacre, below the starter.
    pub fn on_nacre(&self, products: &Products) -> Outcome<Captured> {
        let mut command: Vec<OsString> = vec![self.starter.clone().into()];
        command.extend(self.below.iter().flat_map(|word| ["--under".into(), word.into()]));
        command.extend(self.alone.then(|| "--alone".into()));
        let mut last = "";
        for (file, name) in &self.runs {
            if file != last {
                command.push(file.into());
                last = file;
            }
            command.push(name.into());
        }
        let files = self.all_files().map(|(host, path)| format!("{}:{}", host.display(), path.display())).collect();
        let guest = Guest::compose(products, &GuestArguments { bare: true, command, files, ..GuestArguments::default() }, &Facts::PIPE)?;
        let image = Scratch::write("boot-image", &guest.image)?;
        let mut arguments = arguments();
        // What is large goes over a port of its own, at the price that it comes at another time.
        arguments.ports.extend((!self.outputs.is_empty()).then(|| ports::RECORDS.to_string()));
        capture(&machine(products, &image, arguments), Limits { timeout: Some(LIMIT), outputs: self.outputs.clone(), ..Limits::default() }, b"")
    }
}

/// Guest time advances with instructions, so that waiting costs nothing, and what waits longer
/// comes later.
fn arguments() -> MachineArguments {
    MachineArguments { icount: true, ..MachineArguments::default() }
}

/// Linux's first process.
fn driver(tree: &Tree) -> Outcome<PathBuf> {
    let file = tree.target("linux-tests").join("init");
    let mut command = Command::new("gcc");
    command.args(["-O1", "-static", "-o"]).arg(&file).arg(tree.path("tests/linux/driver.c"));
    run_quietly(command, "the driver of Linux programs")?;
    Ok(file)
}
