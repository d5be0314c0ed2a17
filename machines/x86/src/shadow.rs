//! What a monitor does that keeps a guest's translations itself: shadow paging. The guest's tables
//! are read when an address is missed, as a processor does it, with accessed and dirty bits. What
//! was found is kept until the guest says that it is to be forgotten: the rules are those of a
//! processor's own cache of translations, with process identities (PCID).
//!
//! Translations are kept in [`Cache`]s: one for the lower half of the addresses under each of a few
//! identities, and one for the upper half under all of them, where the guest's kernel has global
//! pages. This module decides what goes into which and what is to be forgotten; the caller does
//! both.
//!
//! Each processor of a guest has translations of its own, and forgets them as a processor does:
//! when its own code says so.

use crate::walk::{Access, Paging, Path, Translation, WalkError, walk_by};
use nacre_machine_memory::GuestMemory;

/// Number of identities whose lower halves are kept.
pub const IDENTITIES: usize = 8;
/// Maximum number of pages that one miss enters.
pub const MAX_PAGES: usize = 16;

const PAGE: u64 = 0x1000;
const LARGE: u64 = 0x20_0000;
/// Bytes of each half of the addresses, and start of the upper one.
const HALF: u64 = 1 << 47;
/// Start of what counts as the upper half of 32-bit addresses, where most kernels are.
const UPPER_PART: u64 = 3 << 30;
const UPPER_HALF: u64 = HALF.wrapping_neg();
const CR0_PG: u64 = 1 << 31;
const CR0_WP: u64 = 1 << 16;
const CR4_PGE: u64 = 1 << 7;
const CR4_PCIDE: u64 = 1 << 17;
const EFER_LMA: u64 = 1 << 10;
const EFER_NXE: u64 = 1 << 11;
/// Bits of an entry.
const PRESENT: u64 = 1;
const WRITABLE: u64 = 2;
const USER: u64 = 4;
const ACCESSED: u64 = 0x20;
const DIRTY: u64 = 0x40;
const GLOBAL: u64 = 0x100;
const NO_EXECUTE: u64 = 1 << 63;
/// Address in an entry of a small page.
const ADDRESS: u64 = 0xff_ffff_f000;

/// A place in which translations are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Upper half of the addresses.
    Upper,
    /// Lower half under one of the identities, by its number below [`IDENTITIES`].
    Lower(usize),
}

/// A page of the guest's to be entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Address, counted from the start of its half if it has 64 bits.
    pub address: u64,
    /// Guest-physical address.
    pub physical: u64,
    /// True if it may be written.
    pub write: bool,
    /// Programs see it, and not only the kernel.
    pub user: bool,
    /// True if it may be executed.
    pub execute: bool,
    /// True if the same holds for all of the 2 MiB around it.
    pub is_large: bool,
}

/// Pages that were found: the one that was missed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    pages: [Page; MAX_PAGES],
    count: usize,
    /// The cache that they belong to.
    pub cache: Cache,
}

impl Pages {
    /// Returns the pages.
    pub fn list(&self) -> &[Page] {
        &self.pages[..self.count]
    }

    fn push(&mut self, page: Page) {
        if let Some(place) = self.pages.get_mut(self.count) {
            *place = page;
            self.count += 1;
        }
    }
}

/// Translations that are to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// All of a cache.
    All(Cache),
    /// Pages of `size` bytes from `address` on, which counts from the start of the half.
    Range {
        /// The cache.
        cache: Cache,
        /// First address.
        address: u64,
        /// Bytes.
        size: u64,
    },
}

/// One identity's lower half.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    identity: Option<u16>,
    last_used: u64,
    is_filled: bool,
    /// Size of the largest page of which parts were entered, or 0: one address of such a page
    /// forgets all of it.
    parts: u64,
}

/// State of a guest's translations.
#[derive(Clone, Debug)]
pub struct Shadow {
    slots: [Slot; IDENTITIES],
    current: usize,
    uses: u64,
    /// Registers that decide what all translations mean, when these were made.
    made_under: [u64; 3],
    upper_is_filled: bool,
    upper_parts: u64,
    /// A page of the upper half is not global: it is for one identity.
    upper_is_private: bool,
    /// A page of a lower half is global: forgetting it concerns all identities.
    lower_is_global: bool,
}

/// Returns the identity that a value of CR3 names.
fn identity(root: u64, paging: &Paging) -> u16 {
    if paging.cr4 & CR4_PCIDE != 0 { (root & 0xfff) as u16 } else { 0 }
}

/// Returns an address counted from the start of its half.
fn in_half(address: u64) -> u64 {
    address & (HALF - 1)
}

