//! Guest machines: a guest that does anything to its devices, and kernels that are none.

use crate::bytes::Bytes;
use nacre_machine_devices::{Apics, MAX_PROCESSORS, Platform};
use nacre_machine_load::{Boot, ByteSource, GuestMemory, Module, Protocol, VecMemory, acpi, linux, multiboot1, multiboot2, pvh};
use nacre_machine_x86::{
    Access, Bus, Clock, FPU_SIZE, Forget, Host, MAX_PAGES, Mode, Model, Msrs, Paging, Processor, Shadow,
    State, Vector, Vectors, cpuid, decode, decode_invalidate, fetch, interpret, time_info, walk,
};

/// Ports of devices, from which most accesses start.
const PORTS: [u16; 16] = [
    0x20, 0x21, 0x40, 0x42, 0x43, 0x60, 0x61, 0x64, 0x70, 0x71, 0xa0, 0xa1, 0x3f8, 0x3fa, 0x4d0,
    0xcf8,
];
/// Memory into which kernels are loaded.
const MEMORY: usize = 4 << 20;

/// A guest's accesses, while time passes, input comes, and the state goes out and in.
pub fn platform(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let processors = 1 + bytes.below(MAX_PROCESSORS);
    let (mut platform, mut now) = (Platform::new(bytes.word(), processors), 0u64);
    if bytes.byte() % 2 == 0 {
        platform.add_hpet();
    }
    while !bytes.is_over() {
        let port = bytes.of(&PORTS).wrapping_add(u16::from(bytes.byte() % 8));
        let width = bytes.of(&[1, 1, 2, 4]);
        let processor = bytes.below(processors);
        match bytes.below(10) {
            0..3 => platform.write(port, width, bytes.word() as u32, now),
            3 => _ = platform.read(port, width, now),
            4 => now = now.saturating_add(bytes.word()),
            5 => _ = platform.receive(bytes.some()),
            6 => _ = (platform.acknowledge(processor), platform.take_output(processor % 4, &mut [0; 64])),
            7 => memory(&mut platform, processor, &mut bytes, now),
            8 => registers(platform.apics(), processor, &mut bytes, now),
            _ => platform = restored(&platform),
        }
        if let Some(deadline) = platform.next_deadline(now) {
            assert!(deadline >= now);
        }
        for processor in 0..processors {
            let _ = (platform.take_news(processor), platform.take_signal(processor));
        }
    }
}

/// An access to memory of APICs and event timers, most often to a register.
fn memory(platform: &mut Platform, processor: usize, bytes: &mut Bytes, now: u64) {
    let page = bytes.of(&[0xfee0_0000, 0xfec0_0000, 0xfed0_0000, 0]);
    let address = page + u64::from(bytes.byte()) * bytes.of(&[16, 16, 16, 1]);
    let width = bytes.of(&[4, 4, 1, 8]);
    if bytes.byte() % 2 == 0 {
        let _ = platform.read_memory(processor, address, width, now);
    } else {
        platform.write_memory(processor, address, width, bytes.word(), now);
        platform.set_line(bytes.byte() % 16, bytes.byte() % 2 == 0);
    }
}

/// An access to model-specific registers of an APIC.
fn registers(apics: &mut Apics, processor: usize, bytes: &mut Bytes, now: u64) {
    let number = bytes.of(&[0x800, 0x800, 0x1b]) + u32::from(bytes.byte() % 0x40);
    let value = bytes.word();
    let number = if number < 0x800 { 0x1b } else { number };
    if bytes.byte() % 2 == 0 {
        let _ = apics.read_register(processor, number, now);
    } else {
        let _ = apics.write_register(processor, number, value, now);
        apics.set_counter(processor, value, now.saturating_add(value));
    }
}

/// Carries a platform over to another, which must not differ.
fn restored(platform: &Platform) -> Platform {
    let state = platform.state();
    let copy = Platform::restore(&state).expect("a state that was just saved");
    assert_eq!(copy.state(), state);
    copy
}

