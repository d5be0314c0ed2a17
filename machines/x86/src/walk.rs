//! Walk of a guest's page tables, with two, three or four levels, as the processor would do it.
//! Each entry is read once, since other processors may write it meanwhile. Accessed and dirty bits
//! are not set.

use nacre_machine_memory::GuestMemory;

/// Control registers: paging and write protection; large pages of two levels; three levels or more;
/// no execution of user pages by the kernel.
const CR0_PG: u64 = 1 << 31;
const CR0_WP: u64 = 1 << 16;
const CR4_PSE: u64 = 1 << 4;
const CR4_PAE: u64 = 1 << 5;
const CR4_SMEP: u64 = 1 << 20;
const EFER_LMA: u64 = 1 << 10;
const EFER_NXE: u64 = 1 << 11;
/// Bits of an entry.
const PRESENT: u64 = 1;
const WRITABLE: u64 = 2;
const USER: u64 = 4;
const LARGE: u64 = 0x80;
const NO_EXECUTE: u64 = 1 << 63;
/// Address in an entry. Physical addresses have 40 bits, as CPUID says.
const ADDRESS: u64 = 0xff_ffff_f000;
/// Bits of an entry that would be address on a processor with more.
const RESERVED: u64 = 0x000f_ff00_0000_0000;
/// Bits of the error code.
const CODE_PRESENT: u32 = 1;
const CODE_WRITE: u32 = 2;
const CODE_USER: u32 = 4;
const CODE_RESERVED: u32 = 8;
const CODE_FETCH: u32 = 16;

/// Registers that decide on a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    /// Control register 0.
    pub cr0: u64,
    /// Control register 3.
    pub cr3: u64,
    /// Control register 4.
    pub cr4: u64,
    /// Extended feature register.
    pub efer: u64,
}

impl Paging {
    /// Returns true for addresses of 64 bits.
    pub(crate) fn is_long(&self) -> bool {
        self.efer & EFER_LMA != 0
    }
}

/// Kind of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// True for a write.
    pub write: bool,
    /// True if the processor is in user mode.
    pub user: bool,
    /// True for an instruction.
    pub fetch: bool,
}

/// Place of a linear address in guest-physical memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Guest-physical address.
    pub address: u64,
    /// Size of the page.
    pub page_size: u64,
    /// Rights of the page: write, user, and execute.
    pub rights: Access,
}

/// Reason why an address leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkError {
    /// Page fault, with its error code.
    PageFault(u32),
    /// Address is none in 64-bit mode: a general protection fault.
    NotCanonical,
}

/// An entry that a walk went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Guest-physical address of the entry.
    pub at: u64,
    /// Value of the entry when it was read.
    pub entry: u64,
}

/// Entries that a walk went through, from the outermost table on, and how many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    steps: [Step; 4],
    count: usize,
    /// Bytes of an entry.
    pub entry_size: usize,
    /// Number of the first entries that have neither rights nor an accessed bit.
    pub pointers: usize,
    /// Bits of the entry of a small page that must be 0.
    pub reserved: u64,
}

impl Path {
    /// Returns the entries; the last one is that of the page.
    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.count]
    }

    fn push(&mut self, step: Step) {
        if let Some(place) = self.steps.get_mut(self.count) {
            *place = step;
            self.count += 1;
        }
    }
}

/// Form of the tables.
#[derive(Clone, Copy)]
struct Form {
    levels: u32,
    /// Bits of an index into a table.
    index_bits: u32,
    entry_size: usize,
}

const TWO: Form = Form { levels: 2, index_bits: 10, entry_size: 4 };
const THREE: Form = Form { levels: 3, index_bits: 9, entry_size: 8 };
const FOUR: Form = Form { levels: 4, index_bits: 9, entry_size: 8 };

/// Finds a linear address in guest-physical memory, if the access is allowed there.
pub fn walk(
    memory: &dyn GuestMemory, paging: &Paging, address: u64, access: Access,
) -> Result<Translation, WalkError> {
    walk_by(memory, paging, address, access).map(|(translation, _)| translation)
}

/// Finds a linear address as [`walk`] does, and tells the entries that it went through.
pub(crate) fn walk_by(
    memory: &dyn GuestMemory, paging: &Paging, address: u64, access: Access,
) -> Result<(Translation, Path), WalkError> {
    let is_long = paging.is_long();
    let address = if is_long { address } else { address & u64::from(u32::MAX) };
    if paging.cr0 & CR0_PG == 0 {
        let rights = Access { write: true, user: true, fetch: true };
        return Ok((Translation { address, page_size: 0x1000, rights }, Path::default()));
    }
    if is_long && (address as i64) << 16 >> 16 != address as i64 {
        return Err(WalkError::NotCanonical);
    }
    let form = match (is_long, paging.cr4 & CR4_PAE != 0) {
        (true, _) => FOUR,
        (false, true) => THREE,
        (false, false) => TWO,
    };
    let walk = Walk { memory, paging, form, access };
    let mut path = Path { entry_size: form.entry_size, pointers: usize::from(form.levels == 3), reserved: walk.reserved(0, false), ..Path::default() };
    let translation = walk.descend(address, &mut path)?;
    walk.check(&translation)?;
    Ok((translation, path))
}

