//! Debian's cloud kernel, with a program of ours as its first process.

use std::time::Duration;

use crate::boot::files::Files;
use crate::boot::initramfs::archive;
use crate::boot::kernel::{Kind, kernel};
use crate::cli::MachineArguments;
use crate::failure::Outcome;
use crate::scratch::Scratch;
use crate::session::Limits;
use crate::session::capture::{Captured, capture};
use crate::session::machine::{Boot, Machine};
use crate::tree::Tree;

/// Words for the kernel.
pub const COMMAND_LINE: &str = "console=ttyS0 quiet loglevel=1 mitigations=off init_on_alloc=0 panic=-1 tsc=reliable";

/// Boots Linux with these files, of which `/init` is its first program. It ends by that program's
/// reboot or by a panic, so the status says nothing.
pub fn boot(tree: &Tree, files: &Files, arguments: MachineArguments, limit: Duration) -> Outcome<Captured> {
    let kernel = kernel(tree, Kind::Cloud)?;
    let module = Scratch::write("initramfs", &archive(files))?;
    let boot = Boot::Kernel { kernel, module: module.path().to_path_buf(), command_line: COMMAND_LINE.to_string() };
    capture(&Machine { arguments, boot }, Limits { timeout: Some(limit), ..Limits::default() }, b"")
}

/// Returns the release of the kernel that [`boot`] boots.
pub fn release(tree: &Tree) -> Outcome<String> {
    let kernel = kernel(tree, Kind::Cloud)?;
    let name = kernel.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(name.trim_start_matches("vmlinuz-").to_string())
}
