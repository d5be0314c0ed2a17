//! A small program for Linux guests: `port NUMBER VALUE`, both in decimal digits, writes a byte to
//! a port. By it a guest ends its machine; Debian's cloud kernel has no file for ports, so no shell
//! can.

/// Address that the file is loaded at.
const BASE: u64 = 0x40_0000;
const HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;

/// Instructions, with their bytes: ioperm(port, 1, 1), the write, exit(0); at the end what reads a
/// number at `rsi` into `ebx`.
const CODE: &[&[u8]] = &[
    &[0x48, 0x8b, 0x74, 0x24, 0x10],        // mov rsi,[rsp+0x10]
    &[0xe8, 0x2d, 0x00, 0x00, 0x00],        // call 0x37
    &[0x89, 0xdd],                          // mov ebp,ebx
    &[0x48, 0x8b, 0x74, 0x24, 0x18],        // mov rsi,[rsp+0x18]
    &[0xe8, 0x21, 0x00, 0x00, 0x00],        // call 0x37
    &[0xb8, 0xad, 0x00, 0x00, 0x00],        // mov eax,0xad
    &[0x89, 0xef],                          // mov edi,ebp
    &[0xbe, 0x01, 0x00, 0x00, 0x00],        // mov esi,0x1
    &[0xba, 0x01, 0x00, 0x00, 0x00],        // mov edx,0x1
    &[0x0f, 0x05],                          // syscall
    &[0x89, 0xea],                          // mov edx,ebp
    &[0x89, 0xd8],                          // mov eax,ebx
    &[0xee],                                // out dx,al
    &[0xb8, 0x3c, 0x00, 0x00, 0x00],        // mov eax,0x3c
    &[0x31, 0xff],                          // xor edi,edi
    &[0x0f, 0x05],                          // syscall
    &[0x31, 0xdb],                          // xor ebx,ebx
    &[0x0f, 0xb6, 0x06],                    // movzx eax,[rsi]
    &[0x84, 0xc0],                          // test al,al
    &[0x74, 0x0d],                          // je 0x4d
    &[0x83, 0xe8, 0x30],                    // sub eax,0x30
    &[0x6b, 0xdb, 0x0a],                    // imul ebx,ebx,0xa
    &[0x01, 0xc3],                          // add ebx,eax
    &[0x48, 0xff, 0xc6],                    // inc rsi
    &[0xeb, 0xec],                          // jmp 0x39
    &[0xc3],                                // ret
];

/// The program, as an ELF file.
pub fn elf() -> Vec<u8> {
    let code = CODE.concat();
    let size = HEADER + PROGRAM_HEADER + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2u16, 62].iter().flat_map(|half| half.to_le_bytes()));
    file.extend(1u32.to_le_bytes());
    file.extend([BASE + HEADER + PROGRAM_HEADER, HEADER, 0].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(0u32.to_le_bytes());
    file.extend([HEADER as u16, PROGRAM_HEADER as u16, 1, 0, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    // One part, to be loaded, read and executed.
    file.extend([1u32, 5].iter().flat_map(|half| half.to_le_bytes()));
    file.extend([0, BASE, BASE, size, size, 0x1000].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(code);
    file
}

#[cfg(test)]
mod tests {
    use crate::boot::elf::{check_program, segments};

    #[test]
    fn it_is_a_program() {
        let file = super::elf();
        assert_eq!(check_program(&file), Ok(()));
        let (entry, segments) = segments(&file).unwrap();
        assert_eq!((entry, segments.len()), (0x40_0078, 1));
    }
}
