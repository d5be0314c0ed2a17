//! Stores with images, as anybody may have written them.

use crate::bytes::Bytes;
use nacre_snapshot::image::{Fault, Reader};
use nacre_snapshot::store::{Memory, Store, Stored, sealed};

const PAGE: usize = 4096;
/// Pages of a store, at most.
const PAGES: usize = 24;

#[derive(Clone)]
struct Seen(Vec<u8>);

impl Memory for Seen {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        let end = at.checked_add(into.len() as u64)?;
        into.copy_from_slice(self.0.get(at as usize..end as usize)?);
        Some(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Option<()> {
        let end = at.checked_add(bytes.len() as u64)?;
        self.0.get_mut(at as usize..end as usize)?.copy_from_slice(bytes);
        Some(())
    }
}

/// Reads the newest image, as a thaw does.
fn read(store: &Store<Seen>) -> Result<Stored, Fault> {
    let stored = store.newest()?;
    let size = store.memory().size();
    assert!(stored.stream_start() + stored.stream <= size);
    assert!(store.filled(&stored, (0, u64::MAX)).iter().all(|page| page + PAGE as u64 <= stored.data));
    let mut at = stored.stream_start();
    let source = |into: &mut [u8]| {
        store.memory().read(at, into).ok_or(Fault::Truncated)?;
        at += into.len() as u64;
        Ok(())
    };
    let mut reader = Reader::new(source)?;
    reader.read_raw();
    while reader.pages()?.is_some() {}
    Ok(stored)
}

/// Writes an image whose pages hold one byte.
fn write(store: &mut Store<Seen>, half: u64, bytes: &mut Bytes<'_>) -> Result<(Stored, Vec<u64>, u8), Fault> {
    let data = bytes.below(PAGES) as u64;
    let offsets: Vec<u64> = (0..data).filter(|_| bytes.byte() % 2 == 0).map(|page| page * PAGE as u64).collect();
    let filler = bytes.byte() | 1;
    let mut writing = store.begin(half, data * PAGE as u64, &offsets)?;
    for offset in &offsets {
        store.page(&writing, *offset, &[filler; PAGE])?;
    }
    for _ in 0..bytes.below(4) {
        store.stream(&mut writing, &vec![filler; bytes.below(3000)])?;
    }
    Ok((store.end(&writing, [filler; 32])?, offsets, filler))
}

/// Opens a store whose heads are any numbers with the right hash, or any bytes, reads it, and
/// writes into it: what was written is found, with zeros between its pages, and the other half is
/// as it was.
pub fn stores(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let size = PAGE * (3 + bytes.below(PAGES)) + bytes.below(2) * bytes.below(PAGE);
    let filler = bytes.byte();
    let mut seen = Seen(vec![filler; size]);
    seen.0[..PAGE].fill(0);
    let Ok(mut store) = Store::prepare(seen) else { return };
    for half in [0, 1] {
        let _ = write(&mut store, half, &mut bytes);
    }
    let mut seen = store.memory().clone();
    let half = (size - PAGE) / 2 / PAGE * PAGE;
    for start in [0, PAGE, PAGE + half] {
        for _ in 0..bytes.below(4) {
            let (at, word) = (start + 8 * bytes.below(12), bytes.word());
            seen.write(at as u64, &word.to_le_bytes()).expect("a head");
        }
        if start > 0 && bytes.byte() % 4 > 0 {
            let numbers = seen.0[start..start + 64].to_vec();
            seen.write(start as u64, &sealed(&numbers)).expect("a head");
        }
    }
    let Ok(mut store) = Store::open(seen) else { return };
    let _ = read(&store);
    let number = bytes.below(2) as u64;
    let before = store.stored(1 - number);
    if let Ok((stored, offsets, filler)) = write(&mut store, number, &mut bytes) {
        assert_eq!((store.stored(number), store.stored(1 - number)), (Some(stored), before));
        let mut page = [0; PAGE];
        for offset in (0..stored.data).step_by(PAGE) {
            store.memory().read(stored.start + offset, &mut page).expect("data");
            let wanted = if offsets.contains(&offset) { filler } else { 0 };
            // Bits of the map are the attacker's; what it wrote is found in any case.
            assert!(page == [wanted; PAGE] || wanted == 0);
        }
    }
}
