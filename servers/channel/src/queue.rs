//! One direction of a channel: what was sent and not yet received. A pipe's bytes are in pages; a
//! socket's in pieces, each with the references that were sent with it and with who sent it.

use crate::bytes;
use crate::pages::{PAGE, Pages};
use crate::shared::Shared;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Initial capacity of a pipe, in bytes.
pub const USUAL: usize = 64 << 10;
/// Capacity of a socket, in bytes.
pub const SOCKET: usize = 212_992;
/// Maximum number of references that are on their way in a queue.
pub const MAX_REFERENCES: usize = 512;
/// Maximum number of pieces in a queue: as many as of one byte fit in Linux.
const MAX_PIECES: usize = 278;
/// Bytes of memory that a piece takes besides its own: the record, the name of its sender, and what
/// the heap adds.
pub(crate) const PIECE: usize = 384;
/// Number of pieces for which an empty queue keeps room.
const FEW_PIECES: usize = 8;

/// Sender: the process, its user (and, in the upper half, group).
pub type Sender = [u64; 2];

/// Sender of bytes that nobody signed, as Linux gives it.
pub(crate) const NOBODY: Sender = [0, 65534 << 32 | 65534];

/// Bytes that were sent together with references, or as one message, or one after the other.
#[derive(Debug)]
struct Piece<R> {
    data: VecDeque<u8>,
    references: VecDeque<R>,
    control: Vec<u8>,
    from: Vec<u8>,
    sender: Sender,
    /// Length of the whole message.
    total: usize,
}

/// Data to send.
#[derive(Debug)]
pub struct SendRequest<'a, R> {
    /// Bytes.
    pub data: &'a [u8],
    /// References that go with them.
    pub references: Vec<R>,
    /// Bytes that whoever gets the references gets too.
    pub control: &'a [u8],
    /// The name of whom they are from.
    pub from: &'a [u8],
    /// Sender.
    pub sender: Sender,
}

/// Request to receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// Maximum of bytes.
    pub size: usize,
    /// Maximum number of references.
    pub most: usize,
    /// Set if the data stays in the queue.
    pub only_look: bool,
    /// Set if the rest of a message that does not fit stays, to be received next.
    pub in_parts: bool,
    /// Bytes of different senders stay apart.
    pub is_apart: bool,
    /// Offset of the first byte to receive.
    pub offset: usize,
}

/// Data that was received.
#[derive(Debug, PartialEq, Eq)]
pub struct Received<R> {
    /// Bytes.
    pub data: Vec<u8>,
    /// References that came with them.
    pub references: Vec<R>,
    /// Control bytes about them.
    pub control: Vec<u8>,
    /// The name of whom they are from.
    pub from: Vec<u8>,
    /// Sender.
    pub sender: Sender,
    /// Length of the whole message.
    pub total: usize,
    /// References were lost, since there was no room for them.
    pub is_cut: bool,
    /// Something of the message is still there.
    pub has_more: bool,
}

impl<R> Received<R> {
    /// Returns empty data: the end of the stream.
    pub fn nothing() -> Received<R> {
        Received { data: Vec::new(), references: Vec::new(), control: Vec::new(), from: Vec::new(), sender: [0; 2], total: 0, is_cut: false, has_more: false }
    }
}

/// One direction.
#[derive(Debug)]
pub struct Queue<R> {
    /// The account that what is in it is charged to.
    pub account: u64,
    pieces: VecDeque<Piece<R>>,
    pages: Pages,
    bytes: usize,
    references: usize,
    /// Number of bytes that it holds.
    pub capacity: usize,
    /// Set if messages are kept apart.
    pub has_messages: bool,
    /// Set for a pipe.
    pub is_pipe: bool,
    /// Ends that receive from it.
    pub readers: BTreeSet<u64>,
    /// Ends that send to it.
    pub writers: BTreeSet<u64>,
    /// Set if nothing more comes, though there may be writers.
    pub is_ended: bool,
    /// Set if nothing more is taken, though there may be readers.
    pub is_deaf: bool,
    /// Number of times that something came, and was taken.
    pub changes: [u64; 2],
    /// Number of writers that there have been.
    pub writers_ever: u64,
    /// The bytes of a pipe or a stream, once processes share them. Those that are here come first.
    pub shared: Option<Shared>,
}

