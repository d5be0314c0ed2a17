//! Contents over a store on the host.

use super::*;
use crate::store::fake::Fake;

fn punch(content: &mut Content, store: &mut Fake, start: u64, end: u64) {
    core::iter::successors(Some(start), |start| content.punch(store, *start, end).unwrap()).for_each(drop);
}

/// Runs are sorted, and what they hold is counted.
fn check(content: &Content) {
    let end = content.size.next_multiple_of(FRAME);
    let counted: u64 = content.runs.iter().map(|run| run.end().min(end).saturating_sub(run.offset) / 512).sum();
    assert_eq!((content.blocks(), content.held), (counted, content.runs.iter().map(|run| run.size).sum()));
    assert!(content.runs.windows(2).all(|two| two[0].end() <= two[1].offset));
}

#[test]
fn a_file_of_many_runs_is_cut_off_in_pieces() {
    let mut store = Fake::new(100 * FRAME);
    let mut content = Content::default();
    for number in 0..20 {
        content.write(&mut store, 2 * number * FRAME, b"x").unwrap();
    }
    let (most, mut pieces, mut free) = (store.at_once(), 0, store.free_bytes());
    while !content.set_size_piece(&mut store, 5).unwrap() {
        assert!(store.free_bytes() - free <= most as u64 * FRAME && content.size() > 5);
        (pieces, free) = (pieces + 1, store.free_bytes());
    }
    assert_eq!((pieces, content.size(), store.free_bytes()), (19 / most - usize::from(19 % most == 0), 5, 99 * FRAME));
    content.release(&mut store);
    assert_eq!(store.free_bytes(), 100 * FRAME);
}

#[test]
fn a_boot_file_is_copied_at_its_first_change() {
    let mut store = Fake::new(64 * FRAME);
    let start = store.allocate(2 * FRAME).unwrap();
    store.write(start, &[b'x'; 2 * FRAME as usize]);
    let mut content = Content::boot(start, 5000);
    assert_eq!(content.contiguous(FRAME, FRAME), Some(start + FRAME));
    assert_eq!(content.write(&mut store, 4999, b"yz"), Ok(2));
    let mut image = [0; 2 * FRAME as usize];
    assert_eq!(store.span(start, 2 * FRAME).copy_to(&mut image), image.len());
    assert_eq!(image, [b'x'; 2 * FRAME as usize]);
    let mut bytes = [0; 10];
    assert_eq!(content.read(&store, 4997, &mut bytes), 4);
    assert_eq!(&bytes[..4], b"xxyz");
    content.set_size(&mut store, 5004).unwrap();
    assert_eq!(content.read(&store, 4998, &mut bytes), 6);
    assert_eq!(&bytes[..6], b"xyz\0\0\0");
    assert_eq!(content.blocks(), 16);
}

#[test]
fn a_fixed_content_stays_what_and_where_it_is() {
    let mut store = Fake::new(64 * FRAME);
    let start = store.allocate(4 * FRAME).unwrap();
    let free = store.free_bytes();
    let mut content = Content::fixed(start, 4 * FRAME);
    assert_eq!(content.write(&mut store, 4 * FRAME - 2, b"xyz"), Ok(2));
    assert_eq!(content.write(&mut store, 4 * FRAME, b"z"), Err(Errno::ENOSPC));
    assert_eq!((content.set_size(&mut store, 0), content.set_size(&mut store, 4 * FRAME)), (Err(Errno::EINVAL), Ok(())));
    assert_eq!(content.set_size_piece(&mut store, 5 * FRAME), Err(Errno::EINVAL));
    content.write(&mut store, 0, &[7; 3 * FRAME as usize]).unwrap();
    punch(&mut content, &mut store, 5, 3 * FRAME);
    let mut bytes = [9; 6];
    assert_eq!(content.read(&store, 0, &mut bytes), 6);
    assert_eq!((bytes, content.page(&mut store, FRAME, true)), ([7, 7, 7, 7, 7, 0], Some((0, start, 4 * FRAME))));
    assert_eq!((content.size(), content.blocks(), store.free_bytes()), (4 * FRAME, 32, free));
    content.release(&mut store);
    assert_eq!(store.free_bytes(), free);
}

