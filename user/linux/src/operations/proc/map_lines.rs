//! `maps` in `/proc`: a line for each area of memory, with the file that it shows.

use crate::abi::errno::Errno;
use crate::operations::paths::{file_status, path_walk};
use crate::operations::proc::tree;
use crate::operations::program_image::Placed;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::memory::mapped_part::Fill;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::plan::LINKER_BIAS;
use nacre_rt::fallible;

/// Bytes of a line without its file.
const LINE: usize = 128;
/// Column at which names begin.
const NAMES: usize = 73;

/// An area as its line tells of it.
struct Area {
    start: u64,
    end: u64,
    rights: Rights,
    is_shared: bool,
    label: &'static str,
}

/// A file that is mapped.
struct Named {
    path: String,
    device: u64,
    inode: u64,
}

/// Files that areas show, as far as they were asked for.
struct Names {
    /// Files by the directory and the path that each was opened by; `None`: where that is cannot
    /// be told.
    files: BTreeMap<(Option<*const OpenFile>, Vec<u8>), Option<Named>>,
    images: Vec<(Placed, Named)>,
}

impl Names {
    /// Finds the program and its dynamic linker, which are there without a call of the program's.
    fn find(process: &mut Process, areas: &[Area]) -> Names {
        let mut images = Vec::new();
        let program = areas.iter().find(|area| area.start < LINKER_BIAS).and_then(|area| placed(process, area.start));
        let linker = placed(process, LINKER_BIAS);
        let path = process.executable.clone();
        let asked = program.as_ref().and_then(|program| program.linker()).and_then(|(address, size)| {
            Some(process.memory.readable(address, size.min(PAGE_SIZE)).ok()?.strip_suffix(b"\0")?.to_vec())
        });
        images.extend(program.map(|program| (program, named(process, &path))));
        images.extend(linker.zip(asked).map(|(linker, path)| (linker, named(process, &path))));
        Names { files: BTreeMap::new(), images }
    }

    /// Returns the file that is shown at an address, and the offset there.
    fn at(&mut self, process: &mut Process, address: u64) -> Option<(&Named, u64)> {
        let Some((opened, offset)) = process.memory.files.at(address).map(|(opened, offset)| (opened.clone(), offset)) else {
            return self.images.iter().find_map(|(image, named)| Some((named, image.offset(address)?)));
        };
        let key = (opened.0.as_ref().map(Rc::as_ptr), opened.1.clone());
        let found = self.files.entry(key).or_insert_with(|| tree::absolute(&opened).ok().map(|path| named(process, &path)));
        found.as_ref().map(|named| (named, offset))
    }
}

/// Returns the image that begins at an address.
fn placed(process: &mut Process, start: u64) -> Option<Placed> {
    let bytes = process.memory.readable(start, PAGE_SIZE).ok()?;
    Placed::of(start, bytes)
}

/// Returns the file at a path. One that is not there any more has no numbers.
fn named(process: &mut Process, path: &[u8]) -> Named {
    let path = path_walk::real_path(process, path);
    let found = process.services.files().ok().and_then(|root| file_status::of_path(root, &path).ok());
    let (device, inode) = found.map_or((0, 0), |found| (found.device, found.inode));
    // A line ends where the path does.
    let text = String::from_utf8_lossy(&path).replace('\n', "\\012");
    Named { path: if found.is_some() { text } else { text + " (deleted)" }, device, inode }
}

fn areas(process: &mut Process) -> Result<Vec<Area>, Errno> {
    let stack = process.strings[3].max(process.strings[1]).next_multiple_of(PAGE_SIZE);
    let [break_start, _, break_end] = process.memory.break_words();
    let mut all = Vec::new();
    for area in process.memory.map.areas() {
        let label = match &area.backing {
            Fill::Library(_) => continue,
            _ if (area.start..=area.end).contains(&stack) && stack != 0 => "[stack]",
            _ if area.start >= break_start && area.end <= break_end => "[heap]",
            _ => "",
        };
        fallible::push(&mut all, Area { start: area.start, end: area.end, rights: area.rights, is_shared: area.backing.is_shared(), label })?;
    }
    Ok(all)
}

/// Returns `maps`. `ENOMEM`: the library has no memory for so many.
pub fn maps(process: &mut Process) -> Result<String, Errno> {
    let areas = areas(process)?;
    let mut names = Names::find(process, &areas);
    let mut all = String::new();
    for area in &areas {
        let may = |right: Rights, letter: char| if area.rights.contains(right) { letter } else { '-' };
        let rights = [may(Rights::READ, 'r'), may(Rights::WRITE, 'w'), may(Rights::EXECUTE, 'x'), if area.is_shared { 's' } else { 'p' }];
        let shown = if area.label.is_empty() { names.at(process, area.start) } else { None };
        let (name, device, inode, offset) = shown.map_or((area.label, 0, 0, 0), |(named, offset)| (&named.path[..], named.device, named.inode, offset));
        all.try_reserve(LINE + name.len())?;
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00);
        let start = format!("{:08x}-{:08x} {} {offset:08x} {major:02x}:{minor:02x} {inode} ", area.start, area.end, rights.iter().collect::<String>());
        let _ = if name.is_empty() { writeln!(all, "{start}") } else { writeln!(all, "{start:NAMES$}{name}") };
    }
    Ok(all)
}
