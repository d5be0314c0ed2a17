//! Segments, semaphores and messages, without a kernel.

use super::*;

const NOWAIT: u16 = 0o4000;
const UNDO: u16 = 0x1000;

fn keyed() -> Keyed<u8, u32> {
    let mut keyed = Keyed::default();
    keyed.enter(1, 11, 0).unwrap();
    keyed.enter(2, 22, 5 | 6 << 32).unwrap();
    keyed
}

fn by(index: u16, by: i16, flags: u16) -> Operation {
    Operation { index, by, flags }
}

/// Returns the callers that are done, with their results. All answers arrive.
fn settle(keyed: &mut Keyed<u8, u32>, is_gone: impl Fn(&u32) -> bool) -> Vec<(u32, Result<Done, Errno>)> {
    let mut done = Vec::new();
    keyed.settle(is_gone, |token, doing, result| {
        let shown = match result {
            Ok(Done::Received(kind, data)) => Ok(Done::Received(*kind, data[..data.len().min(doing.room())].to_vec())),
            Ok(Done::Done) => Ok(Done::Done),
            Err(errno) => Err(*errno),
        };
        done.push((token, shown));
        true
    });
    done
}

fn operate(keyed: &mut Keyed<u8, u32>, member: u64, number: u64, operations: &[Operation]) -> Result<Option<Done>, Errno> {
    keyed.attempt(member, number, &KeyedRequest::Operate(operations.to_vec()))
}

#[test]
fn keys_lead_to_one_thing_of_each_kind() {
    let mut keyed = keyed();
    assert_eq!(keyed.get(1, KEYED_MEMORY, 7, 100, 0, None), Err(Errno::ENOENT));
    assert_eq!(keyed.get(1, KEYED_MEMORY, 7, 100, IPC_CREAT, None), Err(Errno::ENOENT), "no memory");
    let number = keyed.get(1, KEYED_MEMORY, 7, 100, IPC_CREAT | 0o640, Some(9)).unwrap();
    assert_eq!(keyed.get(2, KEYED_MEMORY, 7, 50, 0, None), Ok(number));
    assert_eq!(keyed.get(2, KEYED_MEMORY, 7, 101, 0, None), Err(Errno::EINVAL));
    assert_eq!(keyed.get(2, KEYED_MEMORY, 7, 50, IPC_CREAT | IPC_EXCL, Some(8)), Err(Errno::EEXIST));
    assert_ne!(keyed.get(2, KEYED_MEMORY, 0, 50, 0, Some(8)), Ok(number));
    assert!(keyed.get(2, KEYED_MESSAGES, 7, 0, IPC_CREAT, None).is_ok());
    assert_eq!(keyed.get(2, 9, 8, 0, IPC_CREAT, None), Err(Errno::EINVAL));
    assert_eq!(keyed.get(3, KEYED_MESSAGES, 7, 0, 0, None), Err(Errno::EINVAL), "nobody");
}

#[test]
fn memory_stays_until_nobody_has_it() {
    let mut keyed = keyed();
    let number = keyed.get(1, KEYED_MEMORY, 7, 100, IPC_CREAT, Some(9)).unwrap();
    assert_eq!(keyed.attach(1, number), Ok((&9, 100)));
    keyed.attach(2, number).unwrap();
    keyed.remove(KEYED_MEMORY, number).unwrap();
    assert_eq!(keyed.get(1, KEYED_MEMORY, 7, 1, 0, None), Err(Errno::ENOENT));
    assert_eq!(keyed.state(KEYED_MEMORY, number).unwrap()[13], 2);
    keyed.detach(1, number).unwrap();
    assert_eq!(keyed.detach(1, number), Err(Errno::EINVAL));
    keyed.leave(2);
    assert_eq!(keyed.state(KEYED_MEMORY, number), Err(Errno::EINVAL));
    assert_eq!(keyed.attached, 0);
}

#[test]
fn operations_are_done_all_or_none_and_undone_at_the_end() {
    let mut keyed = keyed();
    let number = keyed.get(1, KEYED_SEMAPHORES, 0, 2, 0o600, None).unwrap();
    keyed.set_values(1, number, 0, &[1, 0]).unwrap();
    assert_eq!(operate(&mut keyed, 1, number, &[by(0, -1, 0), by(1, -1, NOWAIT)]), Err(Errno::EAGAIN));
    assert_eq!(operate(&mut keyed, 1, number, &[by(2, 1, 0)]), Err(Errno::EFBIG));
    assert_eq!(keyed.values(number, 0, 9), Ok([1, 0].to_vec()));
    assert_eq!(operate(&mut keyed, 1, number, &[by(1, 0, 0), by(0, -1, UNDO)]), Ok(Some(Done::Done)));
    assert_eq!(operate(&mut keyed, 2, number, &[by(0, -1, 0)]), Ok(None));
    keyed.wait(2, number, KeyedRequest::Operate([by(0, -1, 0)].to_vec()), 5).unwrap();
    assert_eq!(keyed.semaphore(number, 0), Ok([0, 11, 1, 0]));
    assert!(settle(&mut keyed, |_| false).is_empty());
    keyed.leave(1);
    assert_eq!(settle(&mut keyed, |_| false), [(5, Ok(Done::Done))]);
    assert_eq!(keyed.semaphore(number, 0), Ok([0, 22, 0, 0]));
    assert_eq!(operate(&mut keyed, 2, number, &[by(0, 32_767, 0), by(0, 1, 0)]), Err(Errno::ERANGE));
    assert_eq!(keyed.set_values(2, number, 1, &[1, 1]), Err(Errno::EINVAL));
    keyed.wait(2, number, KeyedRequest::Operate([by(0, -1, 0)].to_vec()), 6).unwrap();
    assert_eq!(keyed.remove(KEYED_SEMAPHORES, number), Ok([6].to_vec()));
    assert_eq!((keyed.undone, keyed.semaphores), (0, 0));
}