#[test]
fn holes_take_no_memory_and_read_as_zeros() {
    let mut store = Fake::new(64 * FRAME);
    let mut content = Content::default();
    content.set_size(&mut store, 1 << 40).unwrap();
    content.write(&mut store, (1 << 40) - 3, b"end").unwrap();
    content.write(&mut store, 10 * FRAME + 1, b"middle").unwrap();
    assert_eq!(content.blocks(), 16);
    let mut bytes = [9; 9];
    assert_eq!(content.read(&store, 10 * FRAME, &mut bytes), 9);
    assert_eq!(&bytes, b"\0middle\0\0");
    assert_eq!(content.write(&mut store, MAX_SIZE, b"x"), Err(Errno::EFBIG));
    content.release(&mut store);
    assert_eq!(store.free_bytes(), 64 * FRAME);
}

#[test]
fn a_full_store_cuts_a_write_short() {
    let mut store = Fake::new(4 * FRAME);
    let mut content = Content::default();
    assert_eq!(content.write(&mut store, 0, &[1; 20_000]), Ok(16_384));
    assert_eq!(content.write(&mut store, 16_384, b"x"), Err(Errno::ENOSPC));
    content.set_size(&mut store, 1).unwrap();
    content.set_size(&mut store, 100).unwrap();
    let mut bytes = [9; 100];
    assert_eq!(content.read(&store, 0, &mut bytes), 100);
    assert_eq!((bytes[0], bytes[1], bytes[99]), (1, 0, 0));
}

#[test]
fn what_is_shared_shows_nothing_behind_the_end() {
    let mut store = Fake::new(64 * FRAME);
    let mut content = Content::default();
    content.set_size(&mut store, 3 * FRAME - 100).unwrap();
    assert_eq!(content.page(&mut store, 3 * FRAME, true), None);
    let (offset, start, size) = content.page(&mut store, 2 * FRAME + 1, true).unwrap();
    assert_eq!((offset, size), (2 * FRAME, FRAME));
    // Somebody writes there, before and behind the end.
    store.write(start + FRAME - 200, &[7; 200]);
    content.set_size(&mut store, 4 * FRAME).unwrap();
    let mut bytes = [9; 200];
    assert_eq!(content.read(&store, 3 * FRAME - 200, &mut bytes), 200);
    assert_eq!((bytes[0], bytes[99], bytes[100], bytes[199]), (7, 7, 0, 0));
    content.page(&mut store, 3 * FRAME, true).unwrap();
    content.set_size(&mut store, 3 * FRAME - 50).unwrap();
    store.write(start + FRAME - 50, &[8; 50]);
    content.write(&mut store, 3 * FRAME - 10, b"x").unwrap();
    assert_eq!(content.read(&store, 3 * FRAME - 60, &mut bytes), 51);
    assert_eq!((bytes[9], bytes[10], bytes[49], bytes[50]), (0, 0, 0, b'x'));
    content.release(&mut store);
    assert_eq!(store.free_bytes(), 64 * FRAME);
}

#[test]
fn pages_that_are_cut_off_are_hidden() {
    let mut store = Fake::new(64 * FRAME);
    let mut content = Content::default();
    content.write(&mut store, 0, &[1; 4 * FRAME as usize]).unwrap();
    let (_, start, size) = content.page(&mut store, 0, true).unwrap();
    assert_eq!(size, 4 * FRAME);
    content.set_size(&mut store, FRAME + 1).unwrap();
    assert_eq!(store.hidden, Some((start + 2 * FRAME, 2 * FRAME)));
    assert_eq!(content.page(&mut store, 2 * FRAME, true), None);
}

