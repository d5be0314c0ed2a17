//! A store: what a guest wrote to `/dev/store` is there for the next one, however the first ended.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::system::{LIMIT, describe, image, limits};
use super::tally::TestCounts;
use crate::builds::Products;
use crate::cli::MachineArguments;
use crate::control::image::generation as generation_of_image;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::{machine, with_store};
use crate::scratch::Folder;
use crate::session::capture::capture;
use crate::store;

/// Pause between looks at the file.
const PAUSE: Duration = Duration::from_millis(50);
/// Stores: one smaller than the machine's memory and one larger, on one processor and on two.
const STORES: [(&str, u32); 2] = [("8M", 1), ("600M", 2)];

/// Machines that are killed, one after the other, while a program counts in persistent memory.
const KILLED: u64 = 4;
/// Place in a file of generations where a head has its generation's number. The other head is a
/// page behind.
const GENERATION: u64 = 32;
/// Maximum of milliseconds between the sight of a generation and the end of the machine.
const LATER: u64 = 700;

/// Kills one guest and boots the next.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for (size, cpus) in STORES {
        let name = format!("a store of {size} keeps what was written when the machine is killed [cpus {cpus}]");
        if name.contains(filter) {
            tally.note(&name, lasts(products, size, cpus)?.as_deref());
        }
    }
    for cpus in [1, 2] {
        let name = format!("a store has a whole generation of persistent memory whenever the machine is killed [cpus {cpus}]");
        if name.contains(filter) {
            tally.note(&name, generations(products, cpus)?.as_deref());
        }
    }
    for cpus in [1, 2] {
        let name = format!("a store has a whole image of an environment whenever the machine is killed [cpus {cpus}]");
        if name.contains(filter) {
            tally.note(&name, images(products, cpus)?.as_deref());
        }
    }
    Ok(tally)
}

/// Machines that are killed while an environment is frozen into the store.
const FROZEN: u64 = 2;
/// A program that counts to 60, and looks at a large variable each time.
const COUNTS: &str = "x=$(head -c 50000 /dev/urandom | od -An -x); h=$(echo \"$x\" | md5sum); i=0
while [ $i -lt 60 ]; do i=$((i + 1)); [ \"$(echo \"$x\" | md5sum)\" = \"$h\" ] || echo damaged; y=$y$i; echo $i; sleep 0.05; done
echo ended ${#y}";

/// Returns the fault, if there was one: an environment that is frozen again and again into a store,
/// and thawed there whenever its machine was killed, has lost or damaged something.
fn images(products: &Products, cpus: u32) -> Outcome<Option<String>> {
    let folder = Folder::new("store")?;
    let path = folder.path().join("store");
    let named = store::parse(&format!("{}:64M", path.display())).map_err(|text| Failure::new(Class::Internal, text))?;
    let arguments = MachineArguments { cpus, ..MachineArguments::default() };
    let freezes = ["checkpoint", "-m", "24M", "-o", "/dev/store", "--every", "0.2"];
    let begins = [&freezes[..], &["process", "sh", "-c", COUNTS]].concat();
    let goes_on = [&freezes[..], &["--thaw", "/dev/store"]].concat();
    for number in 0..FROZEN {
        let store = named.open()?;
        let before = generation_of_image(&path).unwrap_or(0);
        let image = image(products, if number == 0 { &begins } else { &goes_on })?;
        let mut started = machine(products, &image, with_store(arguments.clone(), Some(&store))).start()?;
        let _lines = started.take_lines()?;
        let since = Instant::now();
        while generation_of_image(&path).is_none_or(|now| now < before + 2) && since.elapsed() < LIMIT {
            std::thread::sleep(PAUSE);
        }
        started.kill();
    }
    let store = named.open()?;
    let image = image(products, &["checkpoint", "--thaw", "/dev/store"])?;
    let captured = capture(&machine(products, &image, with_store(arguments, Some(&store))), limits(), b"")?;
    let text = String::from_utf8_lossy(&captured.output).into_owned();
    let numbers: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let is_whole = !numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]) && text.ends_with("ended 111\n") && text.lines().count() == numbers.len() + 1;
    Ok((!is_whole).then(|| describe(&captured)))
}