#[test]
fn messages_are_chosen_by_their_kinds() {
    let mut keyed = keyed();
    let number = keyed.get(1, KEYED_MESSAGES, 0, 0, 0o600, None).unwrap();
    for (kind, text) in [(3, "three"), (1, "one"), (2, "two"), (1, "again")] {
        assert_eq!(keyed.attempt(1, number, &KeyedRequest::Send(kind, text.as_bytes().to_vec())), Ok(Some(Done::Done)));
    }
    let mut take = |size, kind, flags| keyed.attempt(2, number, &KeyedRequest::Receive(size, kind, flags));
    assert_eq!(take(2, 1, 0), Err(Errno::E2BIG));
    assert_eq!(take(9, 1, nacre_proto::flags::MSG_EXCEPT), Ok(Some(Done::Received(3, b"three".to_vec()))));
    assert_eq!(take(9, -2, 0), Ok(Some(Done::Received(1, b"one".to_vec()))));
    assert_eq!(take(1, 0, nacre_proto::flags::MSG_NOERROR), Ok(Some(Done::Received(2, b"two".to_vec()))));
    assert_eq!(take(9, 4, 0), Ok(None));
    assert_eq!(take(9, 0, 0), Ok(Some(Done::Received(1, b"again".to_vec()))));
    assert_eq!(keyed.attempt(1, number, &KeyedRequest::Send(0, Vec::new())), Err(Errno::EINVAL));
    assert_eq!(keyed.bytes, 0);
    keyed.wait(2, number, KeyedRequest::Receive(9, 0, 0), 5).unwrap();
    keyed.wait(2, number, KeyedRequest::Receive(9, 0, 0), 6).unwrap();
    keyed.attempt(1, number, &KeyedRequest::Send(7, b"x".to_vec())).unwrap();
    assert_eq!(settle(&mut keyed, |token| *token == 5), [(6, Ok(Done::Received(7, b"x".to_vec())))]);
}

#[test]
fn who_is_cut_off_while_he_is_answered_has_taken_and_given_nothing() {
    let mut keyed = keyed();
    let set = keyed.get(1, KEYED_SEMAPHORES, 0, 2, 0o600, None).unwrap();
    keyed.wait(1, set, KeyedRequest::Operate([by(0, -1, UNDO), by(1, 3, 0)].to_vec()), 5).unwrap();
    keyed.wait(2, set, KeyedRequest::Operate([by(0, -1, 0)].to_vec()), 6).unwrap();
    keyed.set_values(2, set, 0, &[1]).unwrap();
    let mut told = Vec::new();
    let mut answer = |token, _: &KeyedRequest, _: &Result<Done, Errno>| {
        told.push(token);
        token != 5
    };
    keyed.settle(|_| false, &mut answer);
    assert_eq!((keyed.values(set, 0, 9), keyed.waiters.len()), (Ok([0, 0].to_vec()), 0));
    keyed.leave(1);
    assert_eq!(keyed.values(set, 0, 9), Ok([0, 0].to_vec()), "nothing is to be undone");
    let queue = keyed.get(2, KEYED_MESSAGES, 0, 0, 0o600, None).unwrap();
    let send = |keyed: &mut Keyed<u8, u32>, kind, text: &[u8]| keyed.attempt(2, queue, &KeyedRequest::Send(kind, text.to_vec())).unwrap();
    keyed.wait(2, queue, KeyedRequest::Receive(1, 2, nacre_proto::flags::MSG_NOERROR), 5).unwrap();
    send(&mut keyed, 1, b"first");
    send(&mut keyed, 2, b"second");
    keyed.settle(|_| false, &mut answer);
    let mut take = || keyed.attempt(2, queue, &KeyedRequest::Receive(9, 0, 0)).unwrap();
    assert_eq!((take(), take(), take()), (Some(Done::Received(1, b"first".to_vec())), Some(Done::Received(2, b"second".to_vec())), None));
    for _ in 0..2 {
        send(&mut keyed, 3, &[0; 8192]);
    }
    keyed.wait(2, queue, KeyedRequest::Send(3, b"more".to_vec()), 5).unwrap();
    keyed.attempt(2, queue, &KeyedRequest::Receive(8192, 0, 0)).unwrap();
    keyed.settle(|_| false, &mut answer);
    assert_eq!((keyed.bytes, told), (8192 + messages::OVERHEAD, [5, 6, 5, 5].to_vec()));
}

