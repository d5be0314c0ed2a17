//! Boots the same system from a disc: GRUB under a BIOS and under UEFI.

use std::path::PathBuf;

use super::tally::TestCounts;
use super::system::{describe, limits};
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::disc;
use crate::failure::{Class, Context, Outcome};
use crate::scratch::Scratch;
use crate::session::capture::capture;
use crate::session::machine::{Boot, Machine};

const FIRMWARE: &str = "/usr/share/ovmf/OVMF.fd";
const WORD: &str = "booted-from-a-disc";

/// Boots one disc with both kinds of firmware.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    let firmwares = [("a disc boots under a BIOS", None), ("a disc boots under UEFI", Some(PathBuf::from(FIRMWARE)))];
    let wanted: Vec<_> = firmwares.into_iter().filter(|(name, _)| name.contains(filter)).collect();
    if wanted.is_empty() {
        return Ok(tally);
    }
    let disc = Scratch::write("disc.iso", b"")?;
    let guest = GuestArguments { command: vec!["echo".into(), WORD.into()], ..GuestArguments::default() };
    disc::write(products, &guest, disc.path())?;
    for (name, firmware) in wanted {
        let fault = boot(&disc, firmware)?;
        tally.note(name, fault.as_deref());
    }
    Ok(tally)
}

/// Boots a disc. Returns the fault, if there was one. Firmware may write to the console first.
fn boot(disc: &Scratch, firmware: Option<PathBuf>) -> Outcome<Option<String>> {
    if let Some(firmware) = &firmware {
        std::fs::metadata(firmware).context(Class::Machine, || format!("cannot find {FIRMWARE} (Debian's package ovmf)"))?;
    }
    let boot = Boot::Disc { disc: disc.path().to_path_buf(), firmware };
    let machine = Machine { arguments: MachineArguments { holds_devices: true, ..MachineArguments::default() }, boot };
    let captured = capture(&machine, limits(), b"")?;
    let said = String::from_utf8_lossy(&captured.output).contains(WORD);
    let passed = said && matches!(captured.status, Ok(0));
    Ok((!passed).then(|| describe(&captured)))
}
