//! Directories of this machine in a guest's tree: what the guest sees of them, and what becomes of
//! its changes.

use std::fs;
use std::path::Path;

use super::system::{describe, limits};
use super::tally::TestCounts;
use crate::boot::guest::Guest;
use crate::boot::volumes::{self, VolumeArguments};
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::terminal::Facts;

/// Options, without the folder that they lie in.
const OPTIONS: [&str; 3] = ["live:/data", "fixed:/data/inner:ro", "base:/mnt/new/base:overlay"];
/// A shell in the three, and what it prints.
const SCRIPT: &str = "cd /data; cat text inner/text /mnt/new/base/text; echo new >made; mv made moved; (echo x >inner/no) 2>/dev/null || echo refused; \
                      echo kept >>/mnt/new/base/text; cat /mnt/new/base/text; mv moved /mnt/new/base; cp /mnt/new/base/moved back; \
                      ln text /tmp/text 2>/dev/null || echo apart; rmdir inner 2>/dev/null || echo busy; mv inner other 2>/dev/null || echo busy; \
                      echo mine >/tmp/mine; mv /tmp/mine .; cat mine; \
                      (umask 222; echo locked >lock; cat lock; rm -f lock); exec 3>>gone; rm gone; echo x >&3 && echo appended; exec 3>&-; ls; ls /mnt/new/base; ls /data/inner/..";
const PRINTS: &str = "live\nfixed\nbase\nrefused\nbase\nkept\napart\nbusy\nbusy\nmine\nlocked\nappended\nback\ninner\nmine\ntext\nmoved\ntext\nback\ninner\nmine\ntext\n";

/// Runs the case on one processor and on two, below `process` and with a monitor in between.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for (words, cpus) in [(&["process"][..], 1), (&["process"], 2), (&["trace", "-q", "process"], 1)] {
        let name = format!("directories of this machine: {} [cpus {cpus}]", words.join(" "));
        if name.contains(filter) {
            tally.note(&name, fault(products, words, cpus)?.as_deref());
        }
    }
    Ok(tally)
}

/// Returns the fault, if there was one.
fn fault(products: &Products, words: &[&str], cpus: u32) -> Outcome<Option<String>> {
    let scratch = Folder::new("volumes")?;
    let folder = scratch.path();
    for name in ["live", "fixed", "base"] {
        let made = fs::create_dir_all(folder.join(name)).and_then(|()| fs::write(folder.join(name).join("text"), format!("{name}\n")));
        made.context(Class::File, || format!("cannot fill {}", folder.display()))?;
    }
    let named = OPTIONS.iter().map(|option| volumes::parse(option)).collect::<Result<_, _>>().map_err(|why| Failure::new(Class::Internal, why))?;
    let volumes = VolumeArguments { volumes: named }.open(folder)?;
    let command = words.iter().copied().chain(["sh", "-c", SCRIPT]).map(Into::into).collect();
    let guest = GuestArguments { bare: true, command, volumes: volumes.clone(), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    let machine = machine(products, &image, MachineArguments { cpus, volumes, ..MachineArguments::default() });
    let captured = capture(&machine, limits(), b"")?;
    if captured.output != PRINTS.as_bytes() || !matches!(captured.status, Ok(0)) {
        return Ok(Some(describe(&captured)));
    }
    left(folder).context(Class::File, || "cannot read what the guest left".to_string())
}

/// Compares what is there now with what should be.
fn left(folder: &Path) -> std::io::Result<Option<String>> {
    let mut there = Vec::new();
    for name in ["base", "fixed", "live"] {
        for entry in fs::read_dir(folder.join(name))? {
            let path = entry?.path();
            there.push(format!("{name}/{}: {}", path.file_name().unwrap_or_default().display(), fs::read_to_string(&path)?.trim_end()));
        }
    }
    there.sort();
    let wanted = ["base/text: base", "fixed/text: fixed", "live/back: new", "live/mine: mine", "live/text: live"];
    Ok((there != wanted).then(|| format!("there are {there:?}")))
}
