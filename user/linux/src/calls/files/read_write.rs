//! Reading and writing open files.

use crate::abi::errno::{Answer, EAWAITS_PAGE, EBADF, EFAULT, EFBIG, EINVAL, ENODEV, EOPNOTSUPP, ESPIPE, Errno};
use crate::abi::file_flags::{S_IFDIR, S_IFIFO, S_IFMT};
use crate::abi::registers::Frame;
use crate::calls::files::list_directory;
use crate::operations::files::file_signals::written;
use crate::operations::limit_checks;
use crate::operations::paths::file_status;
use crate::operations::proc;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::services::find::PIECE;
use crate::state::files::open_file::OpenFile;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_proto::file;
use nacre_rt::fallible;

/// Maximum number of bytes of one read or write, as on Linux.
const MOST: u64 = 0x7fff_f000;

/// A file that was opened to read.
fn to_read(process: &Process, descriptor: u64) -> Result<Rc<OpenFile>, Errno> {
    process.descriptors.get(descriptor).and_then(|file| if file.can_read() { Ok(file) } else { Err(EBADF) })
}

/// A file that was opened to write.
fn to_write(process: &Process, descriptor: u64) -> Result<Rc<OpenFile>, Errno> {
    process.descriptors.get(descriptor).and_then(|file| if file.can_write() { Ok(file) } else { Err(EBADF) })
}

/// Returns the size of the usable part of a buffer, which ends before the first missing byte.
/// `EFAULT` if it is empty.
fn usable(process: &Process, address: u64, size: u64, rights: Rights) -> Result<u64, Errno> {
    let size = size.min(MOST);
    let extent = process.memory.map.extent(address, size, rights);
    if extent != size && process.memory.check_allowed(address, size, rights) == Err(EAWAITS_PAGE) {
        return Err(EAWAITS_PAGE);
    }
    if extent == 0 && size != 0 { Err(EFAULT) } else { Ok(extent) }
}

/// A position in a file, which Linux takes as a signed number.
fn position(offset: u64) -> Result<u64, Errno> {
    if (offset as i64) < 0 { Err(EINVAL) } else { Ok(offset) }
}

fn read_into(process: &mut Process, file: &OpenFile, offset: u64, address: u64, size: u64) -> Answer {
    if file.is_null {
        return Ok(0);
    }
    let size = usable(process, address, size, Rights::WRITE)?;
    let into = process.memory.writable(address, size)?;
    process.read(file, offset, into).map(|count| count as u64)
}

fn write_from(process: &mut Process, file: &OpenFile, offset: u64, address: u64, size: u64) -> Answer {
    if file.is_null {
        return Ok(size.min(MOST));
    }
    let size = usable(process, address, size, Rights::READ)?;
    let from = process.memory.readable(address, size)?;
    if from.is_empty() && file.is_regular() && file.node().is_none() {
        return Ok(0);
    }
    process.write(file, offset, from).map(|count| count as u64)
}

/// `read(descriptor, buffer, size)`.
pub fn read(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, size, ..] = frame.arguments();
    let file = to_read(process, descriptor)?;
    read_into(process, &file, OWN_POSITION, buffer, size)
}

/// `pread64(descriptor, buffer, size, offset)`.
pub fn pread64(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, size, offset, ..] = frame.arguments();
    let offset = position(offset)?;
    let file = to_read(process, descriptor)?;
    read_into(process, &file, offset, buffer, size)
}

/// `write(descriptor, buffer, size)`.
pub fn write(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, size, ..] = frame.arguments();
    if process.descriptors.look(descriptor).is_some_and(|file| file.is_null && file.can_write()) {
        return Ok(size.min(MOST));
    }
    write_somewhere(process, [descriptor, buffer, size])
}

/// Apart, so that a write to the null device saves no registers.
#[inline(never)]
fn write_somewhere(process: &mut Process, [descriptor, buffer, size]: [u64; 3]) -> Answer {
    let file = to_write(process, descriptor)?;
    let answer = write_from(process, &file, OWN_POSITION, buffer, size);
    written(process, &file, answer)
}