impl<R> Queue<R> {
    /// An empty one.
    pub fn new(has_messages: bool, is_pipe: bool, account: u64) -> Queue<R> {
        Queue {
            account,
            pieces: VecDeque::new(),
            pages: Pages::default(),
            bytes: 0,
            references: 0,
            capacity: if is_pipe { USUAL } else { SOCKET },
            has_messages,
            is_pipe,
            readers: BTreeSet::new(),
            writers: BTreeSet::new(),
            is_ended: false,
            is_deaf: false,
            changes: [0; 2],
            writers_ever: 0,
            shared: None,
        }
    }

    /// Returns the number of bytes in the queue, without those that processes share.
    pub fn bytes(&self) -> usize {
        self.bytes + self.pages.bytes()
    }

    /// Bytes of memory that it takes, but for those that processes share, and the number of
    /// references in it.
    pub fn load(&self) -> (usize, usize) {
        (self.bytes() + self.pieces.len() * PIECE, self.references)
    }

    /// Returns the number of pieces or pages in the queue.
    pub fn count(&self) -> usize {
        self.pieces.len() + self.pages.used() + self.shared.as_ref().map_or(0, |shared| shared.ring.used() as usize)
    }

    /// Returns the number of bytes that can be received.
    pub fn waiting(&self) -> usize {
        self.bytes() + self.shared.as_ref().map_or(0, |shared| shared.ring.bytes())
    }

    /// Returns the number of times that something came, and was taken.
    pub fn all_changes(&self) -> [u64; 2] {
        let shared = self.shared.as_ref().map_or([0; 2], |shared| shared.ring.changes());
        [self.changes[0].wrapping_add(shared[0]), self.changes[1].wrapping_add(shared[1])]
    }

    /// Bytes of the first message, or all.
    pub fn first(&self) -> usize {
        if self.has_messages { self.pieces.front().map_or(0, |piece| piece.data.len()) } else { self.waiting() }
    }

    /// Returns true if there is something to receive.
    pub fn has_some(&self) -> bool {
        self.count() != 0
    }

    /// Returns true if a writer is told that there is room: on a socket when three quarters of it
    /// are free.
    pub fn is_writable(&self) -> bool {
        if let Some(shared) = &self.shared {
            return if self.is_pipe { shared.ring.has_room() } else { 4 * shared.ring.used() as usize * PAGE <= self.capacity };
        }
        if self.is_pipe { self.pages.used() < self.capacity / PAGE } else { 4 * self.bytes <= self.capacity && self.pieces.len() < MAX_PIECES }
    }

    /// Returns the number of `size` bytes that can be taken now; `None`: the writer has to wait.
    pub fn takes(&self, size: usize, references: usize, is_packet: bool) -> Result<Option<usize>, Errno> {
        if self.is_pipe {
            let count = self.pages.takes(size, self.capacity / PAGE, is_packet);
            return Ok(count.filter(|count| size > PAGE || *count == size));
        }
        if self.has_messages && size > self.capacity - 32 {
            return Err(Errno::EMSGSIZE);
        }
        if self.references + references > MAX_REFERENCES {
            return Err(Errno::ETOOMANYREFS);
        }
        let room = self.capacity.saturating_sub(self.bytes);
        let fits = if self.has_messages { room >= size } else { size == 0 || room > 0 };
        Ok((fits && self.pieces.len() < MAX_PIECES).then_some(size.min(room)))
    }

    /// Moves the bytes into a ring, which nobody has seen yet. Returns false if they do not fit, or
    /// if there is more than bytes.
    pub fn share(&mut self, shared: Shared) -> bool {
        if self.has_messages || self.references != 0 {
            return false;
        }
        shared.ring.set_limit((self.capacity / PAGE) as u64);
        if !self.is_pipe {
            return self.share_pieces(shared);
        }
        let pages = core::mem::take(&mut self.pages);
        let fits = pages.each(|data, skipped, is_packet| shared.ring.add_page(data, skipped, is_packet));
        if fits {
            self.shared = Some(shared);
        } else {
            self.pages = pages;
        }
        fits
    }

    fn share_pieces(&mut self, shared: Shared) -> bool {
        let mut data: Vec<u8> = Vec::new();
        if data.try_reserve(self.bytes).is_err() {
            return false;
        }
        self.pieces.iter().for_each(|piece| bytes::copy(&piece.data, 0, usize::MAX, &mut data));
        let fits = data.chunks(PAGE).all(|page| shared.ring.add_page(page, 0, false));
        if fits {
            self.pieces.clear();
            self.bytes = 0;
            self.shared = Some(shared);
        }
        fits
    }