/// Returns an address as wide as a processor's are, and whether it lies in the upper half.
fn place(paging: &Paging, address: u64) -> (u64, bool) {
    if paging.is_long() {
        return (address, address >= UPPER_HALF);
    }
    let address = address & u64::from(u32::MAX);
    (address, address >= UPPER_PART)
}

/// Returns the translations to be forgotten for one address. Where parts of a large page were
/// entered, all of them go.
fn range(cache: Cache, address: u64, parts: u64) -> Forget {
    let size = parts.max(PAGE);
    Forget::Range { cache, address: in_half(address) & !(size - 1), size }
}

/// Sets the bits of tables that a processor sets when it uses them; the entry of the page then.
/// `None`: the guest has changed an entry meanwhile.
fn mark(memory: &mut dyn GuestMemory, path: &Path, write: bool) -> Option<u64> {
    let mut leaf = 0;
    for (number, step) in path.steps().iter().enumerate().skip(path.pointers) {
        let is_leaf = number + 1 == path.steps().len();
        let entry = step.entry | ACCESSED | if is_leaf && write { DIRTY } else { 0 };
        if entry != step.entry && memory.replace(step.at, path.entry_size, step.entry, entry) != Ok(true) {
            return None;
        }
        leaf = entry;
    }
    Some(leaf)
}

/// Registers that all translations depend on.
fn meaning(paging: &Paging) -> [u64; 3] {
    [paging.cr0 & (CR0_WP | CR0_PG), paging.cr4, paging.efer & (EFER_NXE | EFER_LMA)]
}

impl Shadow {
    /// The state of a processor with these registers that has translated nothing.
    pub fn new(paging: &Paging) -> Shadow {
        let mut slots = [Slot::default(); IDENTITIES];
        slots[0].identity = Some(identity(paging.cr3, paging));
        Shadow {
            slots,
            current: 0,
            uses: 0,
            made_under: meaning(paging),
            upper_is_filled: false,
            upper_parts: 0,
            upper_is_private: false,
            lower_is_global: false,
        }
    }

    /// Returns the number of the lower half in use.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The control registers may have changed, CR3 apart: forgets what does not hold any more.
    pub fn look(&mut self, paging: &Paging, forget: &mut dyn FnMut(Forget)) {
        let now = meaning(paging);
        if self.made_under != now {
            self.made_under = now;
            self.forget_all(forget);
        }
        let identity = identity(paging.cr3, paging);
        if self.slots[self.current].identity != Some(identity) {
            self.switch(identity, true, forget);
        }
    }

    /// The guest loads CR3. `value` is what it writes; bit 63 keeps what is known of the identity.
    pub fn load_root(&mut self, value: u64, paging: &Paging, forget: &mut dyn FnMut(Forget)) {
        let keeps = paging.cr4 & CR4_PCIDE != 0 && value >> 63 != 0;
        self.switch(identity(value, paging), keeps, forget);
        if self.upper_is_private {
            self.forget_upper(forget);
        }
    }

    /// The guest forgets one page (INVLPG).
    pub fn invalidate(&mut self, paging: &Paging, address: u64, forget: &mut dyn FnMut(Forget)) {
        let (address, is_upper) = place(paging, address);
        if is_upper {
            if self.upper_is_filled {
                forget(range(Cache::Upper, address, self.upper_parts));
            }
            return;
        }
        for (number, slot) in self.slots.iter().enumerate() {
            if slot.is_filled && (number == self.current || self.lower_is_global) {
                forget(range(Cache::Lower(number), address, slot.parts));
            }
        }
    }

    /// Forgets everything.
    pub fn forget_all(&mut self, forget: &mut dyn FnMut(Forget)) {
        (0..IDENTITIES).for_each(|number| self.forget_lower(number, forget));
        self.forget_upper(forget);
        self.lower_is_global = false;
    }

    fn forget_lower(&mut self, number: usize, forget: &mut dyn FnMut(Forget)) {
        let slot = &mut self.slots[number];
        if core::mem::take(&mut slot.is_filled) {
            forget(Forget::All(Cache::Lower(number)));
        }
        slot.parts = 0;
    }

    fn forget_upper(&mut self, forget: &mut dyn FnMut(Forget)) {
        if core::mem::take(&mut self.upper_is_filled) {
            forget(Forget::All(Cache::Upper));
        }
        (self.upper_parts, self.upper_is_private) = (0, false);
    }

    /// Goes to an identity, and forgets what is known of it unless that is kept.
    fn switch(&mut self, identity: u16, keeps: bool, forget: &mut dyn FnMut(Forget)) {
        self.uses += 1;
        let known = self.slots.iter().position(|slot| slot.identity == Some(identity));
        let oldest = || (0..IDENTITIES).min_by_key(|number| self.slots[*number].last_used).unwrap_or(0);
        let number = known.unwrap_or_else(oldest);
        if known.is_none() || !keeps {
            self.forget_lower(number, forget);
        }
        self.slots[number].identity = Some(identity);
        self.slots[number].last_used = self.uses;
        self.current = number;
    }

