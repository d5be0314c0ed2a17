//! Copies of a file's dataspace in another manager: they hold what the file held.

use crate::attached::Attached;
use nacre_abi::PAGE_SIZE;
use nacre_nest::Services;
use nacre_proto::flags::{O_CREAT, O_RDWR, O_TRUNC};
use nacre_proto::{Errno, dataspace, directory, file};
use nacre_rt::stream::print;
use nacre_sys::{OwnedReference, Reference};

/// Pages of the file.
const PAGES: u64 = 24;
/// Added to a page's number by a write to the memory of the file, of a copy, and to the file.
const CHANGES: [u64; 3] = [1000, 2000, 3000];

type Done = Result<(), Errno>;

/// `EPROTO`: something is not as it must be.
fn check(holds: bool) -> Done {
    if holds { Ok(()) } else { Err(Errno::EPROTO) }
}

/// A file whose pages begin with their numbers.
fn write_file(files: Reference, path: &[u8]) -> Result<OwnedReference, Errno> {
    let opened = directory::open(files, O_RDWR | O_CREAT | O_TRUNC, 0o600, path)?.file;
    for page in 0..PAGES {
        let mut bytes = [0; PAGE_SIZE as usize];
        bytes[..8].copy_from_slice(&page.to_le_bytes());
        let mut done = 0;
        while done < bytes.len() {
            done += file::write(opened.handle(), page * PAGE_SIZE + done as u64, &bytes[done..])?.count as usize;
        }
    }
    Ok(opened)
}

fn word(opened: Reference, page: u64) -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    file::read(opened, page * PAGE_SIZE, 8, &mut bytes[..])?;
    Ok(u64::from_le_bytes(bytes))
}

fn attached_copy(original: Reference, manager: &[u8]) -> Result<(OwnedReference, Attached), Errno> {
    let copy = dataspace::copy(original, manager)?.dataspace;
    let attached = Attached::new(copy.handle(), 0)?;
    Ok((copy, attached))
}

/// All pages of a copy but those that were changed hold their numbers.
fn holds(copy: &Attached, changed: &[(u64, u64)]) -> Done {
    (0..PAGES).try_for_each(|page| {
        let expected = changed.iter().find(|(at, _)| *at == page).map_or(page, |(_, word)| *word);
        check(copy.read(page)? == expected)
    })
}

fn copies(services: &Services, path: &[u8], manager: &[u8], other: &[u8]) -> Done {
    let opened = write_file(services.files(), path)?;
    let [by_memory, by_copy, by_file] = CHANGES;
    let shown = dataspace::create_of_file(services.memory(), 0, b"file", opened.handle())?.dataspace;
    let memory = Attached::new(shown.handle(), 0)?;
    memory.write(1, by_memory)?;
    let (copy, attached) = attached_copy(shown.handle(), manager)?;
    check(attached.read(2)? == 2)?;
    // Writes to the original after the copy: to a page that was written before, one that was read
    // through the copy, one that nobody has seen, and one by message.
    [1, 2, 3].into_iter().try_for_each(|page| memory.write(page, by_memory + page))?;
    file::write(memory.attachment.handle(), 4 * PAGE_SIZE, &by_file.to_le_bytes()[..])?;
    check(memory.read(4)? == by_file)?;
    // A write to the copy is nobody else's; nor are later ones a copy's copy's.
    attached.write(5, by_copy)?;
    let (_second, further) = attached_copy(copy.handle(), other)?;
    attached.write(6, by_copy)?;
    check(memory.read(5)? == 5 && word(opened.handle(), 5)? == 5)?;
    for refused in [&b"file"[..], b""] {
        check(dataspace::copy(shown.handle(), refused).is_err_and(|errno| errno == Errno::EOPNOTSUPP))?;
    }
    // The file is cut off, and nobody has it open any more.
    file::set_size(memory.attachment.handle(), 12 * PAGE_SIZE)?;
    drop((memory, shown, opened));
    holds(&attached, &[(1, by_memory), (5, by_copy), (6, by_copy)])?;
    dataspace::transfer(copy.handle(), other)?;
    holds(&further, &[(1, by_memory), (5, by_copy)])?;
    holds(&attached, &[(1, by_memory), (5, by_copy), (6, by_copy)])
}

/// Runs the test with a file at `path`, and copies in two managers: the status.
pub fn run(path: &[u8], manager: &[u8], other: &[u8]) -> i32 {
    let found = Services::find().map_err(|_| Errno::ENOENT);
    match found.and_then(|services| copies(&services, path, manager, other)) {
        Ok(()) => {
            print(1, format_args!("copies hold what the file held\n"));
            0
        }
        Err(errno) => {
            print(1, format_args!("not ok: {errno}\n"));
            1
        }
    }
}
