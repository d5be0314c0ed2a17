//! The interpreter beside this machine's processor: both carry out the same random instructions,
//! and have to leave the same registers, flags and memory. `processor.c` is the processor's side.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use nacre_machine_memory::{GuestMemory, VecMemory};
use nacre_machine_x86::{Bus, Mode, Paging, State, Vector, interpret};

/// Address of the case's memory for the interpreter.
const AT: u64 = 0x800;
const MEMORY: usize = 32;
/// Instructions of each form.
const ROUNDS: u64 = 200;
/// Bytes of a case: code, registers, flags, padding, memory.
const SIZE: usize = 16 + 16 * 8 + 8 + 8 + MEMORY;
const STACK: usize = 4;
const POINTER: usize = 7;

const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ADJUST: u64 = 1 << 4;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
const ALL: u64 = CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW;

/// Operand of a form's instructions beside memory at `[rdi]`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// Any register.
    Register,
    /// A number in place of a register.
    Extension(u8),
}

/// Instructions of one form.
#[derive(Clone, Copy)]
struct Form {
    opcode: &'static [u8],
    operand: Operand,
    /// Bytes of a constant; 4: two with a prefix.
    constant: usize,
    /// Flags that the form defines, or leaves alone.
    flags: u64,
    kind: Kind,
    /// The operand has one byte.
    is_byte: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The register is a bit's number, which leads to other memory.
    Bits,
    /// Counts bits: by the constant, by CL, or 1.
    Shift,
    /// Needs memory at a multiple of 16.
    Pairs,
}

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A value, often one at a border.
    fn value(&mut self) -> u64 {
        match self.below(6) {
            0 => [0, 1, u64::MAX, 1 << 63, 0x7fff_ffff_ffff_ffff, 0x8000_0000, 0x7fff_ffff, 0xffff_ffff, 0x80, 0x7f][self.below(10) as usize],
            1 => self.below(256),
            _ => self.next(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    code: [u8; 16],
    /// Bytes of the instruction, which the processor is not told.
    length: u64,
    registers: [u64; 16],
    flags: u64,
    memory: [u8; MEMORY],
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.code.to_vec();
        self.registers.iter().chain([&self.flags, &0]).for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(self.memory);
        bytes
    }

    fn of(bytes: &[u8]) -> Case {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        Case {
            code: bytes[..16].try_into().unwrap(),
            length: 0,
            registers: core::array::from_fn(|number| word(16 + 8 * number)),
            flags: word(16 + 128),
            memory: bytes[SIZE - MEMORY..].try_into().unwrap(),
        }
    }
}

/// All forms that the interpreter knows, with an operand in memory.
fn forms() -> Vec<Form> {
    use Operand::{Extension, Register};
    let mut forms = Vec::new();
    let mut add = |opcode: &'static [u8], operand, constant, flags, kind, is_byte| forms.push(Form { opcode, operand, constant, flags, kind, is_byte });
    let logic = ALL & !ADJUST;
    const ARITHMETIC: [[u8; 4]; 8] = {
        let mut all = [[0; 4]; 8];
        let mut number = 0;
        while number < 32 {
            all[number / 4][number % 4] = (number / 4 * 8 + number % 4) as u8;
            number += 1;
        }
        all
    };
    for (number, opcodes) in ARITHMETIC.iter().enumerate() {
        let flags = if matches!(number, 1 | 4 | 6) { logic } else { ALL };
        for (low, opcode) in opcodes.iter().enumerate() {
            add(core::slice::from_ref(Box::leak(Box::new(*opcode))), Register, 0, flags, Kind::Plain, low % 2 == 0);
        }
        for (opcode, constant, is_byte) in [(&[0x80][..], 1, true), (&[0x81], 4, false), (&[0x83], 1, false)] {
            add(opcode, Extension(number as u8), constant, flags, Kind::Plain, is_byte);
        }
    }
    for (opcode, is_byte, flags) in [
        (&[0x84][..], true, logic),
        (&[0x85], false, logic),
        (&[0x86], true, ALL),
        (&[0x87], false, ALL),
        (&[0x88], true, ALL),
        (&[0x89], false, ALL),
        (&[0x8a], true, ALL),
        (&[0x8b], false, ALL),
        (&[0x0f, 0xb0], true, ALL),
        (&[0x0f, 0xb1], false, ALL),
        (&[0x0f, 0xc0], true, ALL),
        (&[0x0f, 0xc1], false, ALL),
        (&[0x0f, 0xb6], false, ALL),
        (&[0x0f, 0xb7], false, ALL),
        (&[0x0f, 0xbe], false, ALL),
        (&[0x0f, 0xbf], false, ALL),
        (&[0x63], false, ALL),
    ] {
        add(opcode, Register, 0, flags, Kind::Plain, is_byte);
    }
    for (opcode, extension, constant, flags, is_byte) in [
        (&[0xc6][..], 0, 1, ALL, true),
        (&[0xc7], 0, 4, ALL, false),
        (&[0xf6], 0, 1, logic, true),
        (&[0xf7], 0, 4, logic, false),
        (&[0xf6], 2, 0, ALL, true),
        (&[0xf7], 2, 0, ALL, false),
        (&[0xf6], 3, 0, ALL, true),
        (&[0xf7], 3, 0, ALL, false),
        (&[0xfe], 0, 0, ALL, true),
        (&[0xff], 0, 0, ALL, false),
        (&[0xfe], 1, 0, ALL, true),
        (&[0xff], 1, 0, ALL, false),
    ] {
        add(opcode, Extension(extension), constant, flags, Kind::Plain, is_byte);
    }
    for (opcode, constant) in [(&[0x0f, 0xaf][..], 0), (&[0x69], 4), (&[0x6b], 1)] {
        add(opcode, Register, constant, CARRY | OVERFLOW, Kind::Plain, false);
    }
    for opcode in [&[0x0f, 0xa3][..], &[0x0f, 0xab], &[0x0f, 0xb3], &[0x0f, 0xbb]] {
        add(opcode, Register, 0, CARRY | ZERO, Kind::Bits, false);
    }
    for extension in 4..8 {
        add(&[0x0f, 0xba], Extension(extension), 1, CARRY | ZERO, Kind::Plain, false);
    }
    for extension in [0, 1, 2, 3, 4, 5, 7] {
        for (opcode, constant, is_byte) in [(&[0xc0][..], 1, true), (&[0xc1], 1, false), (&[0xd0], 0, true), (&[0xd1], 0, false), (&[0xd2], 0, true), (&[0xd3], 0, false)] {
            add(opcode, Extension(extension), constant, ALL, Kind::Shift, is_byte);
        }
    }
    for (opcode, constant) in [(&[0x0f, 0xa4][..], 1), (&[0x0f, 0xa5], 0), (&[0x0f, 0xac], 1), (&[0x0f, 0xad], 0)] {
        add(opcode, Register, constant, ALL, Kind::Shift, false);
    }
    for low in 0..16u8 {
        let leak = |opcode: u8| -> &'static [u8] { Box::leak(Box::new([0x0f, opcode])) };
        add(leak(0x40 | low), Register, 0, ALL, Kind::Plain, false);
        add(leak(0x90 | low), Extension(0), 0, ALL, Kind::Plain, true);
    }
    add(&[0x0f, 0xc7], Extension(1), 0, ALL, Kind::Pairs, false);
    forms
}

/// Makes an instruction of a form, with everything that it works on.
fn case(form: &Form, random: &mut Random) -> Case {
    let registers = core::array::from_fn(|_| random.value());
    let flags = 0x202 & 2 | random.next() & ALL;
    let mut case = Case { code: [0xc3; 16], length: 0, registers, flags, memory: core::array::from_fn(|_| random.next() as u8) };
    if random.below(4) == 0 {
        case.memory[..8].copy_from_slice(&random.value().to_le_bytes());
    }
    let (is_wide, is_narrow) = (random.below(3) == 0, random.below(3) == 0);
    let is_narrow = is_narrow && !is_wide && !form.is_byte && form.kind != Kind::Pairs;
    let mut code = Vec::new();
    if is_narrow {
        code.push(0x66);
    }
    let mut register = random.below(16) as u8;
    if let Operand::Extension(extension) = form.operand {
        register = extension;
    }
    let has_prefix = is_wide || register >= 8 || random.below(4) == 0;
    // The stack and the pointer to the memory differ on both sides.
    let is_high_byte = form.is_byte && !has_prefix;
    if form.operand == Operand::Register && matches!(usize::from(register), STACK | POINTER) && !is_high_byte {
        register -= 1;
    }
    if has_prefix {
        code.push(0x40 | u8::from(is_wide) << 3 | register >> 3 << 2);
    }
    code.extend(form.opcode);
    code.push((register & 7) << 3 | 7);
    let constant = if form.constant == 4 && is_narrow { 2 } else { form.constant };
    code.extend((0..constant).map(|_| random.value() as u8));
    // What equals memory is exchanged.
    if random.below(2) == 0 {
        case.registers[0] = u64::from_le_bytes(case.memory[..8].try_into().unwrap());
        if form.kind == Kind::Pairs {
            case.registers[2] = u64::from_le_bytes(case.memory[8..16].try_into().unwrap());
            if !is_wide {
                (case.registers[2], case.registers[0]) = (case.registers[0] >> 32, case.registers[0] & 0xffff_ffff);
            }
        }
    }
    if form.kind == Kind::Bits {
        case.registers[usize::from(register)] = random.below(8 * MEMORY as u64 / 2);
    }
    case.code[..code.len()].copy_from_slice(&code);
    case.length = code.len() as u64;
    case
}

/// Returns the flags that the processor's manual defines behind this instruction. `None`: not even
/// the result is defined.
fn defined(form: &Form, case: &Case) -> Option<u64> {
    if form.kind != Kind::Shift {
        return Some(form.flags);
    }
    let narrow = usize::from(case.code[0] == 0x66);
    let prefix = case.code[narrow];
    let (has_prefix, is_wide) = (prefix & 0xf0 == 0x40, prefix & 0xf8 == 0x48);
    let width = match (form.is_byte, is_wide, narrow) {
        (true, ..) => 8,
        (_, true, _) => 64,
        (_, _, 1) => 16,
        _ => 32,
    };
    let end = narrow + usize::from(has_prefix) + form.opcode.len() + 1;
    let count = match (form.constant, form.opcode) {
        (1, _) => case.code[end],
        (_, [0xd0 | 0xd1]) => 1,
        _ => case.registers[1] as u8,
    } & if width == 64 { 63 } else { 31 };
    let is_double = form.opcode.len() == 2;
    let is_rotation = !is_double && matches!(form.operand, Operand::Extension(0..=3));
    match u64::from(count) {
        0 => Some(ALL),
        1 if is_rotation => Some(ALL),
        1 => Some(ALL & !ADJUST),
        _ if is_rotation => Some(ALL & !OVERFLOW),
        count if is_double && count > width => None,
        count if count > width || count == width && !is_double => Some(ALL & !(ADJUST | OVERFLOW | CARRY)),
        _ => Some(ALL & !(ADJUST | OVERFLOW)),
    }
}

struct Memory(VecMemory);

impl Bus for Memory {
    fn memory(&self) -> &dyn GuestMemory {
        &self.0
    }

    fn read(&mut self, address: u64, width: u8) -> u64 {
        let mut bytes = [0; 8];
        self.0.read(address, &mut bytes[..usize::from(width)]).unwrap();
        u64::from_le_bytes(bytes)
    }

    fn write(&mut self, address: u64, width: u8, value: u64) {
        self.0.write(address, &value.to_le_bytes()[..usize::from(width)]).unwrap();
    }

    fn port_in(&mut self, _: u16, _: u8) -> u32 {
        unreachable!("no instruction here knows ports")
    }

    fn port_out(&mut self, _: u16, _: u8, _: u32) {
        unreachable!("no instruction here knows ports")
    }

    fn vector(&mut self, _: Vector) -> u128 {
        unreachable!("no instruction here knows vectors")
    }

    fn set_vector(&mut self, _: Vector, _: u128) {
        unreachable!("no instruction here knows vectors")
    }
}

/// Lets the interpreter carry out a case. `None`: it does not know the instruction.
fn interpreted(case: &Case) -> Option<Case> {
    let mut memory = Memory(VecMemory::new(0x1000));
    memory.0.write(AT, &case.memory).unwrap();
    let mut registers = case.registers;
    registers[POINTER] = AT;
    let mut state = State { registers, rip: 0x100, flags: case.flags, bases: [0; 6], paging: Paging::default(), mode: Mode::Long, user: false };
    interpret(&mut state, &case.code, &mut memory).ok()?;
    assert_eq!((state.registers[POINTER], state.rip), (AT, 0x100 + case.length), "{:x?}", case.code);
    let mut after = case.clone();
    (after.registers, after.flags) = (state.registers, state.flags);
    memory.0.read(AT, &mut after.memory).unwrap();
    Some(after)
}

/// Lets this machine's processor carry out all cases.
fn processed(cases: &[Case]) -> Vec<Case> {
    let folder = std::env::temp_dir().join(format!("nacre-processor-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("processor");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processor.c");
    let status = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status().expect("the test needs the C compiler `cc`");
    assert!(status.success());
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes: Vec<u8> = cases.iter().flat_map(Case::bytes).collect();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let mut told = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut told).unwrap();
    writer.join().unwrap().expect("the program takes all cases");
    assert!(child.wait().unwrap().success());
    std::fs::remove_dir_all(&folder).unwrap();
    told.chunks_exact(SIZE).map(Case::of).collect()
}

#[test]
fn the_interpreter_does_what_the_processor_does() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let forms = forms();
    let cases: Vec<(&Form, Case)> = forms.iter().flat_map(|form| (0..ROUNDS).map(move |_| form)).map(|form| (form, case(form, &mut random))).collect();
    let plain: Vec<Case> = cases.iter().map(|(_, case)| case.clone()).collect();
    let truths = processed(&plain);
    assert_eq!(truths.len(), cases.len(), "the processor stopped at {:x?}", cases.get(truths.len()).map(|(_, case)| case));
    let mut unknown = Vec::new();
    for ((form, case), truth) in cases.iter().zip(&truths) {
        let Some(flags) = defined(form, case) else { continue };
        let Some(found) = interpreted(case) else {
            unknown.push(format!("{:x?}", form.opcode));
            continue;
        };
        let mut expected = Case { length: case.length, ..truth.clone() };
        // These two are not the case's own.
        (expected.registers[STACK], expected.registers[POINTER]) = (case.registers[STACK], AT);
        expected.flags = truth.flags & flags;
        let found = Case { flags: found.flags & flags, ..found };
        assert!(found == expected, "{:x?}\nbefore:    {case:x?}\nprocessor: {expected:x?}\nhere:      {found:x?}\nflags {flags:x}", &case.code);
    }
    unknown.dedup();
    assert!(unknown.is_empty(), "forms that the interpreter does not know: {unknown:?}");
}