    /// Takes the bytes back from the ring, page by page. `EBUSY`: somebody is writing. `ENOMEM`:
    /// there is no memory for them, and the ring stays as it is.
    pub fn unshare(&mut self) -> Result<(), Errno> {
        let Queue { shared: Some(shared), pages, pieces, .. } = self else { return Ok(()) };
        let most = shared.ring.used() as usize;
        if self.is_pipe {
            pages.reserve(most)?;
            shared.close(|data, is_packet| pages.add(data, is_packet))?;
        } else {
            // Readers of the ring only take bytes, and writers are locked out by `close`; a page
            // more may have come before that.
            let mut all = VecDeque::new();
            all.try_reserve_exact((most + 1) * PAGE).map_err(|_| Errno::ENOMEM)?;
            pieces.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
            shared.close(|data, _| {
                let room = all.capacity() - all.len();
                // Only a ring that makes no sense has more than fits.
                all.extend(&data[..data.len().min(room)]);
            })?;
            self.add_unsigned(all);
        }
        self.shared = None;
        Ok(())
    }

    /// Adds bytes of a stream that came when nobody asked who sent them.
    fn add_unsigned(&mut self, data: VecDeque<u8>) {
        if !data.is_empty() {
            let total = data.len();
            self.bytes += total;
            self.pieces.push_back(Piece { data, references: VecDeque::new(), control: Vec::new(), from: Vec::new(), sender: NOBODY, total });
        }
    }

    /// Takes bytes that fit, and references. `ENOMEM`: there is no memory, and nothing was taken.
    pub fn put(&mut self, parcel: SendRequest<'_, R>, is_packet: bool) -> Result<(), Errno> {
        let SendRequest { data, references, control, from, sender } = parcel;
        if !self.has_messages && data.is_empty() {
            return Ok(());
        }
        if self.is_pipe {
            self.pages.put(data, is_packet)?;
            self.changes[0] += 1;
            return Ok(());
        }
        // It says something of the references, whose number is limited.
        let control = if references.is_empty() { &[] } else { control };
        let is_apart = self.has_messages || !references.is_empty();
        let count = references.len();
        match self.pieces.back_mut().filter(|last| !is_apart && last.references.is_empty() && last.sender == sender) {
            Some(last) => {
                last.data.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
                last.data.extend(data);
            }
            None => {
                let mut bytes = VecDeque::new();
                bytes.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
                bytes.extend(data);
                self.pieces.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
                let (control, from) = (control.to_vec(), from.to_vec());
                self.pieces.push_back(Piece { data: bytes, references: references.into(), control, from, sender, total: data.len() });
            }
        }
        self.bytes += data.len();
        self.references += count;
        self.changes[0] += 1;
        Ok(())
    }

    /// Takes the first data, as far as `wish` allows; `None` if there are none. Data that are only
    /// looked at stay, with their references.
    pub fn take(&mut self, wish: ReceiveRequest) -> Option<Received<R>> {
        if wish.only_look {
            return self.look(wish);
        }
        if !self.has_messages && wish.size > 0 {
            self.drop_emptied();
        }
        if !self.has_some() {
            return None;
        }
        self.changes[1] += 1;
        if self.is_pipe || self.shared.is_some() && self.pieces.is_empty() {
            let data = self.take_bytes(wish.size)?;
            return Some(Received { total: data.len(), data, ..Received::nothing() });
        }
        let mut taken = Received::nothing();
        self.take_first(wish, &mut taken);
        while !self.has_messages && !taken.has_more && taken.references.is_empty() && !taken.is_cut && taken.data.len() < wish.size {
            let fits = self.pieces.front().is_some_and(|next| !wish.is_apart || next.sender == taken.sender);
            if !fits {
                break;
            }
            self.take_first(wish, &mut taken);
        }
        if let Some(shared) = self.shared.as_mut().filter(|_| self.pieces.is_empty()) {
            shared.come_first(false);
        }
        Some(taken)
    }