#[test]
fn nobody_takes_more_semaphores_and_messages_than_he_leaves() {
    let mut keyed = keyed();
    let sets = |keyed: &mut Keyed<u8, u32>, member| (0..MOST).take_while(|_| keyed.get(member, KEYED_SEMAPHORES, 0, 1000, 0, None).is_ok()).count();
    assert_eq!((sets(&mut keyed, 1), sets(&mut keyed, 2)), (32, 16));
    // Messages without bytes take memory, too.
    let fill = |keyed: &mut Keyed<u8, u32>, member, size: usize| {
        let mut sent = 0;
        while let Ok(queue) = keyed.get(member, KEYED_MESSAGES, 0, 0, 0o600, None) {
            keyed.change(KEYED_MESSAGES, queue, 0, 0o600, 1 << 20).unwrap();
            let full = loop {
                match keyed.attempt(member, queue, &KeyedRequest::Send(1, alloc::vec![0; size])) {
                    Ok(Some(_)) => sent += size + messages::OVERHEAD,
                    full => break full,
                }
            };
            if full.is_err() {
                break;
            }
        }
        sent
    };
    let (first, second) = (fill(&mut keyed, 1, 0), fill(&mut keyed, 2, 8192));
    assert!(first <= MAX_BYTES / 2 && first > MAX_BYTES / 2 - 9000, "{first}");
    assert!(second > MAX_BYTES / 5, "{second}");
}

#[test]
fn what_is_to_be_undone_is_shared_and_can_be_given_back_at_the_limit() {
    let mut keyed = keyed();
    let set = keyed.get(1, KEYED_SEMAPHORES, 0, 20_000, 0, None).unwrap();
    let taken = (0..).take_while(|index| operate(&mut keyed, 1, set, &[by(*index, 1, UNDO)]).is_ok()).count();
    assert_eq!(taken, MAX_UNDONE / 2);
    assert!(operate(&mut keyed, 2, set, &[by(0, 1, UNDO)]).is_ok());
    assert_eq!(operate(&mut keyed, 1, set, &[by(0, -1, UNDO)]), Ok(Some(Done::Done)));
}

#[test]
fn random_calls_never_break_the_books() {
    let mut keyed = Keyed::<u8, u32>::default();
    let mut random = 3u64;
    for step in 0..20_000u32 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let part = |shift: u32, below: u64| (random >> shift) % below;
        let (member, number, kind) = (1 + part(33, 4), part(36, 12), part(40, 4));
        let operations = [by(part(42, 3) as u16, part(44, 5) as i16 - 2, if part(47, 2) == 0 { UNDO } else { 0 })];
        match part(50, 12) {
            0 => drop(keyed.enter(member, member, random)),
            1 => keyed.leave(member),
            2 => drop(keyed.get(member, kind, part(47, 3), part(43, 4), IPC_CREAT, Some(1))),
            3 => drop(keyed.attach(member, number)),
            4 => drop(keyed.detach(member, number)),
            5 => drop(keyed.remove(kind, number)),
            6 => drop(keyed.wait(member, number, KeyedRequest::Operate(operations.to_vec()), step)),
            7 => drop(keyed.set_values(member, number, part(43, 3), &[part(44, 9) as u16])),
            8 => drop(keyed.attempt(member, number, &KeyedRequest::Send(part(44, 3), alloc::vec![0; part(46, 9000) as usize]))),
            9 => drop(keyed.attempt(member, number, &KeyedRequest::Receive(9000, part(44, 5) as i64 - 2, 0))),
            _ => drop(operate(&mut keyed, member, number, &operations)),
        }
        keyed.settle(|_| part(55, 8) == 0, |_, _, _| part(58, 3) != 0);
        let attached: u64 = keyed.members.values().flat_map(|member| member.attached.values()).sum();
        let undone: usize = keyed.members.values().map(|member| member.undone.len()).sum();
        assert_eq!((keyed.attached as u64, keyed.undone), (attached, undone));
        let bodies = || keyed.entries.values().map(|entry| &entry.body);
        let bytes: usize = bodies().map(|body| if let Body::Messages(queue) = body { queue.load() } else { 0 }).sum();
        let semaphores: usize = bodies().map(|body| if let Body::Semaphores(set) = body { set.len() } else { 0 }).sum();
        assert_eq!((keyed.bytes, keyed.semaphores), (bytes, semaphores));
    }
}