struct Walk<'a> {
    memory: &'a dyn GuestMemory,
    paging: &'a Paging,
    form: Form,
    access: Access,
}

impl Walk<'_> {
    /// Follows the tables from the outermost to a page. Its rights are what all entries allow.
    fn descend(&self, address: u64, path: &mut Path) -> Result<Translation, WalkError> {
        let mut table = self.outermost();
        let mut rights = Access { write: true, user: true, fetch: true };
        for level in (0..self.form.levels).rev() {
            let shift = 12 + level * self.form.index_bits;
            let index = address >> shift & ((1 << self.form.index_bits) - 1);
            // The outermost table of three levels has four entries.
            let index = if self.is_pointer(level) { index & 3 } else { index };
            let at = table + index * self.form.entry_size as u64;
            let entry = self.entry(at)?;
            path.push(Step { at, entry });
            let is_large = level > 0 && entry & LARGE != 0 && self.may_be_large(level);
            if entry & self.reserved(level, is_large) != 0 {
                return Err(self.fault(CODE_PRESENT | CODE_RESERVED));
            }
            if !self.is_pointer(level) {
                rights.write &= entry & WRITABLE != 0;
                rights.user &= entry & USER != 0;
            }
            rights.fetch &= entry & NO_EXECUTE == 0;
            if level == 0 || is_large {
                let page_size = 1 << shift;
                let start = self.page_start(entry, page_size);
                let address = start | address & (page_size - 1);
                return Ok(Translation { address, page_size, rights });
            }
            table = entry & ADDRESS;
        }
        Err(self.fault(0))
    }

    fn outermost(&self) -> u64 {
        match self.form.levels {
            4 => self.paging.cr3 & ADDRESS,
            3 => self.paging.cr3 & 0xffff_ffe0,
            _ => self.paging.cr3 & 0xffff_f000,
        }
    }

    /// Returns true for entries of the outermost table of three levels, which have no rights.
    fn is_pointer(&self, level: u32) -> bool {
        self.form.levels == 3 && level == 2
    }

    /// Reads an entry. One outside memory, or not present, is a fault.
    fn entry(&self, at: u64) -> Result<u64, WalkError> {
        let mut bytes = [0; 8];
        let read = self.memory.read(at, &mut bytes[..self.form.entry_size]);
        let entry = u64::from_le_bytes(bytes);
        match read {
            Ok(()) if entry & PRESENT != 0 => Ok(entry),
            _ => Err(self.fault(0)),
        }
    }

    /// Returns true if a table of this level may have large pages. There are none of 1 GiB.
    fn may_be_large(&self, level: u32) -> bool {
        level == 1 && (self.form.levels > 2 || self.paging.cr4 & CR4_PSE != 0)
    }

    /// Returns the bits of an entry that must be 0.
    fn reserved(&self, level: u32, is_large: bool) -> u64 {
        let has_no_execute = self.paging.efer & EFER_NXE != 0;
        let no_execute = if has_no_execute { 0 } else { NO_EXECUTE };
        match (self.form.levels, level) {
            // Bit 21 of a large page; bits 13 to 20 are address.
            (2, _) => if is_large { 1 << 21 } else { 0 },
            // QEMU's processor sets the accessed bit (5) there.
            (3, 2) => RESERVED | 0x7ff0_0000_0000_0000 | NO_EXECUTE | 0x1c6,
            (3, _) => RESERVED | 0x7ff0_0000_0000_0000 | no_execute | large_gap(is_large),
            (_, 2 | 3) => RESERVED | no_execute | LARGE,
            _ => RESERVED | no_execute | large_gap(is_large),
        }
    }

    /// Returns the first address of a page.
    fn page_start(&self, entry: u64, page_size: u64) -> u64 {
        if self.form.levels == 2 && page_size > 0x1000 {
            // Bits 32 to 39 of the address stand in bits 13 to 20.
            return (entry & 0xffc0_0000) | (entry >> 13 & 0xff) << 32;
        }
        entry & ADDRESS & !(page_size - 1)
    }

    fn check(&self, page: &Translation) -> Result<(), WalkError> {
        let Access { write, user, fetch } = self.access;
        let is_protected = user || self.paging.cr0 & CR0_WP != 0;
        let is_kept_out = !user && self.paging.cr4 & CR4_SMEP != 0 && page.rights.user;
        let is_refused = (user && !page.rights.user)
            || (write && is_protected && !page.rights.write)
            || (fetch && (!page.rights.fetch || is_kept_out));
        if is_refused { Err(self.fault(CODE_PRESENT)) } else { Ok(()) }
    }

    fn fault(&self, reason: u32) -> WalkError {
        let Access { write, user, fetch } = self.access;
        let can_refuse_fetch = self.paging.cr4 & CR4_SMEP != 0
            || (self.paging.efer & EFER_NXE != 0 && self.form.levels > 2);
        let is_fetch = fetch && can_refuse_fetch;
        let bits = [(write, CODE_WRITE), (user, CODE_USER), (is_fetch, CODE_FETCH)];
        let kind: u32 = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
        WalkError::PageFault(reason | kind)
    }
}

/// Returns the bits between the attributes of a page of 2 MiB and its address.
fn large_gap(is_large: bool) -> u64 {
    if is_large { 0x1f_e000 } else { 0 }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