/// `pwrite64(descriptor, buffer, size, offset)`.
pub fn pwrite64(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, size, offset, ..] = frame.arguments();
    let offset = position(offset)?;
    let file = to_write(process, descriptor)?;
    write_from(process, &file, offset, buffer, size)
}

/// Reads once, into all pieces that can be written: what comes when it comes may not be asked for
/// twice.
fn read_scattered(process: &mut Process, file: &OpenFile, offset: u64, pieces: &[(u64, u64)]) -> Answer {
    const MAX_GATHERED: u64 = 0x4_0000;
    let mut room: u64 = 0;
    for (address, size) in pieces {
        match usable(process, *address, *size, Rights::WRITE) {
            Err(error) if room == 0 => return Err(error),
            Ok(there) => {
                room += there;
                if there < *size {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    let mut bytes = fallible::zeros(room.min(MAX_GATHERED) as usize)?;
    let count = process.read(file, offset, &mut bytes)?;
    process.memory.scatter(pieces, &bytes[..count])?;
    Ok(count as u64)
}

/// Reads into one piece after the other, until one is not filled.
fn read_pieces(process: &mut Process, file: &OpenFile, mut offset: u64, pieces: &[(u64, u64)]) -> Answer {
    if !file.is_regular() && pieces.len() > 1 {
        return read_scattered(process, file, offset, pieces);
    }
    let mut total = 0;
    for (address, size) in pieces.iter().copied().filter(|piece| piece.1 != 0) {
        let count = match read_into(process, file, offset, address, size) {
            Err(_) if total != 0 => break,
            answer => answer?,
        };
        total += count;
        if offset != OWN_POSITION {
            offset += count;
        }
        if count < size {
            break;
        }
    }
    Ok(total)
}

/// Writes pieces; those that fit one message together become one, so that a line of output stays
/// whole.
fn write_pieces(process: &mut Process, file: &OpenFile, mut offset: u64, pieces: &[(u64, u64)]) -> Answer {
    let size = pieces.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.1));
    if size <= PIECE as u64 && pieces.iter().filter(|piece| piece.1 != 0).count() > 1 {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize)?;
        for (address, size) in pieces {
            bytes.extend_from_slice(process.memory.readable(*address, *size)?);
        }
        return process.write(file, offset, &bytes).map(|count| count as u64);
    }
    let mut total = 0;
    for (address, size) in pieces.iter().copied().filter(|piece| piece.1 != 0) {
        let count = match write_from(process, file, offset, address, size) {
            Err(_) if total != 0 => break,
            answer => answer?,
        };
        total += count;
        if offset != OWN_POSITION {
            offset += count;
        }
        if count < size {
            break;
        }
    }
    Ok(total)
}

/// The pieces of `readv` and its like; together they may not exceed what a signed number holds.
pub fn vectors(process: &Process, address: u64, count: u64) -> Result<Vec<(u64, u64)>, Errno> {
    let pieces = process.memory.vectors(address, count)?;
    let size = pieces.iter().try_fold(0, |sum: u64, piece| sum.checked_add(piece.1));
    if size.is_some_and(|size| size as i64 >= 0) { Ok(pieces) } else { Err(EINVAL) }
}

/// `readv(descriptor, pieces, count)`.
pub fn readv(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, pieces, count, ..] = frame.arguments();
    let file = to_read(process, descriptor)?;
    read_pieces(process, &file, OWN_POSITION, &vectors(process, pieces, count)?)
}

/// `writev(descriptor, pieces, count)`.
pub fn writev(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, pieces, count, ..] = frame.arguments();
    let file = to_write(process, descriptor)?;
    let answer = write_pieces(process, &file, OWN_POSITION, &vectors(process, pieces, count)?);
    written(process, &file, answer)
}

