//! Guests that are frozen while they run and go on in another machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::Outcome;
use crate::rings::parallel_tests;
use crate::rings::system::{describe, limits};
use crate::rings::tally::TestCounts;
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::{Captured, capture};
use crate::session::terminal::Facts;
use crate::session::{Limits, ports};

/// Memory of the machine that runs a guest.
const MEMORY: u64 = 1 << 30;

/// A guest that counts to sixteen, a number a second, with processes and pipes in between. It is
/// frozen on the way, or before, where the machine is slow; never behind, since it waits for longer
/// than the freeze does.
const COUNT: &str = "for i in $(seq 1 16); do seq 1 500 | sort -n | tail -1 >/tmp/last; sleep 1; echo number $i; done; cat /tmp/last; exit 7";
/// A guest that counts by lines of a file in a directory of the environment.
const COUNT_FILE: &str = "mount -t 9p -o trans=virtio,version=9p2000.L share0 /mnt || exit 1
for i in $(seq 1 16); do echo $i >>/mnt/lines; sleep 1; echo number $i; done; wc -l </mnt/lines; rm /mnt/lines; exit 7";
/// A guest that writes each number to a sector of its disk, and adds up at the end what the disk
/// has, not what it remembers.
const COUNT_DISK: &str = "for i in $(seq 1 16); do echo $i | dd of=/dev/vda bs=512 seek=$i conv=sync,fsync 2>/dev/null; sleep 1; echo number $i; done
echo 3 >/proc/sys/vm/drop_caches; s=0; for i in $(seq 1 16); do n=$(dd if=/dev/vda bs=512 skip=$i count=1 2>/dev/null | tr -d '\\0'); s=$((s + n)); done; echo $s; exit 7";
/// A guest that counts for a program beside its machine, over a connection. That program has to
/// wait for input, or it would close its side.
const COUNT_CONNECTION: &str = "mkfifo /tmp/f; nc -l -p 7000 <>/tmp/f & machine --memory 80M --net sh -c 'for i in $(seq 1 16); do echo number $i; sleep 1; done | nc 10.0.2.2 7000'; wait; echo all; exit 7";
/// Size of the disk.
const DISK: usize = 1 << 20;
/// A guest that is frozen.
struct Case {
    name: &'static str,
    words: &'static [&'static str],
    /// Command in the guest.
    command: &'static str,
    /// Lines of the guest's behind its count.
    last: &'static str,
}

const FROZEN: &[Case] = &[
    Case { name: "a guest is frozen and goes on elsewhere", words: &["machine", "--memory", "80M"], command: COUNT, last: "500" },
    Case { name: "a guest with two processors and a disk is frozen and goes on elsewhere", words: &["machine", "--memory", "100M", "--cpus", "2", "--disk", "/disk"], command: COUNT_DISK, last: "136" },
    Case { name: "a guest on shadow paging is frozen and goes on elsewhere", words: &["machine", "--memory", "80M", "--paging", "shadow"], command: COUNT, last: "500" },
    Case { name: "a guest with a connection beside it is frozen and goes on elsewhere", words: &["process"], command: COUNT_CONNECTION, last: "all" },
    Case { name: "a guest with a directory is frozen and goes on elsewhere", words: &["machine", "--memory", "120M", "--share", "/tmp"], command: COUNT_FILE, last: "16" },
];

/// Runs the cases whose names contain the filter, on one processor: with emulated ones that take
/// turns, a guest below `checkpoint` needs several times as long on two.
pub fn run(products: &Products, filter: &str, jobs: usize) -> Outcome<TestCounts> {
    let cases: Vec<_> = FROZEN.iter().filter(|case| case.name.contains(filter)).collect();
    parallel_tests::each(&cases, jobs, |case| {
        let mut one = TestCounts::default();
        one.note(case.name, frozen(products, case)?.as_deref());
        Ok(one)
    })
}

/// Time of a machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The time of this machine.
    Real,
    /// A tick an instruction.
    Instructions,
}

/// Runs a command in a machine that has these files, and may hand out those.
pub fn captured(products: &Products, command: Vec<OsString>, files: Vec<String>, outputs: BTreeMap<PathBuf, PathBuf>, clock: Clock) -> Outcome<Captured> {
    let guest = GuestArguments { command, files, outputs: outputs.keys().cloned().collect(), memory: Some(MEMORY), ..GuestArguments::default() };
    let guest = Guest::compose(products, &guest, &Facts::PIPE)?;
    let image = Scratch::write("boot-image", &guest.image)?;
    let ports = vec![ports::RECORDS.to_string()];
    let arguments = MachineArguments { memory: MEMORY, ports, takes_turns: true, icount: clock == Clock::Instructions, ..MachineArguments::default() };
    capture(&machine(products, &image, arguments), Limits { outputs, ..limits() }, b"")
}

/// Returns the fault, if there was one: both machines together count to sixteen, each number once.
fn frozen(products: &Products, case: &Case) -> Outcome<Option<String>> {
    let folder = Folder::new("frozen")?;
    let image = folder.path().join("image");
    let freezes = ["checkpoint", "-m", "220M", "--after", "15", "--end", "-o"].map(OsString::from);
    let program = case.words.iter().copied().chain(["sh", "-c", case.command]).map(OsString::from);
    let command = freezes.into_iter().chain([image.clone().into_os_string()]).chain(program).collect();
    // The disk's file comes with the image: the second machine has none.
    let disk = Scratch::write("disk", &vec![0; DISK])?;
    let files = case.words.contains(&"--disk").then(|| format!("{}:/disk", disk.path().display()));
    let first = captured(products, command, files.into_iter().collect(), BTreeMap::from([(image.clone(), image.clone())]), Clock::Real)?;
    if !matches!(first.status, Ok(0)) || !image.is_file() {
        return Ok(Some(format!("no image: {}", describe(&first))));
    }
    let thaws = vec!["checkpoint".into(), "--thaw".into(), image.into_os_string()];
    let second = captured(products, thaws, Vec::new(), BTreeMap::new(), Clock::Real)?;
    let text = [first.output, second.output.clone()].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let numbers: Vec<_> = text.lines().filter_map(|line| line.trim().strip_prefix("number ")?.parse::<u32>().ok()).collect();
    let passed = numbers == (1..=16).collect::<Vec<_>>() && text.trim_end().ends_with(case.last) && matches!(second.status, Ok(7));
    Ok((!passed).then(|| format!("both say {text:?}; then {}", describe(&second))))
}
