//! Protocol 12, `dataspace`: memory as a service of several managers.

use crate::flags::{ATTACH_FLAGS, DATASPACE_OPERATIONS};

/// Size of the longest answer of `interrogate`: two managers' names.
pub const NAME_SIZE: usize = 64;

crate::protocol! {
    /// Memory whose manager can be chosen, and changed while the memory is in use. A pool answers
    /// `interrogate`, `create` and `identify`, if it has managers. A dataspace answers all other
    /// operations, and so does each segment that was taken from such a pool with
    /// `SEGMENT_PAGEABLE`: it is a dataspace of the first manager. A dataspace's id is a reference,
    /// so it means something to its holder alone. `ENOSYS`: the pool has no managers, or the
    /// segment is not a dataspace. `ENOENT`: there is no manager, or no dataspace, of this name.
    dataspace = 12;

    /// Finds a dataspace by a name that `create` gave it in this pool: `MANAGER:NAME`. The
    /// reference is one that `share` gives. `EACCES`: the reference to the pool leads to no names
    /// (`POOL_NAMELESS`), neither here nor for `create`.
    1 identify(; bytes name: Text) -> (size: Number; references dataspace: Own(Segment));
    /// A region of the dataspace, and a port that keeps the attachment. The holder maps the region
    /// where it likes. `EACCES`: the reference does not allow to write. `EINVAL`: flags are set
    /// that have no meaning.
    2 attach(flags: Flags(ATTACH_FLAGS)) -> (size: Number; references region: Region(CONTENTS), attachment: Own(Attachment));
    /// Cuts off all memory that is reached through its region. The dataspace and its other
    /// attachments stay. Port: an attachment.
    3 detach() -> ();
    /// Returns the operations that a manager supports, and its state: bytes that it can promise and
    /// has promised, pages in memory, pages put away, and the bytes that these take there. An empty
    /// name stands for the dataspace's own manager, or for a pool's first one. The answer names the
    /// manager; for a dataspace's own one, also the one below it: `MANAGER/LOWER`.
    4 interrogate(; bytes manager: Text) -> (operations: Flags(DATASPACE_OPERATIONS), limit: Number, promised: Number, here: Number, away: Number, kept: Number; bytes name: Text);
    /// A reference to the same dataspace that can neither delete nor transfer it, nor change its
    /// size, with `ATTACH_READ` only to read it. It does not keep the dataspace.
    5 share(flags: Flags(ATTACH_FLAGS)) -> (; references dataspace: Own(Segment));
    /// A dataspace of this manager that holds what this one holds now. Pages are copied when they
    /// are touched. An empty name stands for the same manager. `ENOMEM`: the manager or the pool
    /// cannot promise as much.
    6 copy(; bytes manager: Text) -> (size: Number; references dataspace: Own(Segment));
    /// Moves the dataspace to this manager. All references and attachments stay what they are, and
    /// whoever uses the memory meanwhile waits. A name that it has moves with it. `EEXIST`: the
    /// manager has another of that name. `ENOMEM`: the manager cannot promise as much, and the
    /// dataspace is where it was. `EPERM`: the reference came from `share`.
    /// `MANAGER/LOWER` puts the manager LOWER below: what leaves MANAGER goes there, and comes back
    /// when it is touched. `MANAGER` alone takes out what is below. Without MANAGER it is the
    /// present one. `EINVAL`: both are the same.
    7 transfer(; bytes manager: Text) -> ();
    /// Makes a dataspace of zeros, with a name `MANAGER:NAME` by which the pool finds it, or
    /// without one: `MANAGER`. `EEXIST`: the name is taken. `ENAMETOOLONG`: it has more than 255
    /// bytes. `ENOMEM`: the manager or the pool cannot promise as much.
    /// The manager `file` needs a reference to an open file: the dataspace shows its first `size`
    /// bytes at least, or all that there are (0). All who open the same file share one dataspace.
    /// Who has the file to be read alone gets a reference that only reads. `EINVAL`: a file is
    /// given to another manager, or none to this one. `EACCES`: the file is not open for reading.
    /// `ENODEV`: it is no regular file.
    /// The manager `device` takes the open file that shows its window, too: the dataspace has all
    /// of the window, and ends when nobody has it attached. `EBUSY`: somebody has the window.
    /// `ENODEV`: the file shows something else.
    8 create(size: Number; bytes name: Text; up_to 1 file: Kept(File)) -> (size: Number; references dataspace: Own(Segment));
    /// Deletes the dataspace. All attachments end. `EPERM`: the reference came from `share`.
    9 delete() -> ();
}

/// `create` at the manager of files, with an open file.
pub fn create_of_file(pool: nacre_sys::Reference, size: u64, manager: &[u8], file: nacre_sys::Reference) -> Result<create::Reply, crate::Errno> {
    let slot = crate::client::slot()?;
    let sent = (nacre_sys::Span::from(manager), &[file][..]);
    let received = crate::client::call(pool, create::LABEL, crate::sender::words([size]), sent, (nacre_sys::SpanMut::EMPTY, &[slot.handle()]))?;
    Ok(create::Reply { size: received.words[0], dataspace: slot.occupied() })
}
