//! Guests by VMX, which QEMU's emulation lacks: a disc with the system boots in Bochs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::builds::Products;
use crate::cli::GuestArguments;
use crate::disc;
use crate::failure::{Class, Context, Outcome};
use crate::rings::system::LIMIT;
use crate::rings::tally::TestCounts;
use crate::scratch::Folder;

/// Processor of the machine: one with VMX, extended tables, and modes without paging.
const PROCESSOR: &str = "corei7_haswell_4770";
const FIRMWARE: &str = "/usr/share/bochs/BIOS-bochs-latest";
const SCREEN: &str = "/usr/share/vgabios/vgabios.bin";
/// File of what was written to the serial line.
const SERIAL: &str = "serial";
/// Milliseconds between two looks at it.
const PAUSE: u64 = 200;
/// Guests with tables of their own, on tables of `machine`'s, and with two processors.
const SCRIPT: &str = "machine --memory 100M sh -c 'echo the answer is $((6 * 7)); exit 7'; echo nested $?
machine --memory 100M --paging shadow sh -c 'echo the answer is $((6 * 7)); exit 6'; echo shadow $?
machine --memory 100M --cpus 2 sh -c 'nproc; exit 5'; echo two $?
echo over";

/// A command that is run in Bochs.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    is_bare: bool,
    /// Start of its last line.
    end: &'static str,
    /// Lines that have to be there, and the start of those that must not.
    lines: &'static [&'static str],
    refused: &'static str,
    /// A filter has to name it: it takes some minutes.
    is_long: bool,
}

const CASES: [Case; 2] = [
    Case {
        name: "the system passes its conformance in bochs, with guests by VMX",
        words: &["conformance"],
        is_bare: true,
        end: "end ",
        lines: &["ok GST1004 ", "ok GST1006 ", "ok GST1011 "],
        refused: "not ok",
        is_long: false,
    },
    Case {
        name: "guests run by VMX in bochs",
        words: &["sh", "-c", SCRIPT],
        is_bare: false,
        end: "over",
        lines: &["the answer is 42", "nested 7", "shadow 6", "2", "two 5"],
        refused: "machine: ",
        is_long: true,
    },
];

/// Runs the cases whose names contain the filter.
pub fn run(products: &Products, filter: &str, tally: &mut TestCounts) -> Outcome<()> {
    for case in CASES.iter().filter(|case| case.name.contains(filter) && !(case.is_long && filter.is_empty())) {
        tally.note(case.name, fault(products, case)?.as_deref());
    }
    Ok(())
}

/// Returns the fault, if there was one.
fn fault(products: &Products, case: &Case) -> Outcome<Option<String>> {
    let folder = Folder::new("bochs")?;
    let guest = GuestArguments { command: case.words.iter().map(Into::into).collect(), bare: case.is_bare, ..GuestArguments::default() };
    disc::write(products, &guest, &folder.path().join("disc"))?;
    let mut bochs = start(folder.path())?;
    let started = Instant::now();
    let serial = folder.path().join(SERIAL);
    let text = loop {
        let text = String::from_utf8_lossy(&fs::read(&serial).unwrap_or_default()).replace('\r', "");
        let is_over = text.lines().any(|line| line.starts_with(case.end)) && text.ends_with('\n');
        let has_ended = bochs.try_wait().context(Class::Machine, || "cannot wait for bochs".to_string())?.is_some();
        if is_over || has_ended || started.elapsed() > LIMIT {
            break text;
        }
        std::thread::sleep(std::time::Duration::from_millis(PAUSE));
    };
    // Its terminal goes with the program around it, and so does it.
    let _ = bochs.kill();
    let _ = bochs.wait();
    let missing = case.lines.iter().chain([&case.end]).find(|wanted| !text.lines().any(|line| line.starts_with(*wanted)));
    let wrong = text.lines().find(|line| line.starts_with(case.refused));
    Ok(match (missing, wrong) {
        (None, None) => None,
        (_, Some(line)) => Some(line.to_string()),
        (Some(wanted), None) => Some(format!("no line {wanted:?} in: {text}")),
    })
}

/// Starts Bochs on the disc. It wants a terminal for its screen, which `script` gives it.
fn start(folder: &Path) -> Outcome<Child> {
    let lines = [
        "plugin_ctrl: unmapped=true, biosdev=true, serial=true".to_string(),
        format!("cpu: model={PROCESSOR}, count=1, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=1"),
        "memory: guest=512, host=512".to_string(),
        format!("romimage: file={FIRMWARE}"),
        format!("vgaromimage: file={SCREEN}"),
        "ata0-master: type=cdrom, path=disc, status=inserted".to_string(),
        "boot: cdrom".to_string(),
        format!("com1: enabled=1, mode=file, dev={SERIAL}"),
        "display_library: term".to_string(),
        "log: /dev/null".to_string(),
        "panic: action=fatal".to_string(),
        "error: action=ignore".to_string(),
        "info: action=ignore".to_string(),
        "clock: sync=none, time0=local".to_string(),
    ];
    let cannot = || format!("cannot fill {}", folder.display());
    fs::write(folder.join("configuration"), lines.join("\n") + "\n").context(Class::File, cannot)?;
    // Debian's has a debugger, which wants to be told.
    fs::write(folder.join("continue"), "c\n").context(Class::File, cannot)?;
    let screen = File::create(folder.join("screen")).context(Class::File, cannot)?;
    let mut command = Command::new("script");
    command.args(["-qec", "bochs -q -f configuration -rc continue", "/dev/null"]).current_dir(folder).env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(screen).stderr(Stdio::null());
    command.spawn().context(Class::Machine, || "cannot start script (Debian's package bsdutils)".to_string())
}
