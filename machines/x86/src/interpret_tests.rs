//! Tests of the interpreter, with memory up to 0x1000 and a device behind it.

use super::*;
use crate::vector::{FPU_SIZE, Vectors};
use nacre_machine_memory::VecMemory;

struct Machine {
    memory: VecMemory,
    vectors: Vectors,
    log: Vec<(&'static str, u64, u8, u64)>,
}

impl Bus for Machine {
    fn memory(&self) -> &dyn GuestMemory {
        &self.memory
    }

    fn read(&mut self, address: u64, width: u8) -> u64 {
        let mut bytes = [0; 8];
        if self.memory.read(address, &mut bytes[..usize::from(width)]).is_err() {
            self.log.push(("read", address, width, 0));
            return 0x8877_6655_4433_2211;
        }
        u64::from_le_bytes(bytes)
    }

    fn write(&mut self, address: u64, width: u8, value: u64) {
        if self.memory.write(address, &value.to_le_bytes()[..usize::from(width)]).is_err() {
            self.log.push(("write", address, width, value));
        }
    }

    fn port_in(&mut self, port: u16, width: u8) -> u32 {
        self.log.push(("in", port.into(), width, 0));
        0x4241
    }

    fn port_out(&mut self, port: u16, width: u8, value: u32) {
        self.log.push(("out", port.into(), width, value.into()));
    }

    fn vector(&mut self, register: Vector) -> u128 {
        self.vectors.get(register)
    }

