//! A directory of this machine as a guest's root directory: what the guest sees of it, and what
//! happens to what it changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use super::system::{LIMIT, describe, limits};
use super::tally::TestCounts;
use crate::boot::directory::{Changes, Directory};
use crate::boot::files::BUSYBOX;
use crate::boot::guest::Guest;
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Outcome};
use crate::run::{machine, with_directory};
use crate::scratch::{Folder, Scratch};
use crate::session::capture::capture;
use crate::session::terminal::Facts;

/// Pause between looks at a file.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of the large file, of which a guest reads the first and the last ones.
const LARGE: usize = 5 << 20;

/// A run: what a shell does, and what it prints.
struct Case {
    name: &'static str,
    changes: Changes,
    script: &'static str,
    prints: &'static str,
    /// Names in the directory afterwards, and the text of `data/text`.
    leaves: (&'static [&'static str], &'static str),
}

const CASES: [Case; 3] = [
    Case {
        name: "changes stay in the guest",
        changes: Changes::Kept,
        script: "cd data; cat text link; head -c 3 large; tail -c 3 large; echo new >more; echo longer >>text; cat text; rm large; mv sub moved; ls -R; [ -e /tmp/x ] || echo own",
        prints: "old\nold\naaaaaaold\nlonger\n.:\nlink\nmore\nmoved\ntext\n\n./moved:\nfile\nown\n",
        leaves: (&["large", "link", "sub", "text"], "old\n"),
    },
    Case {
        name: "changes are refused",
        changes: Changes::Refused,
        script: "cd data; for c in 'echo x >text' 'echo x >more' 'rm text' 'mv sub moved' 'mkdir d' 'chmod 600 text' 'ln text other' 'touch text'; do (eval \"$c\") 2>/dev/null && echo \"$c\"; done; cat text; echo x >/tmp/x && cat /tmp/x",
        prints: "old\nx\n",
        leaves: (&["large", "link", "sub", "text"], "old\n"),
    },
    Case {
        name: "changes arrive, both ways",
        changes: Changes::Passed,
        script: "cd data; cat text; echo new >>text; rm large; mkdir d; mv sub/file d/other; rmdir sub; ln -s ../text d/link; chmod 640 d/other; dd if=/dev/zero of=d/zeros bs=1000 count=300 2>/dev/null; \
                 touch ready; until [ -e go ]; do sleep 0.02; done; cat go d/link; rm ready; ls",
        prints: "old\ncome\nold\nnew\nd\ngo\nlink\ntext\n",
        leaves: (&["d", "go", "link", "text"], "old\nnew\n"),
    },
];

/// Runs the cases on one processor and on two.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for (case, cpus) in CASES.iter().flat_map(|case| [(case, 1), (case, 2)]) {
        let name = format!("a root directory of this machine: {} [cpus {cpus}]", case.name);
        if name.contains(filter) {
            tally.note(&name, fault(products, case, cpus)?.as_deref());
        }
    }
    Ok(tally)
}

/// A directory with a shell and some files.
fn prepare(folder: &Path) -> Outcome<()> {
    let make = || -> std::io::Result<()> {
        fs::create_dir_all(folder.join("usr/bin"))?;
        fs::create_dir_all(folder.join("data/sub"))?;
        fs::copy(BUSYBOX, folder.join("usr/bin/busybox"))?;
        symlink("usr/bin", folder.join("bin"))?;
        for applet in ["sh", "cat", "head", "tail", "rm", "mv", "ls", "mkdir", "rmdir", "chmod", "ln", "touch", "dd", "sleep"] {
            symlink("busybox", folder.join("usr/bin").join(applet))?;
        }
        fs::write(folder.join("data/text"), "old\n")?;
        fs::write(folder.join("data/sub/file"), "")?;
        fs::write(folder.join("data/large"), vec![b'a'; LARGE])?;
        symlink("/data/text", folder.join("data/link"))
    };
    make().context(Class::File, || format!("cannot fill {}", folder.display()))
}

/// Returns the fault, if there was one.
fn fault(products: &Products, case: &Case, cpus: u32) -> Outcome<Option<String>> {
    let scratch = Folder::new("root")?;
    let folder = scratch.path().join("a,directory");
    prepare(&folder)?;
    let directory = Directory::open(&folder, case.changes)?;
    let command = ["process", "sh", "-c", case.script].map(Into::into).to_vec();
    let guest = GuestArguments { bare: true, command, root: Some(directory.clone()), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    let arguments = with_directory(MachineArguments { cpus, ..MachineArguments::default() }, Some(directory));
    let machine = machine(products, &image, arguments);
    let captured = std::thread::scope(|scope| {
        if case.changes == Changes::Passed {
            scope.spawn(|| answer(&folder.join("data")));
        }
        capture(&machine, limits(), b"")
    })?;
    if captured.output != case.prints.as_bytes() || !matches!(captured.status, Ok(0)) {
        return Ok(Some(describe(&captured)));
    }
    left(case, &folder.join("data")).context(Class::File, || "cannot read what the guest left".to_string())
}

/// Writes a file when the guest is ready for it.
fn answer(data: &Path) {
    let since = Instant::now();
    while !data.join("ready").exists() && since.elapsed() < LIMIT {
        std::thread::sleep(PAUSE);
    }
    // The guest is to see the whole file, or none.
    let _ = fs::write(data.join("d/go"), "come\n").and_then(|()| fs::rename(data.join("d/go"), data.join("go")));
}

/// Compares what is there now with what should be.
fn left(case: &Case, data: &Path) -> std::io::Result<Option<String>> {
    let mut names: Vec<_> = fs::read_dir(data)?.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned())).collect::<Result<_, _>>()?;
    names.sort();
    let text = fs::read_to_string(data.join("text"))?;
    if names != case.leaves.0 || text != case.leaves.1 {
        return Ok(Some(format!("there are {names:?}, and the text is {text:?}")));
    }
    if case.changes == Changes::Passed && fs::read(data.join("d/zeros"))? != [0; 300_000] {
        return Ok(Some("a file that was written is another one".to_string()));
    }
    Ok(None)
}