/// The newest generation that a file names.
fn generation(path: &Path) -> Outcome<u64> {
    let file = File::open(path).context(Class::File, || format!("cannot open {}", path.display()))?;
    let mut newest = 0;
    for head in 0..2 {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, head * 4096 + GENERATION).context(Class::File, || format!("cannot read {}", path.display()))?;
        newest = newest.max(u64::from_le_bytes(bytes));
    }
    Ok(newest)
}

/// Returns the fault, if there was one: a program that counts in all pages of a dataspace finds
/// pages of different moments, or fewer rounds than before.
fn generations(products: &Products, cpus: u32) -> Outcome<Option<String>> {
    let folder = Folder::new("store")?;
    let path = folder.path().join("store");
    let named = store::parse(&format!("{}:2M", path.display())).map_err(|text| Failure::new(Class::Internal, text))?;
    let arguments = MachineArguments { cpus, ..MachineArguments::default() };
    let words = |rounds| ["dataspace", "persistent", "--store", "/dev/store", "-m", "512K", "dataspace-test", "count", "rounds", "200", rounds];
    let image_of = |rounds| image(products, &words(rounds));
    let seed = std::process::id().into();
    let mut found = 0;
    for number in 0..KILLED {
        let before = {
            let store = named.open()?;
            let before = generation(&path)?;
            // The image is a file that QEMU opens only after it has started.
            let image = image_of("1000000")?;
            let mut started = machine(products, &image, with_store(arguments.clone(), Some(&store))).start()?;
            let _lines = started.take_lines()?;
            let since = Instant::now();
            while generation(&path)? < before + 2 + number && since.elapsed() < LIMIT {
                std::thread::sleep(PAUSE);
            }
            std::thread::sleep(Duration::from_millis((u64::wrapping_mul(seed, 2654435761) >> number) % LATER));
            started.kill();
            before
        };
        let store = named.open()?;
        let image = image_of("7")?;
        let captured = capture(&machine(products, &image, with_store(arguments.clone(), Some(&store))), limits(), b"")?;
        let text = String::from_utf8_lossy(&captured.output).into_owned();
        let now = text.lines().find_map(|line| line.strip_prefix("found ")?.parse::<u64>().ok());
        match now {
            Some(now) if matches!(captured.status, Ok(0)) && now >= found && (now > 0 || number + 1 < KILLED) => found = now,
            _ => return Ok(Some(format!("machine {number}, generation {before}, after {found} rounds: {}", describe(&captured)))),
        }
    }
    Ok(None)
}

/// Returns the fault, if there was one.
fn lasts(products: &Products, size: &str, cpus: u32) -> Outcome<Option<String>> {
    let folder = Folder::new("store")?;
    let path = folder.path().join("a,store");
    let named = store::parse(&format!("{}:{size}", path.display())).map_err(|text| Failure::new(Class::Internal, text))?;
    let arguments = MachineArguments { cpus, ..MachineArguments::default() };
    let first = {
        let store = named.open()?;
        let at = store.size() - 5;
        let writes = format!("printf start >/dev/store; printf ended | dd of=/dev/store bs=1 seek={at} conv=notrunc 2>/dev/null; sleep 1000");
        let image = image(products, &["process", "sh", "-c", &writes])?;
        let mut started = machine(products, &image, with_store(arguments.clone(), Some(&store))).start()?;
        let _lines = started.take_lines()?;
        let came = wait_for(&path, at, b"ended")?;
        started.kill();
        came
    };
    if !first {
        return Ok(Some("what the guest wrote did not come to the file".to_string()));
    }
    let store = named.open()?;
    let image = image(products, &["process", "sh", "-c", "head -c 5 /dev/store; tail -c 5 /dev/store; wc -c </dev/store"])?;
    let captured = capture(&machine(products, &image, with_store(arguments, Some(&store))), limits(), b"")?;
    let expected = format!("startended{}\n", store.size());
    Ok((captured.output != expected.as_bytes()).then(|| describe(&captured)))
}

/// Waits until these bytes stand in the file.
fn wait_for(path: &Path, at: u64, bytes: &[u8]) -> Outcome<bool> {
    let file = File::open(path).context(Class::File, || format!("cannot open {}", path.display()))?;
    let since = Instant::now();
    let mut found = vec![0; bytes.len()];
    while since.elapsed() < LIMIT {
        if file.read_exact_at(&mut found, at).is_ok() && found == bytes {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(false)
}
