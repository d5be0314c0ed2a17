//! Bytes of a guest's code, read through its page tables.

use crate::walk::{Access, Paging, WalkError, walk};
use crate::MAX_LENGTH;
use nacre_machine_memory::GuestMemory;

const PAGE: u64 = 0x1000;

/// Code at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    bytes: [u8; MAX_LENGTH],
    count: usize,
}

impl Code {
    /// Returns the bytes. There are fewer than 15 if the next page cannot be read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

/// Reads code at a linear address. An error is that of the first byte.
pub fn fetch(
    memory: &dyn GuestMemory, paging: &Paging, address: u64, user: bool,
) -> Result<Code, WalkError> {
    let access = Access { write: false, user, fetch: true };
    let mut code = Code { bytes: [0; MAX_LENGTH], count: 0 };
    while code.count < MAX_LENGTH {
        let at = address.wrapping_add(code.count as u64);
        let place = match walk(memory, paging, at, access) {
            Ok(translation) => translation.address,
            Err(error) if code.count == 0 => return Err(error),
            Err(_) => break,
        };
        let rest = (PAGE - place % PAGE).min((MAX_LENGTH - code.count) as u64) as usize;
        if memory.read(place, &mut code.bytes[code.count..code.count + rest]).is_err() {
            break;
        }
        code.count += rest;
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_machine_memory::VecMemory;

    /// Memory with pages 0x5000 and 0x6000 that are mapped the other way round, and nothing else.
    fn memory() -> (VecMemory, Paging) {
        let mut memory = VecMemory::new(0x8000);
        for (at, entry) in [(0x1000, 0x2003u32), (0x2014, 0x6003), (0x2018, 0x5003)] {
            memory.write(at, &entry.to_le_bytes()).unwrap();
        }
        let byte = |index| (index >> 12) as u8 * 16 + index as u8 % 16;
        memory.write(0x5000, &(0..0x3000).map(byte).collect::<Vec<u8>>()).unwrap();
        (memory, Paging { cr0: 1 << 31, cr3: 0x1000, cr4: 0, efer: 0 })
    }

    #[test]
    fn code_goes_on_in_the_next_page_wherever_that_is() {
        let (memory, paging) = memory();
        let code = fetch(&memory, &paging, 0x5ffe, false).unwrap();
        assert_eq!((code.bytes().len(), &code.bytes()[..4]), (15, &[0x1e, 0x1f, 0, 1][..]));
    }

    #[test]
    fn code_ends_where_its_pages_end() {
        let (memory, paging) = memory();
        assert_eq!(fetch(&memory, &paging, 0x6ffd, false).unwrap().bytes(), [0x0d, 0x0e, 0x0f]);
        assert_eq!(fetch(&memory, &paging, 0x7000, false), Err(WalkError::PageFault(0)));
        assert_eq!(fetch(&memory, &paging, 0x5000, true), Err(WalkError::PageFault(5)));
        let nothing = fetch(&VecMemory::new(0), &Paging::default(), u64::MAX, false).unwrap();
        assert!(nothing.bytes().is_empty());
    }
}
