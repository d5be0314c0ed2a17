//! Disks with a volume: what a guest writes there is what Linux's own tools find, whenever the
//! machine ends.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::system::{LIMIT, describe, limits};
use super::tally::TestCounts;
use crate::boot::disks::{self, DiskArguments};
use crate::boot::guest::Guest;
use crate::boot::volumes::{self, VolumeArguments};
use crate::builds::Products;
use crate::cli::{GuestArguments, MachineArguments};
use crate::failure::{Class, Context, Failure, Outcome};
use crate::run::machine;
use crate::scratch::{Folder, Scratch};
use crate::session::capture::{Captured, capture};
use crate::session::machine::Machine;
use crate::session::terminal::Facts;

/// A shell on a volume that has a file, and what it prints.
const SCRIPT: &str = "cd /data; cat from/text; mkdir a; cp from/text a/b; mv a/b a/c; ln a/c d; ln -s a/c e; cat e; echo more >>d; cat a/c; rm -r from; \
                      dd if=/dev/zero of=big bs=64k count=100 2>/dev/null; truncate -s 1M big; echo end >>big; tail -c 4 big; mkfifo f; \
                      (exec 3>gone 4<gone; rm gone; echo held >&3; cat <&4); rmdir a 2>/dev/null || echo full; chmod 640 d; ls -l d | cut -c1-15; \
                      df -k . | grep -o '^disk  *3[0-9]*'; grep data /proc/mounts; [ $(stat -c %d .) != $(stat -c %d /) ] && echo apart";
const PRINTS: &str = "text\ntext\ntext\nmore\nend\nheld\nfull\n-rw-r-----    2\ndisk                     32768\ndisk /data ext4 rw,relatime 0 0\napart\n";
/// A shell that brings one file after the other to the disk, and says so on this machine.
const COUNTS: &str = "cd /data; i=0; while :; do i=$((i+1)); echo $i >n$i; mkdir d$i; mv n$i d$i/n; sync d$i/n; rm -f d$((i-3))/n; rmdir d$((i-3)) 2>/dev/null; echo $i >/told/x; mv /told/x /told/last; done";
/// Machines that are killed, one after the other.
const KILLED: u64 = 3;
/// Files that a machine brings to its disk, at least, before it is killed.
const LEAST: u64 = 20;
/// Maximum of milliseconds that pass then.
const LATER: u64 = 700;

/// Runs the cases.
pub fn run(products: &Products, filter: &str) -> Outcome<TestCounts> {
    let mut tally = TestCounts::default();
    for (words, cpus, more) in [(&["process"][..], 1, &[][..]), (&["trace", "-q", "process"], 2, &["-b", "1024"]), (&["guard", "--allow", "*", "process"], 1, &["-O", "^has_journal"])] {
        let name = format!("a disk: {} [cpus {cpus}] {}", words.join(" "), more.join(" "));
        if name.contains(filter) {
            tally.note(name.trim_end(), is_written(products, words, cpus, more)?.as_deref());
        }
    }
    let others: [(&str, Case); 5] = [
        ("a disk keeps attributes, FIFOs, sockets and devices", keeps),
        ("a disk sets room aside, and tells of holes", has_room),
        ("a disk has all that was synced whenever the machine is killed", lasts),
        ("a disk that is only read", is_read_only),
        ("a disk without a volume is refused", has_no_volume),
    ];
    for (name, case) in others {
        if name.contains(filter) {
            tally.note(name, case(products)?.as_deref());
        }
    }
    Ok(tally)
}

/// A case; it returns the fault, if there was one.
type Case = fn(&Products) -> Outcome<Option<String>>;

/// Runs a command of this machine's; what it prints, if it ended well.
fn tool(name: &str, words: &[&str], file: &Path) -> Outcome<Result<String, String>> {
    let output = Command::new(name).args(words).arg(file).output().context(Class::File, || format!("cannot run {name}: the package e2fsprogs has it"))?;
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    Ok(if output.status.success() { Ok(text) } else { Err(format!("{name}: {text}")) })
}

/// Makes a volume of 32 MiB with a file in it, by these words of `mke2fs`.
fn volume(folder: &Path, words: &[&str]) -> Outcome<std::path::PathBuf> {
    let (source, image) = (folder.join("source"), folder.join("disk"));
    let made = fs::create_dir_all(source.join("from")).and_then(|()| fs::write(source.join("from/text"), "text\n")).and_then(|()| fs::File::create(&image)?.set_len(32 << 20));
    made.context(Class::File, || format!("cannot fill {}", folder.display()))?;
    let source = source.display().to_string();
    let made = tool("mke2fs", &[&["-q", "-F", "-t", "ext4", "-d", &source], words].concat(), &image)?;
    made.map(|_| image).map_err(|why| Failure::new(Class::Machine, why))
}

