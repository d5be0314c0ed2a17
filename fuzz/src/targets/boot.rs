//! Memory as it is when the machine starts.

use nacre_abi::boot_image;
use nacre_boot::PhysicalBytes;
use nacre_machine::boot::BootDescription;
use nacre_root::store::fake::Fake;
use nacre_root::tree::{Time, Tree};

/// Address of the bytes. All other memory is empty.
const START: u64 = 0x1000;

struct Memory<'a>(&'a [u8]);

impl PhysicalBytes for Memory<'_> {
    fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
        let start = usize::try_from(start.checked_sub(START)?).ok()?;
        self.0.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    }
}

/// Checks all that later code relies on.
fn check(description: Option<BootDescription>) {
    let Some(description) = description else { return };
    let ranges = description.memory.ranges();
    assert!(ranges.windows(2).all(|two| two[0].start + two[0].size < two[1].start), "memory overlaps");
    assert!(ranges.iter().all(|range| range.size > 0 && (range.start | range.size) % 4096 == 0), "memory in less than pages");
    description.command_line();
}

pub fn multiboot(bytes: &[u8]) {
    check(nacre_boot::multiboot::read(&Memory(bytes), START));
}

pub fn pvh(bytes: &[u8]) {
    check(nacre_boot::pvh::read(&Memory(bytes), START));
}

impl nacre_machine::acpi::PhysicalBytes for Memory<'_> {
    fn bytes(&self, start: u64, size: u64) -> Option<&[u8]> {
        PhysicalBytes::bytes(self, start, size)
    }
}

/// Tables whose checksum is right, since nothing is read of others.
pub fn acpi(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Some(pointer) = bytes.get_mut(..36) {
        pointer[..8].copy_from_slice(b"RSD PTR ");
        pointer[8] = 0;
        let sum = pointer[..20].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        pointer[8] = sum.wrapping_neg();
    }
    let topology = nacre_machine::acpi::read(&Memory(&bytes), START);
    let (numbers, count) = topology.cpus(3, usize::MAX);
    assert!(count >= 1 && count <= numbers.len() && numbers[0] == 3, "{count} processors");
    assert!(!topology.controllers().is_empty());
    (0..64).for_each(|line| _ = topology.line_mode(line));
}

/// Bytes of the store that images lie in.
const STORE: u64 = 1 << 16;

pub fn boot_image(bytes: &[u8]) {
    let Some(header) = boot_image::header(bytes) else { return };
    // Root takes no image that is said to be larger than it is.
    if header.total_size > STORE {
        return;
    }
    (0..header.segment_count.min(32)).for_each(|number| _ = boot_image::segment(bytes, number));
    // Names are kept where they are for as long as root runs.
    let image: &'static [u8] = bytes.to_vec().leak();
    let mut tree = Tree::new(Fake::new(STORE), Time { seconds: 1, nanoseconds: 0 });
    let refused = tree.add_boot_files(image, &header, 0);
    assert!(tree.len() as u64 - 1 <= header.file_count && refused.count <= header.file_count);
    assert_eq!(refused.text().is_some(), refused.count > 0);
    let mut listed = Vec::new();
    let _ = tree.list(tree.root(), 0, &mut listed, 4096);
}