/// `preadv(descriptor, pieces, count, offset)`.
pub fn preadv(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, pieces, count, offset, ..] = frame.arguments();
    let offset = position(offset)?;
    let file = to_read(process, descriptor)?;
    read_pieces(process, &file, offset, &vectors(process, pieces, count)?)
}

/// `pwritev(descriptor, pieces, count, offset)`.
pub fn pwritev(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, pieces, count, offset, ..] = frame.arguments();
    let offset = position(offset)?;
    let file = to_write(process, descriptor)?;
    write_pieces(process, &file, offset, &vectors(process, pieces, count)?)
}

/// Flags of `preadv2` and `pwritev2`: what is known of them changes nothing here, but for writes at
/// the end.
fn transfer_flags(flags: u64, known: u64) -> Result<u64, Errno> {
    let flags = flags & 0xffff_ffff;
    if flags & !known == 0 { Ok(flags) } else { Err(EOPNOTSUPP) }
}

/// The position of `preadv2` and `pwritev2`: -1 is the file's own.
fn position_or_own(offset: u64) -> Result<u64, Errno> {
    if offset == u64::MAX { Ok(OWN_POSITION) } else { position(offset) }
}

/// `preadv2(descriptor, pieces, count, offset, 0, flags)`.
pub fn preadv2(process: &mut Process, frame: &mut Frame) -> Answer {
    const KNOWN: u64 = 0xf;
    let [descriptor, pieces, count, offset, _, flags] = frame.arguments();
    let offset = position_or_own(offset)?;
    let file = to_read(process, descriptor)?;
    transfer_flags(flags, KNOWN)?;
    read_pieces(process, &file, offset, &vectors(process, pieces, count)?)
}

/// `pwritev2(descriptor, pieces, count, offset, 0, flags)`.
pub fn pwritev2(process: &mut Process, frame: &mut Frame) -> Answer {
    const APPEND: u64 = 0x10;
    let [descriptor, pieces, count, offset, _, flags] = frame.arguments();
    let offset = position_or_own(offset)?;
    let file = to_write(process, descriptor)?;
    let at_end = transfer_flags(flags, 0x1f)? & APPEND != 0 && file.is_regular();
    let end = if at_end { file_status::of_file(process, &file)?.size } else { offset };
    let answer = write_pieces(process, &file, end, &vectors(process, pieces, count)?);
    if let (Ok(count), true) = (answer, at_end && offset == OWN_POSITION) {
        nacre_proto::file::seek(file.reference()?, end + count, nacre_proto::flags::SEEK_SET)?;
    }
    written(process, &file, answer)
}

/// `lseek(descriptor, offset, whence)`.
pub fn lseek(process: &mut Process, frame: &mut Frame) -> Answer {
    const SET: u64 = 0;
    const CURRENT: u64 = 1;
    let [descriptor, offset, whence, ..] = frame.arguments();
    let file = process.descriptors.get(descriptor)?;
    if !file.node().is_none_or(|node| node.is_folder())
        && let Some(answer) = proc::open::seek(&file, offset, whence & 0xffff_ffff)
    {
        return answer;
    }
    if file.mode.get() & S_IFMT == S_IFDIR {
        return match whence & 0xffff_ffff {
            SET => list_directory::seek(process, &file, position(offset)?),
            CURRENT if offset == 0 => Ok(list_directory::position(process, &file)),
            _ => Err(EINVAL),
        };
    }
    let target = file.reference()?;
    Ok(process.while_asking([target], |[target]| file::seek(target, offset, whence & 0xffff_ffff))?.position)
}

/// A file that is to be longer than it is must be allowed to be.
fn check_growth(process: &mut Process, file: &OpenFile, size: u64) -> Result<(), Errno> {
    if size > process.limits.file_size() && file_status::of_file(process, file)?.size < size { limit_checks::check_file_size(process, size) } else { Ok(()) }
}

