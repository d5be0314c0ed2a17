//! A disk in memory, and e2fsprogs that judge it.
#![allow(dead_code)]

pub mod model;

use nacre_ext4::{Disk, Errno, Options, Time, Volume};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Something that was done to a disk.
#[derive(Clone)]
pub enum Event {
    /// Bytes written at a position.
    Write(u64, Vec<u8>),
    /// Everything before is on the medium.
    Flush,
}

/// A disk in memory that notes what is done to it.
#[derive(Clone)]
pub struct Memory {
    /// Contents.
    pub bytes: Vec<u8>,
    /// Everything that was done, if it is to be noted.
    pub log: Option<Arc<Mutex<Vec<Event>>>>,
}

impl Memory {
    pub fn new(bytes: Vec<u8>) -> Self {
        Memory { bytes, log: None }
    }

    pub fn noted(bytes: Vec<u8>) -> Self {
        Memory { bytes, log: Some(Arc::default()) }
    }
}

impl Disk for Memory {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        assert!(at.is_multiple_of(1024) && into.len().is_multiple_of(1024), "{at} {}", into.len());
        let end = at as usize + into.len();
        into.copy_from_slice(self.bytes.get(at as usize..end).ok_or(Errno(5))?);
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        assert!(at.is_multiple_of(1024) && bytes.len().is_multiple_of(1024));
        let end = at as usize + bytes.len();
        self.bytes.get_mut(at as usize..end).ok_or(Errno(5))?.copy_from_slice(bytes);
        if let Some(log) = &self.log {
            log.lock().unwrap().push(Event::Write(at, bytes.to_vec()));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Errno> {
        if let Some(log) = &self.log {
            log.lock().unwrap().push(Event::Flush);
        }
        Ok(())
    }
}

/// Options of a mount in these tests.
pub fn options() -> Options {
    let mut nanoseconds = 0;
    let clock = Box::new(move || {
        nanoseconds += 1;
        Time { seconds: 1_750_000_000, nanoseconds }
    });
    Options { read_only: false, cache: 1 << 20, clock }
}

/// Mounts a disk.
pub fn mount(disk: Memory) -> Volume<Memory> {
    Volume::mount(disk, options()).unwrap_or_else(|error| panic!("mount: {error}"))
}

/// Returns true if the programs of e2fsprogs are there; says so if they are not.
pub fn has_programs() -> bool {
    let is_there = |name: &str| command(name).arg("-V").output().is_ok();
    let all = ["mke2fs", "debugfs", "e2fsck"].iter().all(|name| is_there(name));
    if !all {
        eprintln!("skipped: e2fsprogs (mke2fs, debugfs, e2fsck) is not installed");
    }
    all
}

const CHUNK: usize = 4096;
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A file that goes when this value goes.
pub struct Image(pub PathBuf);

impl Image {
    pub fn new() -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Image(std::env::temp_dir().join(format!("nacre-ext4-{}-{number}", std::process::id())))
    }

    pub fn with(bytes: &[u8]) -> Self {
        let image = Self::new();
        let mut file = fs::File::create(&image.0).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        // Zeros stay holes: writing them takes longer than all else.
        for (number, chunk) in bytes.chunks(CHUNK).enumerate() {
            if chunk.iter().any(|byte| *byte != 0) {
                file.seek(SeekFrom::Start((number * CHUNK) as u64)).unwrap();
                file.write_all(chunk).unwrap();
            }
        }
        image
    }

    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.0).unwrap()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns a command of e2fsprogs, which Debian keeps out of the path of ordinary users.
fn command(name: &str) -> Command {
    let path = Path::new("/usr/sbin").join(name);
    if path.exists() { Command::new(path) } else { Command::new(name) }
}

fn run(program: &str, arguments: &[&str], image: &Path) -> Output {
    command(program).args(arguments).arg(image).output().unwrap()
}

/// Makes a volume of so many KiB with these arguments of mke2fs.
pub fn make(arguments: &str, kib: u64) -> Vec<u8> {
    let image = Image::new();
    fs::File::create(&image.0).unwrap().set_len(kib << 10).unwrap();
    format(&image, arguments);
    image.bytes()
}

/// Makes a volume in a file.
pub fn format(image: &Image, arguments: &str) {
    let arguments: Vec<&str> = ["-q", "-F"].into_iter().chain(arguments.split_whitespace()).collect();
    let output = run("mke2fs", &arguments, &image.0);
    assert!(output.status.success(), "{output:?}");
}

/// Asks e2fsck for an opinion, with these options.
pub fn fsck(image: &Image, options: &str) -> (bool, String) {
    let output = run("e2fsck", &[options], &image.0);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// Fails unless e2fsck finds nothing wrong.
pub fn assert_clean(bytes: &[u8]) {
    let image = Image::with(bytes);
    let (is_clean, text) = fsck(&image, "-fn");
    if !is_clean {
        let kept = std::env::temp_dir().join("nacre-ext4-failed");
        fs::write(&kept, bytes).unwrap();
        panic!("e2fsck of {}: {text}", kept.display());
    }
}

/// Lets debugfs change an image by a command.
pub fn debugfs_writing(image: &Image, command: &str) {
    let output = run("debugfs", &["-w", "-R", command], &image.0);
    assert!(output.status.success(), "{output:?}");
}

/// Returns what debugfs prints for a command.
pub fn debugfs(image: &Image, command: &str) -> Vec<u8> {
    run("debugfs", &["-R", command], &image.0).stdout
}