/// A machine with a disk, and perhaps with a directory of this machine.
fn with_disk(products: &Products, words: &[&str], cpus: u32, (disk, told): (&str, Option<&Path>)) -> Outcome<(Machine, Scratch)> {
    let bad = |why: String| Failure::new(Class::Internal, why);
    let here = Path::new("/");
    let disks = DiskArguments { disks: vec![disks::parse(disk).map_err(bad)?] }.open(here)?;
    let named = told.map(|told| volumes::parse(&format!("{}:/told", told.display()))).transpose().map_err(bad)?;
    let volumes = VolumeArguments { volumes: named.into_iter().collect() }.open(here)?;
    let command = words.iter().map(Into::into).collect();
    let guest = GuestArguments { bare: true, command, volumes: volumes.clone(), disks: disks.clone(), ..GuestArguments::default() };
    let image = Scratch::write("boot-image", &Guest::compose(products, &guest, &Facts::PIPE)?.image)?;
    Ok((machine(products, &image, MachineArguments { cpus, volumes, disks, ..MachineArguments::default() }), image))
}

fn captured(products: &Products, words: &[&str], cpus: u32, disk: &str) -> Outcome<Captured> {
    let (machine, _image) = with_disk(products, words, cpus, (disk, None))?;
    capture(&machine, limits(), b"")
}

fn is_written(products: &Products, words: &[&str], cpus: u32, more: &[&str]) -> Outcome<Option<String>> {
    let folder = Folder::new("disk")?;
    let image = volume(folder.path(), more)?;
    let command = [words, &["sh", "-c", SCRIPT]].concat();
    let ended = captured(products, &command, cpus, &format!("{}:/data", image.display()))?;
    if ended.output != PRINTS.as_bytes() || !matches!(ended.status, Ok(0)) {
        return Ok(Some(describe(&ended)));
    }
    if let Err(why) = tool("e2fsck", &["-fn"], &image)? {
        return Ok(Some(why));
    }
    let found = tool("debugfs", &["-R", "cat /a/c"], &image)?;
    Ok((!found.as_ref().is_ok_and(|text| text.contains("text\nmore\n"))).then(|| format!("debugfs finds {found:?}")))
}

/// Lines that a machine prints which finds what another one made on its disk.
const FOUND: &str = "getxattr(\"file\", \"user.small\", value, sizeof value): 1\ngetxattr(\"file\", \"user.long\", value, sizeof value): 700\n\
                     value[699] == 'v': 1\nlistxattr(\"file\", names, sizeof names): 21\nlgetxattr(\"folder\", \"user.of.folder\", value, sizeof value): 2\n\
                     kind(\"fifo\"): 1\nkind(\"null\"): 2\nkind(\"socket\"): 12\nwrite(open(\"null\", O_WRONLY), \"x\", 1): 1\n\
                     at_socket(connect): Connection refused\nat_socket(bind): Address already in use\nread(in, value, 7): 7\n";

/// Compiles a program of one file; its path.
fn compiled(folder: &Path, source: &[u8]) -> Outcome<String> {
    let program = folder.join("program");
    let compiled = Command::new("gcc").args(["-O1", "-static", "-x", "c", "-o"]).arg(&program).arg("-").stdin(Stdio::piped()).spawn().and_then(|mut gcc| {
        gcc.stdin.take().map_or(Ok(()), |mut text| text.write_all(source))?;
        gcc.wait()
    });
    compiled.context(Class::Machine, || "cannot run gcc".to_string())?;
    Ok(program.display().to_string())
}

/// Results of the calls of a program that takes room and looks for holes, as it prints them: the
/// same on a volume in memory of Linux's.
const ROOM: &str = include_str!("../../../tests/disks/room.expected");

fn has_room(products: &Products) -> Outcome<Option<String>> {
    let folder = Folder::new("disk")?;
    let image = volume(folder.path(), &[])?;
    let program = compiled(folder.path(), include_bytes!("../../../tests/disks/room.c"))?;
    for place in ["/data", "/tmp"] {
        let ended = captured(products, &["process", &program, place], 1, &format!("{}:/data", image.display()))?;
        if ended.output != ROOM.as_bytes() || !matches!(ended.status, Ok(0)) {
            return Ok(Some(format!("{place}: {}", describe(&ended))));
        }
    }
    Ok(tool("e2fsck", &["-fn"], &image)?.err())
}

