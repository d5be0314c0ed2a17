//! Guest machines: a guest that does anything to its devices, and kernels that are none.

use crate::bytes::Bytes;
use nacre_machine_devices::Platform;
use nacre_machine_load::{ByteSource, VecMemory, linux};

/// Ports of devices, from which most accesses start.
const PORTS: [u16; 16] =
    [0x20, 0x21, 0x40, 0x42, 0x43, 0x60, 0x61, 0x64, 0x70, 0x71, 0xa0, 0xa1, 0x3f8, 0x3fa, 0x4d0, 0xcf8];
/// Memory into which kernels are loaded.
const MEMORY: usize = 4 << 20;

/// A guest's accesses, while time passes, input comes, and the state goes out and in.
pub fn platform(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let (mut platform, mut now) = (Platform::new(bytes.word()), 0u64);
    while !bytes.is_over() {
        let port = bytes.of(&PORTS).wrapping_add(u16::from(bytes.byte() % 8));
        let width = bytes.of(&[1, 1, 2, 4]);
        match bytes.below(8) {
            0..3 => platform.write(port, width, bytes.word() as u32, now),
            3 => _ = platform.read(port, width, now),
            4 => now = now.saturating_add(bytes.word()),
            5 => _ = platform.receive(bytes.some()),
            6 => _ = (platform.acknowledge(), platform.take_output(&mut [0; 64])),
            _ => platform = restored(&platform),
        }
        if let Some(deadline) = platform.next_deadline(now) {
            assert!(deadline >= now);
        }
    }
}

/// Carries a platform over to another, which must not differ.
fn restored(platform: &Platform) -> Platform {
    let state = platform.state();
    let copy = Platform::restore(&state).expect("a state that was just saved");
    assert_eq!(copy.state(), state);
    copy
}

/// A kernel whose header is the bytes, with a part of them as its initial file system.
pub fn kernel(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let initrd = bytes.some();
    let mut file = vec![0; 0x800];
    // What every kernel has, unless the bytes write over it.
    file[0x1f1] = 1;
    file[0x1fe..0x208].copy_from_slice(b"\x55\xaa\xeb\x6aHdrS\x0f\x02");
    file[0x236] = bytes.byte();
    while !bytes.is_over() {
        let at = 0x1f0 + usize::from(bytes.byte());
        let some = bytes.some();
        let end = (at + some.len()).min(file.len());
        file[at..end].copy_from_slice(&some[..end - at]);
    }
    let mut memory = VecMemory::new(MEMORY);
    let parts: [&dyn ByteSource; 2] = [&initrd, &initrd];
    if let Ok(start) = linux::load(&mut memory, &file, &parts, "quiet") {
        assert!(start.rip < MEMORY as u64);
    }
}
