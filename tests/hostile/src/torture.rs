//! Programs of random instructions that a kernel has to survive: flags, segments, frames of `iret`,
//! images of `xrstor`, stacks that lead nowhere, bytes without a meaning.
//!
//! Three threads of the arena run them. This program's own thread is their neighbour on the same
//! CPUs: its registers, flags and FPU are looked at after each turn.

use crate::arena::{self, PLAIN, PLAIN_SIZE, THREADS};
use nacre_raw::random::Random;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::state::ThreadState;
use nacre_raw::{neighbour, write};
use nacre_sys::Thread;

/// Bytes of a program.
const PROGRAM: usize = 512;
/// Images for `xrstor`, `iret` and stacks, which the programs write as well.
const IMAGES: u64 = PLAIN + 0x8000;
/// Time for which programs run before the next ones take their place.
const TURN: u64 = 100_000;
/// Turns of the neighbour's loop.
const SPIN: u64 = 2_000;

/// Instructions without operands of their own, each for its effect on processor state.
const PLAIN_CODE: [&[u8]; 78] = [
    // Software interrupts, and the ways into a kernel and out of it.
    &[0xf1], &[0xcc], &[0xce], &[0x0f, 0x0b], &[0x0f, 0x05], &[0x0f, 0x34], &[0x0f, 0x35], &[0x48, 0x0f, 0x07], &[0x0f, 0x07],
    &[0x48, 0xcf], &[0xcf], &[0x66, 0xcf], &[0x48, 0xcb], &[0xcb], &[0x0f, 0x01, 0xf8], &[0x9c], &[0x9d], &[0xfa], &[0xfb], &[0xfc], &[0xfd], &[0xf4],
    // Segment registers; `mov ss` before each kind of trap; bases.
    &[0x8e, 0xd0], &[0x8e, 0xd8], &[0x8e, 0xc0], &[0x8e, 0xe0], &[0x8e, 0xe8], &[0x0f, 0xa1], &[0x0f, 0xa9],
    &[0x8e, 0xd0, 0x0f, 0x05], &[0x8e, 0xd0, 0xcc], &[0x8e, 0xd0, 0xf1], &[0x8e, 0xd0, 0xcd, 0x80], &[0x8e, 0xd0, 0x9d], &[0x8e, 0xd0, 0x48, 0xcf],
    &[0xf3, 0x48, 0x0f, 0xae, 0xd0], &[0xf3, 0x48, 0x0f, 0xae, 0xd8], &[0xf3, 0x48, 0x0f, 0xae, 0xc8], &[0x65, 0x48, 0x8b, 0x00], &[0x64, 0x48, 0x89, 0x00],
    &[0x48, 0x89, 0xc4], &[0x48, 0x8b, 0x20], &[0x50], &[0x58], &[0xff, 0xe0], &[0xff, 0xd0], &[0x48, 0xff, 0x2c, 0x24], &[0xc8, 0xff, 0xff, 0x1f],
    // Images of the FPU: xrstor, fxrstor, xsave, xsetbv, ldmxcsr, fldenv, frstor; divisions that
    // trap.
    &[0x0f, 0xae, 0x2f], &[0x48, 0x0f, 0xae, 0x2f], &[0x0f, 0xae, 0x0f], &[0x48, 0x0f, 0xae, 0x27], &[0x48, 0x0f, 0xae, 0x37], &[0x0f, 0x01, 0xd1], &[0x0f, 0x01, 0xd0],
    &[0x0f, 0xae, 0x17], &[0x0f, 0xae, 0x14, 0x24], &[0xdb, 0xe3], &[0xd9, 0x27], &[0xdd, 0x27], &[0xd9, 0x2f], &[0xd9, 0xe8, 0xd9, 0xee, 0xde, 0xf9, 0x9b], &[0x0f, 0x5e, 0xc1], &[0x0f, 0x77],
    // Privileged instructions, and prefixes that are refused or too many.
    &[0x0f, 0x30], &[0x0f, 0x32], &[0x0f, 0x22, 0xd8], &[0x0f, 0x22, 0xe0], &[0x0f, 0x23, 0xf8], &[0x0f, 0x01, 0x17], &[0x0f, 0x01, 0x1f], &[0x0f, 0x00, 0xd8], &[0x0f, 0x00, 0xd0], &[0x0f, 0x06],
    &[0x0f, 0x01, 0xc8], &[0x0f, 0x01, 0xd9], &[0xf0, 0x90], &[0x66, 0xf2, 0xf3, 0x2e, 0x3e, 0x64, 0x65, 0x66, 0xf2, 0xf3, 0x2e, 0x3e, 0x64, 0x65, 0x66, 0x90],
];

/// Selectors: the kernel's and the users' segments, the task state, both tables, nothing.
const SELECTORS: [u64; 14] = [0, 3, 8, 0x0b, 0x10, 0x13, 0x1b, 0x20, 0x23, 0x28, 0x2b, 0x30, 0x33, 0xffff];