/// Returns an ELF file with a segment of code and the note of an entry.
fn elf() -> Vec<u8> {
    let mut file = vec![0; 0x400];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"\x7fELF\x02\x01\x01");
    put(18, &[62]);
    put(32, &[64]);
    put(54, &[56, 0, 2]);
    [(64, 1, 0x100u64), (120, 4, 0x180)].iter().for_each(|(at, kind, offset)| {
        put(*at, &[*kind]);
        put(at + 8, &offset.to_le_bytes());
        [(24, 0x20_0000u64), (32, 0x40), (40, 0x80)].iter().for_each(|(place, word)| put(at + place, &word.to_le_bytes()));
    });
    put(0x180, b"\x04\0\0\0\x04\0\0\0\x12\0\0\0Xen\0\x10\0\x20\0");
    file
}

/// A kernel whose header is the bytes, with a part of them as its initial file system.
pub fn kernel(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let initrd = bytes.some();
    let (mut file, mut elf) = (vec![0; 0x800], elf());
    // What every kernel has, unless the bytes write over it.
    file[0x1f1] = 1;
    file[0x1fe..0x208].copy_from_slice(b"\x55\xaa\xeb\x6aHdrS\x0f\x02");
    file[0x236] = bytes.byte();
    while !bytes.is_over() {
        let at = 0x1f0 + usize::from(bytes.byte());
        let some = bytes.some();
        let end = (at + some.len()).min(file.len());
        file[at..end].copy_from_slice(&some[..end - at]);
        let at = 2 * (at - 0x1f0);
        let end = (at + some.len()).min(elf.len());
        elf[at..end].copy_from_slice(&some[..end - at]);
    }
    let mut memory = VecMemory::new(MEMORY);
    let parts: [&dyn ByteSource; 2] = [&initrd, &initrd];
    let _ = acpi::load(&mut memory, &acpi::Facts { processors: bytes.byte(), io_apic: (8, 0), hpet: None });
    if let Ok(start) = linux::load(&mut memory, &file, &parts, "quiet") {
        assert!(start.rip < MEMORY as u64);
    }
    if let Ok(start) = pvh::load(&mut memory, &elf, &parts, "quiet") {
        assert!(start.rip < MEMORY as u64);
    }
}

/// Words of a header of multiboot before its sum, of each version, and what follows it: addresses
/// of a file of 2 KiB at 2 MiB, and an entry.
const MULTIBOOT: [&[u32]; 2] = [&[0x1bad_b002, 1 << 16], &[0xe852_50d6, 0, 88]];
const ADDRESSES: [&[u32]; 2] = [
    &[0x20_0080, 0x20_0000, 0, 0x20_2000, 0x20_0000],
    &[2, 24, 0x20_0080, 0x20_0000, 0, 0x20_2000, 3, 12, 0x20_0000, 0, 6, 8, 1, 16, 4, 6, 0, 8],
];

/// A multiboot kernel whose header and ELF header the bytes change. Its sum is right again then.
pub fn multiboot(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let version = bytes.below(2);
    let mut file = if bytes.byte() % 2 == 0 { elf() } else { Vec::new() };
    file.resize(0x800, 0);
    let mut put = |at: usize, words: &[u32]| words.iter().enumerate().for_each(|(number, word)| file[at + 4 * number..][..4].copy_from_slice(&word.to_le_bytes()));
    let start = MULTIBOOT[version];
    put(0x80, start);
    put(0x84 + 4 * start.len(), ADDRESSES[version]);
    let initrd = bytes.some();
    while !bytes.is_over() {
        let at = usize::from(bytes.byte()) * bytes.of(&[1, 1, 8]);
        let some = bytes.some();
        let end = (at + some.len()).min(file.len());
        file.get_mut(at..end).unwrap_or_default().iter_mut().zip(some).for_each(|(place, byte)| *place = *byte);
    }
    let words = file[0x80..][..4 * start.len()].chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let sum = words.fold(0u32, u32::wrapping_sub);
    file[0x80 + 4 * start.len()..][..4].copy_from_slice(&sum.to_le_bytes());
    let mut memory = VecMemory::new(MEMORY);
    let modules = ["module", "two words"].map(|text| Module { file: &initrd, text });
    let boot = Boot { kernel: &file, modules: &modules, command_line: "quiet" };
    let _ = Protocol::of(&file);
    for start in [multiboot1::load(&mut memory, &boot), multiboot2::load(&mut memory, &boot)].into_iter().flatten() {
        assert!(start.rip < MEMORY as u64 && start.rbx < 0x9_fc00);
    }
}

