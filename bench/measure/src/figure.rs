//! Taking a figure, and telling it.

use core::fmt::Write;
use core::hint::black_box;

use nacre_proto::Errno;
use nacre_rt::report::Line;

use crate::linux::call;

/// Number of batches of a measurement. The median counts.
const BATCHES: usize = 7;

/// Instructions since the machine started.
#[inline(always)]
pub fn now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and no system that this runs on forbids
    // it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// One operation: its name, how often it enters the kernel by its design, and how it is measured.
pub struct Operation<C> {
    /// Name of the operation in the lines of both systems.
    pub name: &'static str,
    /// System calls, faults and interrupts that one operation takes, on all sides.
    pub entries: u64,
    /// Measures it: instructions an operation.
    pub run: fn(&C) -> Result<u64, Errno>,
}

/// Measures and tells every operation whose name starts with `which`.
pub fn carry_out<C>(operations: &[Operation<C>], context: &C, which: &[u8]) {
    for operation in operations.iter().filter(|operation| operation.name.as_bytes().starts_with(which)) {
        match (operation.run)(context) {
            Ok(instructions) => tell(operation.name, instructions, operation.entries),
            Err(errno) => say(format_args!("unmeasured {} {errno}", operation.name)),
        }
    }
}

/// Tells a figure.
pub fn tell(name: &str, instructions: u64, entries: u64) {
    say(format_args!("measure {name} {instructions} {entries}"));
}

/// Writes a line.
pub fn say(text: core::fmt::Arguments<'_>) {
    let mut line = Line::new();
    // A line that is too long is cut.
    let _ = writeln!(line, "{text}");
    call::write(1, line.text().as_bytes());
}

/// Instructions that one of `rounds` runs of `body` takes: the median of several batches, without
/// what the loop itself takes.
pub fn sample(rounds: u32, mut body: impl FnMut()) -> u64 {
    sample_batches(rounds, |_| (), |_| body())
}

/// Measures an operation that can fail. If it failed, the last failure is returned in place of a
/// figure.
pub fn sample_results<T, E: Into<Errno>>(rounds: u32, mut body: impl FnMut() -> Result<T, E>) -> Result<u64, Errno> {
    let mut failure = None;
    let figure = sample(rounds, || {
        if let Err(error) = body() {
            failure = Some(error);
        }
    });
    failure.map_or(Ok(figure), |error| Err(error.into()))
}

/// Measures as [`sample`] does, with preparations before each batch that do not count. `body` gets
/// the number of the round.
pub fn sample_batches(rounds: u32, mut before: impl FnMut(usize), mut body: impl FnMut(u32)) -> u64 {
    // The first batch fills what is filled lazily.
    before(0);
    batch(rounds, &mut body);
    let mut times = [0; BATCHES];
    for (number, time) in times.iter_mut().enumerate() {
        before(number + 1);
        *time = batch(rounds, &mut body);
    }
    let empty = batch(rounds, &mut |_| ());
    (median(times).saturating_sub(empty) + u64::from(rounds / 2)) / u64::from(rounds)
}

#[inline(never)]
fn batch(rounds: u32, body: &mut impl FnMut(u32)) -> u64 {
    let begun = now();
    for round in 0..rounds {
        body(black_box(round));
    }
    now() - begun
}

/// The middle one.
fn median(mut times: [u64; BATCHES]) -> u64 {
    times.sort_unstable();
    times[BATCHES / 2]
}
