//! Programs that the nesting library loads, and what it tells them and hears of them.

use crate::bytes::Bytes;
use nacre_abi::fault;
use nacre_nest::elf::{Source, decode};
use nacre_nest::host::{Exception, thread_state};
use nacre_abi::environment::{FOREIGN_LIBRARY, OBJECTS};
use nacre_nest::library::{ENTRIES_MAGIC, ENTRY_WORDS, Entries};
use nacre_nest::plan::{Heritage, Sizes, plan};
use nacre_nest::{SpawnError, search, stack};
use std::ops::Range;

/// Range in which programs may lie.
const RANGE: Range<u64> = 0x1000..0x7000_0000_0000;
const BIAS: u64 = 0x1_0000_0000;

struct File<'a>(&'a [u8]);

impl Source for File<'_> {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SpawnError> {
        let start = offset as usize;
        into.copy_from_slice(&self.0[start..start + into.len()]);
        Ok(())
    }
}

pub fn elf(bytes: &[u8]) {
    let image = match decode(&mut File(bytes), RANGE, BIAS) {
        Ok(image) => image,
        Err(refusal) => return drop((refusal.to_string(), refusal.exit_status())),
    };
    let mut end = RANGE.start;
    for segment in &image.segments {
        assert!(segment.offset + segment.file_size <= bytes.len() as u64 && segment.file_size <= segment.memory_size);
        assert!(segment.pages().start >= end & !0xfff && segment.pages().end <= RANGE.end, "segments overlap or lie outside");
        end = segment.pages().end;
    }
    for shares in [false, true] {
        let Ok(plan) = plan(&[(&image, shares), (&image, shares)], Sizes::default(), &Heritage::default(), shares) else { continue };
        for copy in &plan.copies {
            assert!(copy.to + copy.size <= plan.size && copy.offset + copy.size <= bytes.len() as u64);
        }
    }
}

pub fn stack(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let texts: Vec<&[u8]> = (0..bytes.below(12)).map(|_| bytes.some()).collect();
    let (arguments, environment) = texts.split_at(texts.len() / 2);
    let auxiliary = [(bytes.word(), bytes.word())];
    let windows: Vec<[u64; 5]> = (0..bytes.below(4)).map(|_| std::array::from_fn(|_| bytes.word())).collect();
    let contents = stack::Contents { arguments, environment, path: bytes.some(), directory: bytes.some(), auxiliary: &auxiliary, windows: &windows, random: [7; 16] };
    let limit = bytes.word().min(1 << 16) as usize;
    if let Ok(laid) = stack::compose(0x7f00_0010_0000, limit, &contents) {
        assert!(laid.len() <= limit && laid.len() % 16 == 0, "the stack is {} bytes of {limit}", laid.len());
    }
    search::candidates(bytes.some(), environment);
}

pub fn state(bytes: &[u8]) {
    let mut halves = [0; ENTRY_WORDS];
    halves.iter_mut().zip(bytes.as_chunks::<4>().0).for_each(|(half, bytes)| *half = u32::from_le_bytes(*bytes));
    let mut marked = halves;
    (marked[0], marked[ENTRY_WORDS - 1]) = (ENTRIES_MAGIC, 0);
    for words in [halves, marked] {
        let found = Entries::from_words(FOREIGN_LIBRARY + 0x1000, words);
        let places = |entries: Entries| [entries.leave, entries.gate[0], entries.stopping, entries.changes[0], entries.changing, entries.landing];
        assert!(found.is_none_or(|entries| places(entries).iter().all(|place| (FOREIGN_LIBRARY..OBJECTS).contains(place))), "an entry lies outside of the library");
    }
    let exception = Exception::from_words(Bytes(bytes).words());
    assert!(exception.exit_status() > 256 && !exception.to_string().is_empty());
    let known = [fault::KIND_OPCODE, fault::KIND_PROTECTION, fault::KIND_MEMORY, fault::KIND_CALL_MEMORY];
    assert!(!known.contains(&exception.kind) || !exception.to_string().contains("an exception"));
    if let Some(state) = thread_state(bytes) {
        let words: Vec<u8> = state.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(words, bytes[..words.len()], "a thread's state changes on its way");
    }
}