    fn set_vector(&mut self, register: Vector, value: u128) {
        self.vectors.set(register, value);
    }
}

fn machine() -> (Machine, State) {
    let memory = VecMemory::new(0x1000);
    let state = State { registers: [0; 16], rip: 0x100, flags: 2, bases: [0; 6], paging: Paging::default(), mode: Mode::Long, user: false };
    (Machine { memory, vectors: Vectors([0; FPU_SIZE]), log: Vec::new() }, state)
}

#[test]
fn a_device_is_read_and_written() {
    let (mut machine, mut state) = machine();
    state.registers[3] = 0xfee0_0080;
    interpret(&mut state, &[0x8b, 0x03], &mut machine).unwrap();
    assert_eq!((state.registers[0], state.rip), (0x4433_2211, 0x102));
    interpret(&mut state, &[0x88, 0x63, 0x10], &mut machine).unwrap();
    interpret(&mut state, &[0x81, 0x0b, 0, 0, 0, 0x80], &mut machine).unwrap();
    let expected = [("read", 0xfee0_0080, 4, 0), ("write", 0xfee0_0090, 1, 0x22), ("read", 0xfee0_0080, 4, 0), ("write", 0xfee0_0080, 4, 0xc433_2211)];
    assert_eq!(machine.log, expected);
    assert_eq!(state.flags & 0x80, 0x80);
}

#[test]
fn an_address_relative_to_the_next_instruction_counts_all_its_bytes() {
    let (mut machine, mut state) = machine();
    interpret(&mut state, &[0xc7, 0x05, 0, 0x20, 0, 0, 1, 0, 0, 0], &mut machine).unwrap();
    assert_eq!(machine.log, [("write", 0x210a, 4, 1)]);
}

#[test]
fn an_access_across_a_page_goes_by_bytes() {
    let (mut machine, mut state) = machine();
    (state.registers[3], state.registers[0]) = (0xffe, 0x0403_0201);
    interpret(&mut state, &[0x89, 0x03], &mut machine).unwrap();
    assert_eq!(machine.log, [("write", 0x1000, 1, 3), ("write", 0x1001, 1, 4)]);
    assert_eq!(machine.memory.0[0xffe..], [1, 2]);
}

#[test]
fn strings_go_on_where_they_were_left() {
    let (mut machine, mut state) = machine();
    (state.registers[RCX], state.registers[RDI]) = (ELEMENTS + 3, 0x10_0000);
    interpret(&mut state, &[0xf3, 0xaa], &mut machine).unwrap();
    assert_eq!((state.rip, state.registers[RCX], state.registers[RDI]), (0x100, 3, 0x10_0000 + ELEMENTS));
    interpret(&mut state, &[0xf3, 0xaa], &mut machine).unwrap();
    assert_eq!((state.rip, state.registers[RCX], machine.log.len() as u64), (0x102, 0, ELEMENTS + 3));
}

#[test]
fn strings_move_between_ports_and_memory() {
    let (mut machine, mut state) = machine();
    (state.registers[RCX], state.registers[RDI], state.registers[RDX]) = (2, 0x204, 0x1f0);
    state.flags |= DOWN;
    interpret(&mut state, &[0xf3, 0x66, 0x6d], &mut machine).unwrap();
    assert_eq!((&machine.memory.0[0x202..0x206], state.registers[RDI]), (&b"ABAB"[..], 0x200));
    (state.registers[RSI], state.flags) = (0x202, 2);
    interpret(&mut state, &[0x6e], &mut machine).unwrap();
    assert_eq!((machine.log.last(), state.registers[RSI]), (Some(&("out", 0x1f0, 1, 0x41)), 0x203));
}

#[test]
fn exceptions_change_nothing() {
    let (mut machine, mut state) = machine();
    state.paging = Paging { cr0: 1 << 31 | 1 << 16, cr3: 0x800, cr4: 1 << 5, efer: 1 << 10 };
    let before = state;
    state.registers[3] = 0;
    assert_eq!(interpret(&mut state, &[0x89, 0x03], &mut machine), Err(Exception::Page(0, 2)));
    assert_eq!(interpret(&mut state, &[0xf4], &mut machine), Err(Exception::Undefined));
    assert_eq!(state, before);
    state.registers[3] = 1 << 47;
    assert_eq!(interpret(&mut state, &[0x8b, 0x03], &mut machine), Err(Exception::Protection));
    assert!(machine.log.is_empty());
}

#[test]
fn real_mode_adds_bases() {
    let (mut machine, mut state) = machine();
    (state.mode, state.bases[3], state.registers[6]) = (Mode::Half, 0xf_0000, 0x1_0004);
    interpret(&mut state, &[0x89, 0x44, 0x10], &mut machine).unwrap();
    assert_eq!(machine.log, [("write", 0xf_0014, 2, 0)]);
    assert_eq!(state.rip, 0x103);
}

/// Value that a device reads, and an address of it.
const DEVICE: u64 = 0x8877_6655_4433_2211;
const AT: u64 = 0xfee0_0000;

#[test]
fn memory_is_compared_and_exchanged() {
    let (mut machine, mut state) = machine();
    (state.registers[3], state.registers[1], state.registers[RAX]) = (AT, 7, 0x4433_2211);
    interpret(&mut state, &[0xf0, 0x0f, 0xb1, 0x0b], &mut machine).unwrap();
    assert_eq!((machine.log.last(), state.flags & ZERO, state.registers[RAX]), (Some(&("write", AT, 4, 7)), ZERO, 0x4433_2211));
    state.registers[RAX] = u64::MAX;
    interpret(&mut state, &[0x0f, 0xb0, 0x0b], &mut machine).unwrap();
    assert_eq!((machine.log.last(), state.flags & ZERO, state.registers[RAX]), (Some(&("write", AT, 1, 0x11)), 0, !0xff | 0x11));
    interpret(&mut state, &[0xf0, 0x48, 0x0f, 0xc1, 0x0b], &mut machine).unwrap();
    assert_eq!((machine.log.last(), state.registers[1]), (Some(&("write", AT, 8, DEVICE + 7)), DEVICE));
}

#[test]
fn eight_bytes_are_compared_and_exchanged_by_pairs_of_registers() {
    let (mut machine, mut state) = machine();
    machine.memory.write(0x200, &DEVICE.to_le_bytes()).unwrap();
    (state.registers[6], state.registers[RCX], state.registers[RBX]) = (0x200, 1, 2);
    let code = [0xf0, 0x0f, 0xc7, 0x0e];
    interpret(&mut state, &code, &mut machine).unwrap();
    assert_eq!((state.flags & ZERO, state.registers[RDX], state.registers[RAX]), (0, DEVICE >> 32, DEVICE & mask(4)));
    assert_eq!(machine.memory.0[0x200..0x208], DEVICE.to_le_bytes());
    interpret(&mut state, &code, &mut machine).unwrap();
    assert_eq!((state.flags & ZERO, &machine.memory.0[0x200..0x208]), (ZERO, &[2, 0, 0, 0, 1, 0, 0, 0][..]));
}

#[test]
fn sixteen_bytes_are_compared_and_exchanged_where_they_are_aligned() {
    let (mut machine, mut state) = machine();
    (state.registers[6], state.registers[RAX], state.registers[RDX]) = (AT, DEVICE, DEVICE);
    (state.registers[RCX], state.registers[RBX]) = (1, 2);
    let code = [0xf0, 0x48, 0x0f, 0xc7, 0x0e];
    interpret(&mut state, &code, &mut machine).unwrap();
    assert_eq!((&machine.log[2..], state.flags & ZERO), (&[("write", AT, 8, 2), ("write", AT + 8, 8, 1)][..], ZERO));
    state.registers[RAX] = 0;
    interpret(&mut state, &code, &mut machine).unwrap();
    assert_eq!((state.registers[RAX], state.registers[RDX], state.flags & ZERO), (DEVICE, DEVICE, 0));
    state.registers[6] = AT + 8;
    assert_eq!(interpret(&mut state, &code, &mut machine), Err(Exception::Protection));
}

#[test]
fn shifts_and_conditions_reach_devices() {
    let (mut machine, mut state) = machine();
    (state.registers[3], state.registers[1], state.flags) = (AT, 4, 2 | ZERO);
    // sete, sets, shl by 8, shr by cl, rol by 1, shld by cl
    let codes = [&[0x0f, 0x94, 0x03][..], &[0x0f, 0x98, 0x03], &[0xc1, 0x23, 8], &[0xd3, 0x2b], &[0x66, 0xd1, 0x03], &[0x0f, 0xa5, 0x0b]];
    for code in codes {
        interpret(&mut state, code, &mut machine).unwrap();
    }
    let written: Vec<u64> = machine.log.iter().filter(|entry| entry.0 == "write").map(|entry| entry.3).collect();
    assert_eq!(written, [1, 0, 0x3322_1100, 0x0443_3221, 0x4422, 0x4332_2110]);
    // cmove, cmovne, imul, imul by a number
    state.flags = 2 | ZERO;
    (state.registers[0], state.registers[2]) = (u64::MAX, 1 << 40 | 5);
    for code in [&[0x0f, 0x44, 0x03][..], &[0x0f, 0x45, 0x13], &[0x48, 0x0f, 0xaf, 0x0b], &[0x6b, 0x33, 0xff]] {
        interpret(&mut state, code, &mut machine).unwrap();
    }
    let expected = [0x4433_2211, DEVICE.wrapping_mul(4), 5, 0x4433_2211u32.wrapping_neg().into()];
    assert_eq!([0, 1, 2, 6].map(|number| state.registers[number]), expected);
}

#[test]
fn bits_lie_wherever_a_register_says() {
    let (mut machine, mut state) = machine();
    // Bit 18 of the device is clear, bit 20 is set.
    (state.registers[3], state.registers[1]) = (AT, 0x12);
    interpret(&mut state, &[0x0f, 0xab, 0x0b], &mut machine).unwrap();
    assert_eq!((machine.log.last(), state.flags & CARRY), (Some(&("write", AT, 4, 0x4437_2211)), 0));
    interpret(&mut state, &[0x0f, 0xba, 0x33, 0x34], &mut machine).unwrap();
    assert_eq!((machine.log.last(), state.flags & CARRY), (Some(&("write", AT, 4, 0x4423_2211)), CARRY));
    for (bit, place) in [(65i64, 0x208), (-1, 0x1ff)] {
        (state.registers[3], state.registers[1]) = (0x200, bit as u64);
        interpret(&mut state, &[0x48, 0x0f, 0xbb, 0x0b], &mut machine).unwrap();
        assert_eq!(machine.memory.0[place], 1 << (bit & 7), "{bit}");
        interpret(&mut state, &[0x0f, 0xa3, 0x0b], &mut machine).unwrap();
        assert_eq!(state.flags & CARRY, CARRY);
        interpret(&mut state, &[0x66, 0x0f, 0xb3, 0x0b], &mut machine).unwrap();
        assert_eq!((machine.memory.0[place], state.flags & CARRY), (0, CARRY));
    }
}

#[test]
fn vectors_are_loaded_and_stored() {
    let (mut machine, mut state) = machine();
    state.registers[3] = AT;
    let both = u128::from(DEVICE) << 64 | u128::from(DEVICE);
    let mut load = |code: &[u8]| {
        machine.vectors.set(Vector::Xmm(9), u128::MAX);
        interpret(&mut state, code, &mut machine).unwrap();
        machine.vectors.get(Vector::Xmm(9))
    };
    assert_eq!(load(&[0x66, 0x44, 0x0f, 0x6f, 0x0b]), both);
    assert_eq!(load(&[0x66, 0x44, 0x0f, 0x38, 0x2a, 0x0b]), both);
    assert_eq!(load(&[0xf3, 0x44, 0x0f, 0x10, 0x0b]), 0x4433_2211);
    assert_eq!(load(&[0x66, 0x4c, 0x0f, 0x6e, 0x0b]), DEVICE.into());
    assert_eq!(load(&[0x44, 0x0f, 0x12, 0x0b]), u128::from(u64::MAX) << 64 | u128::from(DEVICE));
    assert_eq!(load(&[0x44, 0x0f, 0x16, 0x0b]), u128::from(DEVICE) << 64 | u128::from(u64::MAX));
    machine.log.clear();
    machine.vectors.set(Vector::Xmm(1), 0x22 << 64 | 0x11);
    for code in [&[0x0f, 0x29, 0x0b][..], &[0x0f, 0x17, 0x0b], &[0x66, 0x0f, 0x7e, 0x0b]] {
        interpret(&mut state, code, &mut machine).unwrap();
    }
    assert_eq!(machine.log, [("write", AT, 8, 0x11), ("write", AT + 8, 8, 0x22), ("write", AT, 8, 0x22), ("write", AT, 4, 0x11)]);
    machine.vectors.set(Vector::Mmx(1), 0x33);
    interpret(&mut state, &[0x0f, 0xe7, 0x0b], &mut machine).unwrap();
    interpret(&mut state, &[0x0f, 0xc3, 0x0b], &mut machine).unwrap();
    assert_eq!(machine.log[4..], [("write", AT, 8, 0x33), ("write", AT, 4, 0)]);
}

#[test]
fn half_a_vector_is_not_moved() {
    let (mut machine, mut state) = machine();
    // Page 0 is a table of each level, whose first entry leads to itself: page 1 is not there.
    state.paging = Paging { cr0: 1 << 31 | 1 << 16, cr3: 0, cr4: 1 << 5, efer: 1 << 10 };
    machine.memory.write(0, &3u64.to_le_bytes()).unwrap();
    state.registers[3] = 0xff8;
    let before = machine.memory.0.clone();
    assert_eq!(interpret(&mut state, &[0x0f, 0x11, 0x0b], &mut machine), Err(Exception::Page(0x1000, 2)));
    assert_eq!(machine.memory.0, before);
}
