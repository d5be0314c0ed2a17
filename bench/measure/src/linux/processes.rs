//! Between processes: round trips, events, and processes themselves.

use core::sync::atomic::{AtomicU32, Ordering};

use nacre_proto::Errno;

use super::call;
use super::context::Context;
use crate::figure::sample;

const SIGKILL: u64 = 9;
const PAGE: usize = 4096;
/// `SOL_SOCKET` and, in the upper half, `SCM_RIGHTS`: the kind of a control message that carries
/// descriptors.
const DESCRIPTORS: u64 = 1 << 32 | 1;

/// Runs `serve` in another process for ever while this one runs `measure`.
fn beside(mut serve: impl FnMut(), measure: impl FnOnce() -> u64) -> Result<u64, Errno> {
    match call::fork()? {
        0 => loop {
            serve();
        },
        server => {
            let figure = measure();
            call::kill(server, SIGKILL);
            call::wait(server);
            Ok(figure)
        }
    }
}

/// The cheapest round trip: words in shared memory, and each side wakes the other.
pub fn futex_round_trip(_: &Context) -> Result<u64, Errno> {
    let page = call::memory(PAGE as u64, true)?;
    // SAFETY: fresh memory, used as this type alone.
    let turn = unsafe { &*(page as *const AtomicU32) };
    let hand_over = |to: u32| {
        turn.store(to, Ordering::Release);
        call::futex_wake(turn);
    };
    let await_turn = |mine: u32| {
        while turn.load(Ordering::Acquire) != mine {
            call::futex_wait(turn, 1 - mine);
        }
    };
    let serve = || {
        await_turn(1);
        hand_over(0);
    };
    beside(serve, || {
        sample(200, || {
            hand_over(1);
            await_turn(0);
        })
    })
}

fn pipe_with(size: usize) -> Result<u64, Errno> {
    let (request, reply) = (call::pipe()?, call::pipe()?);
    let (mut here, mut there) = ([0u8; PAGE], [0u8; PAGE]);
    let serve = || {
        call::read(request.0, &mut there[..size]);
        call::write(reply.1, &[0]);
    };
    let result = beside(serve, || {
        sample(200, || {
            call::write(request.1, &here[..size]);
            call::read(reply.0, &mut here[..1]);
        })
    });
    for file in [request.0, request.1, reply.0, reply.1] {
        call::close(file);
    }
    result
}

/// A byte through a pipe, and a byte back through another.
pub fn pipe_round_trip(_: &Context) -> Result<u64, Errno> {
    pipe_with(1)
}

/// A page through a pipe, and a byte back through another.
pub fn pipe_round_trip_page(_: &Context) -> Result<u64, Errno> {
    pipe_with(PAGE)
}

/// A message of one byte, with room for one descriptor.
struct Parcel {
    byte: [u8; 1],
    vector: [u64; 2],
    control: [u64; 3],
    header: [u64; 7],
}

impl Parcel {
    const EMPTY: Parcel = Parcel { byte: [0], vector: [0; 2], control: [0; 3], header: [0; 7] };

    /// The header, written anew because the parts may have moved and receiving changes it.
    fn prepare(&mut self, descriptor: u64) {
        // 20 bytes of control message: its size, its kind, a descriptor.
        self.control = [20, DESCRIPTORS, descriptor];
        self.vector = [self.byte.as_mut_ptr() as u64, 1];
        self.header = [0, 0, self.vector.as_ptr() as u64, 1, self.control.as_mut_ptr() as u64, 24, 0];
    }

    fn send(&mut self, socket: u64, descriptor: u64) {
        self.prepare(descriptor);
        // SAFETY: the header describes this parcel's own parts.
        unsafe { call::send_message(socket, &self.header) };
    }

    fn receive(&mut self, socket: u64) -> u64 {
        self.prepare(0);
        // SAFETY: as above.
        unsafe { call::receive_message(socket, &mut self.header) };
        self.control[2] & 0xffff_ffff
    }
}

/// A message with a file descriptor, which its receiver closes again, and a byte back.
pub fn descriptor_round_trip(_: &Context) -> Result<u64, Errno> {
    let (here, there) = call::sockets()?;
    let file = call::event_file()?;
    let (mut sent, mut received) = (Parcel::EMPTY, Parcel::EMPTY);
    let serve = || {
        call::close(received.receive(there));
        call::write(there, &[0]);
    };
    let result = beside(serve, || {
        sample(200, || {
            sent.send(here, file);
            call::read(here, &mut [0]);
        })
    });
    for file in [here, there, file] {
        call::close(file);
    }
    result
}

/// An event that nobody waits for.
pub fn event(_: &Context) -> Result<u64, Errno> {
    let file = call::event_file()?;
    let figure = sample(1000, || call::write(file, &1u64.to_le_bytes()));
    call::close(file);
    Ok(figure)
}

/// An event to a process that waits for it: half of an event there and another back.
pub fn event_to_waiter(_: &Context) -> Result<u64, Errno> {
    let (there, back) = (call::event_file()?, call::event_file()?);
    let pass = |from: u64, to: u64| {
        call::read(from, &mut [0; 8]);
        call::write(to, &1u64.to_le_bytes());
    };
    call::write(back, &1u64.to_le_bytes());
    let result = beside(|| pass(there, back), || sample(200, || pass(back, there)));
    call::close(there);
    call::close(back);
    Ok(result? / 2)
}

/// A process that ends at once.
pub fn fork(_: &Context) -> Result<u64, Errno> {
    Ok(sample(20, || {
        if let Ok(child) = call::fork() {
            if child == 0 {
                call::exit(0);
            }
            call::wait(child);
        }
    }))
}

/// Starts this program in a new process, which ends at once.
pub fn spawn(context: &Context) -> Result<u64, Errno> {
    let arguments = [context.path.as_ptr() as u64, c"true".as_ptr() as u64, 0];
    let mut failed = 0;
    let figure = sample(20, || {
        // SAFETY: the path is an argument of this program, which ends with a zero; so does the
        // other word.
        if let Ok(child) = unsafe { call::spawn(context.path, &arguments) } {
            failed |= call::wait(child).1;
        }
    });
    if failed == 0 { Ok(figure) } else { Err(Errno::ENOENT) }
}