/// `ftruncate(descriptor, size)`.
pub fn ftruncate(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, size, ..] = frame.arguments();
    let size = position(size)?;
    let file = process.descriptors.get(descriptor)?;
    if !file.can_write() || is_pipe(&file) {
        return Err(EINVAL);
    }
    check_growth(process, &file, size)?;
    let target = file.reference()?;
    file.settle();
    process.while_asking([target], |[target]| file::set_size(target, size))?;
    file.settle();
    Ok(0)
}

/// `fallocate(descriptor, mode, offset, size)`: makes the file as long as that, or a hole in it;
/// memory is taken when it is written.
pub fn fallocate(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, mode, offset, size, ..] = frame.arguments();
    let end = position(offset)?.checked_add(position(size)?).ok_or(EINVAL)?;
    let file = to_write(process, descriptor)?;
    if size == 0 {
        return Err(EINVAL);
    }
    if is_pipe(&file) {
        return Err(ESPIPE);
    }
    if !file.is_regular() {
        return Err(ENODEV);
    }
    if end > i64::MAX as u64 {
        return Err(EFBIG);
    }
    const KEEP_SIZE: u64 = 1;
    if mode & KEEP_SIZE == 0 {
        check_growth(process, &file, end)?;
    }
    let target = file.reference()?;
    process.while_asking([target], |[target]| file::allocate(target, mode & 0xffff_ffff, offset, size))?;
    Ok(0)
}

/// `fsync(descriptor)`, `fdatasync(descriptor)`, `syncfs(descriptor)`.
pub fn fsync(process: &mut Process, frame: &mut Frame) -> Answer {
    let file = process.descriptors.get(frame.arguments()[0])?;
    if file.pipe().is_some() {
        return Err(EINVAL);
    }
    let target = file.reference()?;
    process.while_asking([target], |[target]| file::sync(target))?;
    Ok(0)
}

/// `sync()`: every write has reached its server already, which brings it to where it lasts.
pub fn sync(process: &mut Process, _: &mut Frame) -> Answer {
    let files = process.services.files()?;
    // Linux tells nobody that it failed.
    let _ = process.while_asking([files], |[files]| file::sync(files));
    Ok(0)
}

/// Returns true if the file is a pipe, inside the process or shared with others.
pub fn is_pipe(file: &OpenFile) -> bool {
    file.pipe().is_some() || file.mode.get() & S_IFMT == S_IFIFO
}

/// `fadvise64(descriptor, offset, size, advice)`: advice that nobody needs.
pub fn fadvise64(process: &mut Process, frame: &mut Frame) -> Answer {
    const LAST: u64 = 5;
    let [descriptor, _, size, advice, ..] = frame.arguments();
    let file = process.descriptors.get(descriptor)?;
    if is_pipe(&file) {
        return Err(ESPIPE);
    }
    if (size as i64) < 0 || advice & 0xffff_ffff > LAST { Err(EINVAL) } else { Ok(0) }
}

/// `readahead(descriptor, offset, size)`: nothing has to be read before it is asked for.
pub fn readahead(process: &mut Process, frame: &mut Frame) -> Answer {
    let file = to_read(process, frame.arguments()[0])?;
    if file.is_regular() { Ok(0) } else { Err(EINVAL) }
}

/// `sync_file_range(descriptor, offset, size, flags)`: what was written is where it belongs.
pub fn sync_file_range(process: &mut Process, frame: &mut Frame) -> Answer {
    const KNOWN: u64 = 7;
    let [descriptor, offset, size, flags, ..] = frame.arguments();
    let file = process.descriptors.get(descriptor)?;
    let end = (offset as i64).checked_add(size as i64);
    if flags & 0xffff_ffff & !KNOWN != 0 || (offset as i64) < 0 || end.is_none_or(|end| end < offset as i64) {
        return Err(EINVAL);
    }
    if is_pipe(&file) { Err(ESPIPE) } else { Ok(0) }
}