#[test]
fn a_hole_is_found_and_its_memory_is_back() {
    let mut store = Fake::new(64 * FRAME);
    let mut content = Content::default();
    content.write(&mut store, 0, &[1; 8 * FRAME as usize]).unwrap();
    let free = store.free_bytes();
    punch(&mut content, &mut store, FRAME + 10, 4 * FRAME + 10);
    assert_eq!(store.free_bytes(), free + 2 * FRAME);
    assert_eq!((content.find_next(0, false), content.find_next(2 * FRAME, true)), (Some(2 * FRAME), Some(4 * FRAME)));
    assert_eq!((content.find_next(5 * FRAME, false), content.find_next(8 * FRAME, true)), (Some(8 * FRAME), None));
    let mut bytes = [9; 20];
    content.read(&store, FRAME, &mut bytes);
    assert_eq!((bytes[9], bytes[10]), (1, 0));
    content.read(&store, 4 * FRAME, &mut bytes);
    assert_eq!((bytes[9], bytes[10]), (0, 1));
    punch(&mut content, &mut store, 7 * FRAME + 5, 1 << 40);
    assert_eq!(content.size(), 8 * FRAME);
    content.release(&mut store);
    assert_eq!(store.free_bytes(), 64 * FRAME);
}

#[test]
fn random_changes_agree_with_a_vector() {
    let mut store = Fake::new(2000 * FRAME);
    let mut content = Content::default();
    let mut model = alloc::vec::Vec::<u8>::new();
    let mut random = 99u64;
    let mut next = |limit: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % limit
    };
    for step in 0..3000 {
        let at = next(200_000) as usize;
        match next(6) {
            0 => {
                while !content.set_size_piece(&mut store, at as u64).unwrap() {}
                model.resize(at, 0);
            }
            2 => {
                let end = at + next(9000) as usize;
                punch(&mut content, &mut store, at as u64, end as u64);
                let (start, end) = (at.min(model.len()), end.min(model.len()));
                model[start..end].fill(0);
            }
            3 => {
                // Somebody writes through shared memory; behind the end it is lost.
                let Some((offset, start, size)) = content.page(&mut store, at as u64, true) else { continue };
                store.write(start, &alloc::vec![step as u8; size as usize]);
                let end = model.len().min((offset + size) as usize);
                model[offset as usize..end].fill(step as u8);
            }
            1 => {
                let mut bytes = alloc::vec![0; next(9000) as usize];
                let count = content.read(&store, at as u64, &mut bytes);
                let expected = model.get(at..).map_or(&[][..], |rest| &rest[..rest.len().min(bytes.len())]);
                assert_eq!(&bytes[..count], expected, "step {step}");
            }
            _ => {
                let bytes = alloc::vec![step as u8; next(9000) as usize + 1];
                assert_eq!(content.write(&mut store, at as u64, &bytes), Ok(bytes.len()));
                model.resize(model.len().max(at + bytes.len()), 0);
                model[at..at + bytes.len()].copy_from_slice(&bytes);
            }
        }
        assert_eq!(content.size(), model.len() as u64);
        check(&content);
    }
    content.release(&mut store);
    assert_eq!(store.free_bytes(), 2000 * FRAME);
}

#[test]
fn room_that_is_taken_reads_as_zeros_and_is_there() {
    let mut store = Fake::new(64 * FRAME);
    let mut content = Content::default();
    content.write(&mut store, 2 * FRAME, &[1; 10]).unwrap();
    assert_eq!(content.missing(&(0..8 * FRAME + 1)), 8 * FRAME);
    content.allocate(&mut store, 10..8 * FRAME + 1).unwrap();
    assert_eq!((content.missing(&(0..9 * FRAME)), content.size()), (0, 2 * FRAME + 10));
    assert_eq!(content.blocks(), 9 * FRAME / 512);
    content.set_size(&mut store, 6 * FRAME).unwrap();
    let mut bytes = [9; 12];
    assert_eq!(content.read(&store, 2 * FRAME, &mut bytes), 12);
    assert_eq!((bytes[9], bytes[10]), (1, 0));
    let free = store.free_bytes();
    content.write(&mut store, 0, &[2; 9 * FRAME as usize]).unwrap();
    assert_eq!(store.free_bytes(), free);
    // What finds no room keeps none behind the end, and all that was there.
    assert_eq!(content.allocate(&mut store, 0..100 * FRAME), Err(Errno::ENOSPC));
    assert_eq!((store.free_bytes(), content.size()), (free, 9 * FRAME));
    content.set_size(&mut store, FRAME).unwrap();
    assert_eq!(content.blocks(), FRAME / 512);
    content.release(&mut store);
    assert_eq!(store.free_bytes(), 64 * FRAME);
}