/// Addresses at which stacks, code and images end badly.
const PLACES: [u64; 12] = [
    0,
    8,
    0x7fff_ffff_ffff,
    0x7fff_ffff_f000,
    0x8000_0000_0000,
    0xffff_8000_0000_0000,
    0xffff_ffff_8020_0000,
    0xffff_ffff_c020_c000,
    u64::MAX,
    PLAIN + 1,
    IMAGES,
    IMAGES + 0x1038,
];

fn place(random: &mut Random) -> u64 {
    if random.once_in(4) { PLAIN + random.below(PLAIN_SIZE) } else { random.one_of(&PLACES) }
}

/// Flags with any of those that change how the processor goes on.
fn flags(random: &mut Random) -> u64 {
    random.next() & 0x003f_7fd5 | 2
}

/// Adds `mov REGISTER, VALUE`; `register` is the number of one of the first eight.
fn load(code: &mut Vec<u8>, register: u8, value: u64) {
    code.extend([0x48, 0xb8 + register]);
    code.extend(value.to_le_bytes());
}

/// Adds `mov rax, VALUE` and `push rax`.
fn push(code: &mut Vec<u8>, value: u64) {
    load(code, 0, value);
    code.push(0x50);
}

/// Adds a few instructions.
fn step(random: &mut Random, code: &mut Vec<u8>) {
    match random.below(10) {
        0 => {
            push(code, flags(random));
            code.push(0x9d);
        }
        1 => code.extend([0xcd, random.next() as u8]),
        2 => {
            let selectors = [random.one_of(&SELECTORS), random.one_of(&SELECTORS)];
            let good = random.once_in(2);
            push(code, if good { 0x23 } else { selectors[0] });
            push(code, place(random));
            push(code, flags(random));
            push(code, if good { 0x2b } else { selectors[1] });
            push(code, place(random));
            code.extend([0x48, 0xcf]);
        }
        3 => load(code, 0, random.one_of(&SELECTORS)),
        4 => load(code, random.one_of(&[0, 1, 2, 7]) as u8, place(random)),
        5 => load(code, 4, place(random)),
        6 => {
            load(code, 7, IMAGES + random.below(64) * 64);
            load(code, 0, random.next() & 0xff);
            load(code, 2, 0);
            code.extend([0x48, 0x0f, 0xae, 0x2f]);
        }
        7 => (0..1 + random.below(16)).for_each(|_| code.push(random.next() as u8)),
        _ => code.extend(PLAIN_CODE[random.below(PLAIN_CODE.len() as u64) as usize]),
    }
}

/// Writes a program where the thread starts, and images with some headers that `xrstor` takes.
fn fill(random: &mut Random, at: u64) {
    let mut code = Vec::new();
    (0..1 + random.below(24)).for_each(|_| step(random, &mut code));
    code.extend(if random.once_in(16) { [0xeb, 0xfe] } else { [0x0f, 0x0b] });
    code.resize(PROGRAM, 0xcc);
    for (number, word) in code.as_chunks::<8>().0.iter().enumerate() {
        write(at + 8 * number as u64, u64::from_le_bytes(*word));
    }
    for word in 0..1024 {
        let header = word % 8 < 2 && random.once_in(2);
        write(IMAGES + 8 * word, if header { random.next() & 7 } else { random.next() & random.next() });
    }
}

fn registers(random: &mut Random, at: u64) -> ThreadState {
    let mut words = [0; 8];
    words.fill_with(|| place(random));
    let [rax, rcx, rdx, rdi, rsi, fs_base, gs_base, far] = words;
    let bases = if random.once_in(2) { (0, 0) } else { (fs_base, gs_base) };
    ThreadState {
        rip: if random.once_in(32) { far } else { at },
        rflags: flags(random),
        rsp: if random.once_in(3) { place(random) } else { IMAGES + 0x1000 },
        rax,
        rcx,
        rdx,
        rdi,
        rsi,
        fs_base: bases.0,
        gs_base: bases.1,
        ..ThreadState::default()
    }
}

/// Runs `programs` programs and returns how many the kernel let begin.
pub fn run(seed: u64, programs: u64) -> Result<u64, String> {
    let (mut begun, mut turn) = (0, 0);
    neighbour::fpu_fill(seed);
    if neighbour::fpu_holds(seed.wrapping_add(1)) {
        return Err(String::from("other values in FPU registers are not seen"));
    }
    neighbour::fpu_fill(seed);
    arena::build(&[])?;
    while begun < programs {
        let mut random = Random::new(seed.wrapping_add(turn));
        for number in 0..THREADS {
            let at = PLAIN + 4096 * number + random.below(512);
            fill(&mut random, at);
            // Registers that no thread may have are refused.
            begun += u64::from(arena::start_with(number, registers(&mut random, at)).is_ok());
        }
        let fault = |what| Err(format!("turn {turn}: {what} of the neighbour changed"));
        if !neighbour::general_holds(random.next(), SPIN) {
            return fault("a general register or a flag");
        }
        let _ = Thread::sleep(TURN);
        if !neighbour::fpu_holds(seed) {
            return fault("an FPU register");
        }
        // A program can make calls, and so destroy what it stands on.
        if !(0..THREADS).all(arena::renew) {
            arena::build(&[])?;
        }
        turn += 1;
    }
    Ok(begun)
}
