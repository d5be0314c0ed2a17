//! Tests of the interpreter, with memory up to 0x1000 and a device behind it.

use super::*;
use nacre_machine_memory::VecMemory;

struct Machine {
    memory: VecMemory,
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
}

fn machine() -> (Machine, State) {
    let memory = VecMemory::new(0x1000);
    let state = State { registers: [0; 16], rip: 0x100, flags: 2, bases: [0; 6], paging: Paging::default(), mode: Mode::Long, user: false };
    (Machine { memory, log: Vec::new() }, state)
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