    /// The guest missed an address: finds the page, sets the bits of its tables that a processor
    /// sets, and returns what is to be entered: nothing if the guest changes its tables meanwhile,
    /// and is to try again. The error is the fault that the guest takes.
    pub fn miss(
        &mut self, memory: &mut dyn GuestMemory, paging: &Paging, address: u64, access: Access,
    ) -> Result<Pages, WalkError> {
        let (address, is_upper) = place(paging, address);
        let (found, path) = walk_by(memory, paging, address, access)?;
        let cache = if is_upper { Cache::Upper } else { Cache::Lower(self.current) };
        let Some(leaf) = mark(memory, &path, access.write) else {
            return Ok(Pages { pages: [Page::default(); MAX_PAGES], count: 0, cache });
        };
        let page = self.page(paging, address, &found, leaf, access);
        let mut pages = Pages { pages: [page; MAX_PAGES], count: 1, cache };
        if !page.is_large {
            self.around(memory, paging, &path, &page, &mut pages);
        }
        self.note(cache, paging, &path, if page.is_large { found.page_size.max(LARGE) } else { 0 });
        Ok(pages)
    }

    /// The page that an address is in.
    fn page(&self, paging: &Paging, address: u64, found: &Translation, leaf: u64, access: Access) -> Page {
        // Without paging there is no entry to be marked.
        let write = found.rights.write && (leaf & DIRTY != 0 || paging.cr0 & CR0_PG == 0);
        // Without write protection the kernel writes what is protected from programs: they do not
        // see it then until they miss it, and the kernel does not write it from then on.
        let is_forced = access.write && !found.rights.write;
        Page {
            address: in_half(address) & !(PAGE - 1),
            physical: found.address & !(PAGE - 1),
            write: write || is_forced,
            user: found.rights.user && !is_forced,
            execute: found.rights.fetch || paging.efer & EFER_NXE == 0,
            // Without paging all pages are neighbours.
            is_large: found.page_size >= LARGE || paging.cr0 & CR0_PG == 0,
        }
    }

    /// Finds small pages around one that lie in the same table and were accessed before: the guest
    /// is likely to miss them next.
    fn around(&self, memory: &dyn GuestMemory, paging: &Paging, path: &Path, page: &Page, pages: &mut Pages) {
        const ROW: u64 = MAX_PAGES as u64;
        let steps = path.steps();
        let size = path.entry_size as u64;
        let Some((last, above)) = steps.split_last() else { return };
        let all = above.iter().skip(path.pointers).fold(u64::MAX, |all, step| all & step.entry);
        let kept = above.iter().any(|step| step.entry & NO_EXECUTE != 0);
        let has_no_execute = paging.efer & EFER_NXE != 0;
        let first = last.at & !(size * ROW - 1);
        for number in 0..ROW {
            let at = first + size * number;
            let mut bytes = [0; 8];
            if at == last.at || memory.read(at, &mut bytes[..path.entry_size]).is_err() {
                continue;
            }
            let entry = u64::from_le_bytes(bytes);
            // Of another kind than the one that was missed, they are missed themselves.
            let kind = PRESENT | ACCESSED | GLOBAL | path.reserved;
            if entry & kind != PRESENT | ACCESSED | last.entry & GLOBAL {
                continue;
            }
            pages.push(Page {
                address: page.address.wrapping_add((at.wrapping_sub(last.at) as i64 / size as i64 * PAGE as i64) as u64),
                physical: entry & ADDRESS,
                write: all & entry & WRITABLE != 0 && entry & DIRTY != 0,
                user: all & entry & USER != 0,
                execute: !has_no_execute || !kept && entry & NO_EXECUTE == 0,
                is_large: false,
            });
        }
    }

    /// Notes what forgetting has to know of a page that is entered.
    fn note(&mut self, cache: Cache, paging: &Paging, path: &Path, parts: u64) {
        let leaf = path.steps().last().map_or(0, |step| step.entry);
        let is_global = leaf & GLOBAL != 0 && paging.cr4 & CR4_PGE != 0;
        match cache {
            Cache::Upper => {
                self.upper_is_filled = true;
                self.upper_parts = self.upper_parts.max(parts);
                self.upper_is_private |= !is_global;
            }
            Cache::Lower(number) => {
                self.slots[number].is_filled = true;
                self.slots[number].parts = self.slots[number].parts.max(parts);
                self.lower_is_global |= is_global;
            }
        }
    }
}

#[cfg(test)]
#[path = "shadow_tests.rs"]
mod tests;