fn keeps(products: &Products) -> Outcome<Option<String>> {
    let folder = Folder::new("disk")?;
    let image = volume(folder.path(), &[])?;
    let (program, disk) = (compiled(folder.path(), include_bytes!("../../../tests/disks/kept.c"))?, format!("{}:/data", image.display()));
    for what in ["make", "find"] {
        let ended = captured(products, &["process", &program, what, "/data"], 1, &disk)?;
        let text = String::from_utf8_lossy(&ended.output).into_owned();
        let is_made = what == "make" && text.contains("\"user.huge\", value, 5000, 0): No space left on device\n") && text.matches(": 0\n").count() == 10;
        if !text.ends_with(FOUND) && what == "find" || what == "make" && !is_made || !matches!(ended.status, Ok(0)) {
            return Ok(Some(format!("{what}: {}", describe(&ended))));
        }
        if let Err(why) = tool("e2fsck", &["-fn"], &image)? {
            return Ok(Some(why));
        }
    }
    for (command, part) in [("stat /fifo", "Type: FIFO"), ("stat /socket", "Type: socket"), ("stat /null", "major/minor number: 01:03"), ("ea_get -V /file user.small", "1")] {
        let found = tool("debugfs", &["-R", command], &image)?;
        if !found.as_ref().is_ok_and(|text| text.contains(part)) {
            return Ok(Some(format!("debugfs finds {found:?}")));
        }
    }
    Ok(None)
}

/// The number of the last file that the guest says it has brought to the disk.
fn last(told: &Path) -> u64 {
    fs::read_to_string(told.join("last")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn lasts(products: &Products) -> Outcome<Option<String>> {
    let seed: u64 = std::process::id().into();
    for number in 0..KILLED {
        let folder = Folder::new("disk")?;
        let image = volume(folder.path(), &["-E", "lazy_itable_init=0"])?;
        let told = folder.path().join("told");
        fs::create_dir(&told).context(Class::File, || format!("cannot make {}", told.display()))?;
        let disk = format!("{}:/data", image.display());
        let (machine, _image) = with_disk(products, &["process", "sh", "-c", COUNTS], 1, (&disk, Some(&told)))?;
        let mut started = machine.start()?;
        let _lines = started.take_lines()?;
        let since = Instant::now();
        while last(&told) < LEAST && since.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis((seed.wrapping_mul(2654435761) >> number) % LATER));
        started.kill();
        let last = last(&told);
        let copy = folder.path().join("copy");
        fs::copy(&image, &copy).context(Class::File, || format!("cannot copy {}", image.display()))?;
        // One for: what the journal has was brought to its place, and nothing else.
        let mended = Command::new("e2fsck").arg("-fy").arg(&copy).output().context(Class::File, || "cannot run e2fsck".to_string())?;
        let text = String::from_utf8_lossy(&mended.stdout).into_owned();
        if text.contains("Fix? yes") || text.contains("Clear? yes") || !mended.status.code().is_some_and(|code| code <= 1) {
            return Ok(Some(format!("machine {number}, killed after {last} files: {text}")));
        }
        let read = format!("cat /data/d{last}/n /data/d{}/n; ls /data | wc -l; echo on >/data/on", last - 1);
        let ended = captured(products, &["process", "sh", "-c", &read], 1, &disk)?;
        let text = String::from_utf8_lossy(&ended.output).into_owned();
        if last < LEAST || !text.starts_with(&format!("{last}\n{}\n", last - 1)) || !matches!(ended.status, Ok(0)) {
            return Ok(Some(format!("machine {number}, killed after {last} files: {}", describe(&ended))));
        }
        if let Err(why) = tool("e2fsck", &["-fn"], &image)? {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

fn is_read_only(products: &Products) -> Outcome<Option<String>> {
    let folder = Folder::new("disk")?;
    let image = volume(folder.path(), &[])?;
    let before = fs::read(&image).context(Class::File, || "cannot read the disk".to_string())?;
    let command = ["process", "sh", "-c", "cat /mnt/from/text; (echo x >/mnt/x) 2>&1 | grep -o 'Read-only.*'; rm -r /mnt/from 2>/dev/null || echo stays"];
    let ended = captured(products, &command, 1, &format!("{}:ro", image.display()))?;
    if ended.output != b"text\nRead-only file system\nstays\n" {
        return Ok(Some(describe(&ended)));
    }
    let after = fs::read(&image).context(Class::File, || "cannot read the disk".to_string())?;
    Ok((before != after).then(|| "the file has changed".to_string()))
}

fn has_no_volume(products: &Products) -> Outcome<Option<String>> {
    let folder = Folder::new("disk")?;
    let image = folder.path().join("disk");
    fs::write(&image, vec![0x5a; 1 << 20]).context(Class::File, || "cannot make a disk".to_string())?;
    let ended = captured(products, &["process", "true"], 1, &image.display().to_string())?;
    Ok((!matches!(ended.status, Ok(126))).then(|| describe(&ended)))
}