    /// Bytes of a pipe, or of a ring; `None`: there are none.
    fn take_bytes(&mut self, size: usize) -> Option<Vec<u8>> {
        let Some(shared) = self.shared.as_mut().filter(|_| self.pages.used() == 0) else {
            let data = self.pages.take(size);
            if let Some(shared) = self.shared.as_mut().filter(|_| self.pages.used() == 0) {
                shared.come_first(false);
            }
            return Some(data);
        };
        shared.take(size)
    }

    /// Drops references of pieces whose bytes have been received, since nobody asks for them any
    /// more.
    fn drop_emptied(&mut self) {
        while let Some(first) = self.pieces.pop_front_if(|first| first.data.is_empty()) {
            self.references -= first.references.len();
        }
    }

    /// Takes what fits of the first piece.
    fn take_first(&mut self, wish: ReceiveRequest, taken: &mut Received<R>) {
        let Some(first) = self.pieces.front_mut() else { return };
        let count = (wish.size - taken.data.len()).min(first.data.len());
        bytes::take(&mut first.data, count, &mut taken.data);
        self.bytes -= count;
        let references = first.references.len().min(wish.most);
        taken.references.extend(first.references.drain(..references));
        if !first.control.is_empty() {
            taken.control = core::mem::take(&mut first.control);
        }
        (taken.sender, taken.total) = (first.sender, if self.has_messages { first.total } else { taken.data.len() });
        taken.from.clone_from(&first.from);
        let rest = !first.references.is_empty() || self.has_messages && !first.data.is_empty();
        taken.has_more = wish.in_parts && rest;
        taken.is_cut = !first.references.is_empty() && !wish.in_parts;
        let lost = if taken.is_cut { first.references.drain(..).count() } else { 0 };
        self.references -= references + lost;
        if !taken.has_more && (self.has_messages || first.data.is_empty()) {
            self.bytes -= first.data.len();
            self.pieces.pop_front();
            self.give_room_back();
        }
    }

    /// Shows each reference that is in it.
    pub(crate) fn each_reference<'a>(&'a self, show: &mut dyn FnMut(&'a R)) {
        self.pieces.iter().flat_map(|piece| &piece.references).for_each(show);
    }

    /// Bytes for which there is room without more memory.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.pages.room()
    }

    /// Frees the room of pieces that were taken. An empty queue is charged nothing, so it keeps
    /// little.
    fn give_room_back(&mut self) {
        if self.pieces.is_empty() {
            self.pieces.shrink_to(FEW_PIECES);
        }
    }

    fn look(&self, wish: ReceiveRequest) -> Option<Received<R>> {
        if let Some(shared) = self.shared.as_ref().filter(|_| self.pages.used() == 0 && self.pieces.is_empty()) {
            return shared.look(wish.size, wish.offset).map(|data| Received { total: data.len(), data, ..Received::nothing() });
        }
        if self.is_pipe {
            let data = self.pages.look(wish.offset.saturating_add(wish.size));
            let data = data.get(wish.offset..).unwrap_or_default().to_vec();
            return self.has_some().then(|| Received { total: data.len(), data, ..Received::nothing() });
        }
        let first = self.pieces.front()?;
        // What comes with references is the last of what is received at once.
        let last = if self.has_messages { 1 } else { self.pieces.iter().position(|piece| !piece.references.is_empty()).map_or(self.pieces.len(), |index| index + 1) };
        let (mut data, mut skip) = (Vec::new(), wish.offset);
        for piece in self.pieces.iter().take(last) {
            bytes::copy(&piece.data, skip, wish.size - data.len(), &mut data);
            skip = skip.saturating_sub(piece.data.len());
        }
        let total = if self.has_messages { first.total } else { data.len() };
        Some(Received { data, total, from: first.from.clone(), sender: first.sender, ..Received::nothing() })
    }

    /// Puts back data that did not reach their receiver. They are first again. A message that was
    /// taken in part is only that part.
    pub fn put_back(&mut self, received: Received<R>) {
        if self.is_pipe {
            self.pages.put_back(&received.data, false);
            if let Some(shared) = self.shared.as_mut().filter(|_| !received.data.is_empty()) {
                shared.come_first(true);
            }
            return;
        }
        if let Some(shared) = self.shared.as_mut().filter(|_| !received.data.is_empty()) {
            shared.come_first(true);
        }
        let Received { data, references, control, from, sender, total, .. } = received;
        self.bytes += data.len();
        self.references += references.len();
        self.pieces.push_front(Piece { data: data.into(), references: references.into(), control, from, sender, total });
    }
}
