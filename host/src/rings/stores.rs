//! A store: what a guest wrote to `/dev/store` is there for the next one, however the first ended.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::system::{describe, image, limits};
use super::tally::Tally;
use crate::builds::Products;
use crate::cli::MachineArguments;
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::{machine, with_store};
use crate::scratch::Folder;
use crate::session::capture::capture;
use crate::store;

/// A guard against hanging.
const LIMIT: Duration = Duration::from_secs(300);
/// Pause between looks at the file.
const PAUSE: Duration = Duration::from_millis(50);
/// Stores: one smaller than the machine's memory and one larger, on one processor and on two.
const STORES: [(&str, u32); 2] = [("8M", 1), ("600M", 2)];

/// Kills one guest and boots the next.
pub fn run(products: &Products, filter: &str) -> Outcome<Tally> {
    let mut tally = Tally::default();
    for (size, cpus) in STORES {
        let name = format!("a store of {size} keeps what was written when the machine is killed [cpus {cpus}]");
        if name.contains(filter) {
            tally.note(&name, lasts(products, size, cpus)?.as_deref());
        }
    }
    Ok(tally)
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