/// Registers of every kind of paging, by three bits.
fn paging(bytes: &mut Bytes) -> Paging {
    let kind = bytes.byte();
    let bit = |number: u32, place: u32| u64::from(kind >> number & 1) << place;
    let cr3 = u64::from(bytes.byte() % 4) * 0x1000;
    let cr0 = bit(0, 31) | bit(1, 16);
    let cr4 = bit(2, 4) | bit(3, 5) | bit(4, 20);
    Paging { cr0, cr3, cr4, efer: bit(5, 10) | bit(6, 11) }
}

/// A guest's code in four pages that hold its page tables, too.
pub fn processor(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut memory = VecMemory::new(0x4000);
    let (paging, mut msrs) = (paging(&mut bytes), Msrs::new(true, true));
    let kvm_clock = Some(bytes.word());
    let model = Model { host: Host::ALL, apic: Some(1), invariant_tsc: true, pcid: true, kvm_clock };
    while !bytes.is_over() {
        let word = bytes.word();
        match bytes.below(6) {
            0 => _ = memory.write(word % 0x4000, bytes.some()),
            1 => execute(&memory, &paging, word, bytes.byte()),
            2 => access(&mut msrs, word as u32, bytes.word(), &paging),
            3 => _ = cpuid(word as u32, 0, &model),
            4 => interpreted(&mut memory, &paging, &mut bytes),
            _ => clock(word, bytes.word()),
        }
    }
}

fn execute(memory: &VecMemory, paging: &Paging, address: u64, kind: u8) {
    let access = Access { write: kind & 1 != 0, user: kind & 2 != 0, fetch: kind & 4 != 0 };
    if let Ok(translation) = walk(memory, paging, address, access) {
        assert_eq!(translation.address % 0x1000, address % 0x1000);
    }
    if let Ok(code) = fetch(memory, paging, address, access.user)
        && let Some(instruction) = decode(code.bytes(), kind & 8 != 0)
    {
        assert!((1..=code.bytes().len()).contains(&usize::from(instruction.length)));
    }
}

/// Memory of a guest, and nothing behind it.
struct Reach<'a> {
    memory: &'a mut VecMemory,
    vectors: Vectors,
}

impl Bus for Reach<'_> {
    fn memory(&self) -> &dyn GuestMemory {
        self.memory
    }

    fn read(&mut self, address: u64, width: u8) -> u64 {
        let mut bytes = [0xff; 8];
        let _ = self.memory.read(address, &mut bytes[..usize::from(width)]);
        u64::from_le_bytes(bytes)
    }

    fn write(&mut self, address: u64, width: u8, value: u64) {
        let _ = self.memory.write(address, &value.to_le_bytes()[..usize::from(width)]);
    }

    fn port_in(&mut self, port: u16, width: u8) -> u32 {
        u32::from(port) << width
    }

    fn port_out(&mut self, _: u16, _: u8, _: u32) {}

    fn vector(&mut self, register: Vector) -> u128 {
        self.vectors.get(register)
    }

    fn set_vector(&mut self, register: Vector, value: u128) {
        self.vectors.set(register, value);
    }
}

