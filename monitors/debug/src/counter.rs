//! Instructions that read the processor's counter: where it is hidden, they raise an exception, and
//! what they bring comes from elsewhere.

use nacre_abi::fault::KIND_PROTECTION;
use nacre_abi::state::ThreadState;
use nacre_nest::host::Exception;

/// Maximum number of bytes of an instruction that reads the counter.
pub const LONGEST: usize = 3;
/// Code of `rdtsc`.
const READ: &[u8] = &[0x0f, 0x31];
/// Code of `rdtscp`.
const READ_WITH_PROCESSOR: &[u8] = &[0x0f, 0x01, 0xf9];

/// Returns the state behind an instruction that has raised an exception, if it reads the counter.
/// `code` is what stands there, and `ticks` brings what the counter says.
pub fn read(exception: &Exception, state: &ThreadState, code: &[u8], ticks: impl FnOnce() -> u64) -> Option<ThreadState> {
    let instruction = [READ, READ_WITH_PROCESSOR].into_iter().find(|one| exception.kind == KIND_PROTECTION && code.starts_with(one))?;
    let ticks = ticks();
    // There is one thread, on one processor as far as it can tell.
    let rcx = if instruction == READ_WITH_PROCESSOR { 0 } else { state.rcx };
    Some(ThreadState { rip: state.rip.wrapping_add(instruction.len() as u64), rax: ticks & 0xffff_ffff, rdx: ticks >> 32, rcx, ..*state })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exception(kind: u64) -> Exception {
        Exception::from_words([kind, 0, 0, 0, 0, 0])
    }

    #[test]
    fn both_instructions_bring_what_the_counter_says() {
        let state = ThreadState { rip: 0x1000, rcx: 7, ..ThreadState::default() };
        let read = |code: &[u8], kind| read(&exception(kind), &state, code, || 0x1_0000_0002);
        let plain = read(&[0x0f, 0x31, 0x90], KIND_PROTECTION).unwrap();
        assert_eq!((plain.rip, plain.rax, plain.rdx, plain.rcx), (0x1002, 2, 1, 7));
        let other = read(&[0x0f, 0x01, 0xf9], KIND_PROTECTION).unwrap();
        assert_eq!((other.rip, other.rax, other.rdx, other.rcx), (0x1003, 2, 1, 0));
        assert_eq!(read(&[0x0f, 0x01, 0xf8], KIND_PROTECTION), None);
        assert_eq!(read(&[0x0f], KIND_PROTECTION), None);
        assert_eq!(read(&[0x0f, 0x31, 0x90], KIND_PROTECTION + 1), None);
    }
}