/// Interprets an instruction with any registers.
fn interpreted(memory: &mut VecMemory, paging: &Paging, bytes: &mut Bytes) {
    let mode = bytes.of(&[Mode::Half, Mode::Word, Mode::Long]);
    let rip = bytes.word();
    let mut state = State { registers: [0; 16], rip, flags: bytes.word(), bases: [0; 6], paging: *paging, mode, user: false };
    for _ in 0..bytes.below(8) {
        state.registers[bytes.below(16)] = bytes.word();
        state.bases[bytes.below(6)] = bytes.word();
    }
    let code = bytes.some();
    let _ = interpret(&mut state, code, &mut Reach { memory, vectors: Vectors([0x3f; FPU_SIZE]) });
}

/// Reads and writes a register, of the common range, AMD's or KVM's.
fn access(msrs: &mut Msrs, number: u32, value: u64, paging: &Paging) {
    let processor = Processor { cr0: paging.cr0, efer: paging.efer, tsc: value };
    for base in [0, 0xc000_0000, 0xc001_0000, 0xc001_1000, 0x4b56_4d00] {
        let _ = msrs.write(base | number, value, &processor);
        let _ = msrs.read(base | number, &processor);
    }
    let state = msrs.state();
    *msrs = Msrs::restore(&state).expect("a state that was just saved");
}

fn clock(frequency: u64, ticks: u64) {
    let clock = Clock::new(frequency);
    let _ = time_info(1, ticks, clock.nanoseconds(ticks), &clock);
}

/// A guest that writes its tables, misses addresses and forgets them, with registers of any kind.
pub fn shadow(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut memory = VecMemory::new(0x4000);
    let mut paging = paging(&mut bytes);
    let mut shadow = Shadow::new(&paging);
    while !bytes.is_over() {
        let word = bytes.word();
        match bytes.below(7) {
            0 => _ = memory.write(word % 0x4000, bytes.some()),
            1 | 2 => miss(&mut shadow, &mut memory, &paging, word, bytes.byte()),
            3 => shadow.load_root(word, &paging, &mut check),
            4 => shadow.invalidate(&paging, word, &mut check),
            5 => {
                paging.cr4 ^= word & 0x2_0080;
                shadow.look(&paging, &mut check);
            }
            _ => invalidate(bytes.some(), word),
        }
    }
}

/// Checks that what is forgotten lies in one half.
fn check(forget: Forget) {
    if let Forget::Range { address, size, .. } = forget {
        assert!(address % size == 0 && address + size <= 1 << 47);
    }
}

/// Levels of a guest's tables.
const LEVELS: usize = 4;

fn miss(shadow: &mut Shadow, memory: &mut VecMemory, paging: &Paging, address: u64, kind: u8) {
    let access = Access { write: kind & 1 != 0, user: kind & 2 != 0, fetch: kind & 4 != 0 };
    // A table that leads to itself changes while it is walked, and the guest tries again: no more
    // often than there are bits to be set.
    let found = (0..=2 * LEVELS).map(|_| shadow.miss(memory, paging, address, access)).find(|found| found.as_ref().map_or(true, |pages| !pages.list().is_empty()));
    let Ok(pages) = found.expect("a miss that ends") else { return };
    let list = pages.list();
    let first = list[0];
    assert!(list.len() <= MAX_PAGES && first.address & 0xffff_f000 == address & 0xffff_f000);
    assert!(list.iter().all(|page| page.address < 1 << 47 && (page.address | page.physical) % 0x1000 == 0));
    assert!(first.write || !access.write);
}

fn invalidate(code: &[u8], word: u64) {
    let mode = [Mode::Half, Mode::Word, Mode::Long][(word % 3) as usize];
    if let Some((address, length)) = decode_invalidate(code, mode) {
        assert!((1..=code.len()).contains(&usize::from(length)));
        let _ = address.linear(mode, &[word; 16], word, &[word; 6]);
    }
}
