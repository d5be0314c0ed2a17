//! Queues of messages: who gets what, who is told, and what holds whatever is asked.

use super::mailboxes::{Caller, OpenRequest};
use super::*;
use crate::mailbox::{Notifier, NotifyTarget, QueueOptions, Mail, PIECE};
use alloc::vec;
use nacre_proto::flags::{O_CREAT, O_EXCL, O_RDWR, POLLIN, POLLOUT};
use nacre_proto::mailbox::{ANY, PRIVILEGED};

/// Carries answers to numbers, some of which have gone.
#[derive(Default)]
struct Post {
    gone: BTreeSet<u32>,
    sent: Vec<u32>,
    given: Vec<(u32, u32, Vec<u8>, usize)>,
    told: Vec<(u32, u64)>,
}

impl Notifier<u32> for Post {
    fn sent(&mut self, to: u32) -> bool {
        self.sent.push(to);
        !self.gone.contains(&to)
    }

    fn given(&mut self, to: u32, priority: u32, piece: &[u8], total: usize) -> bool {
        self.given.push((to, priority, piece.to_vec(), total));
        !self.gone.contains(&to)
    }

    fn is_gone(&self, waiting: &u32) -> bool {
        self.gone.contains(waiting)
    }

    fn tell(&mut self, port: &u32, bits: u64) {
        self.told.push((*port, bits));
    }
}

fn open(hub: &mut Hub<u32>, flags: u64, [messages, size]: [u64; 2]) -> Result<u64, Errno> {
    let made = QueueOptions { owner: [7, 8], mode: 0o600, messages, size };
    hub.mailbox_open(&OpenRequest { flags, made, limit: 1 << 20, name: b"name" }).map(|(end, _)| end)
}

/// Sends a message; returns false if the sender waits.
fn send(hub: &mut Hub<u32>, post: &mut Post, (end, token, rank): (u64, u32, u64), priority: u64, data: &[u8]) -> Result<bool, Errno> {
    let has_room = hub.mailbox_can_send(end, (token.into(), false), priority, data.len(), post)?;
    let mail = Mail { priority: priority as u32, data: data.to_vec(), by: [token.into(), 5] };
    let sent = hub.mailbox_send(Caller { end, thread: token.into(), rank, token }, false, mail, post);
    sent.map_err(|(_, errno)| errno).map(|()| has_room)
}

fn receive(hub: &mut Hub<u32>, post: &mut Post, (end, token, rank): (u64, u32, u64), room: u64) -> Result<bool, Errno> {
    let has_some = hub.mailbox_can_receive(end, token.into(), room, post)?;
    let received = hub.mailbox_receive(Caller { end, thread: token.into(), rank, token }, post);
    received.map_err(|(_, errno)| errno).map(|()| has_some)
}

fn next(hub: &mut Hub<u32>, post: &mut Post, end: u64) -> Option<(u32, Vec<u8>)> {
    if hub.mailbox_facts(end).unwrap().count == 0 {
        return None;
    }
    receive(hub, post, (end, 99, 0), ANY).unwrap();
    post.given.pop().map(|(_, priority, data, _)| (priority, data))
}

#[test]
fn higher_priorities_come_first_and_then_the_oldest() {
    let (mut hub, mut post) = (Hub::default(), Post::default());
    let end = open(&mut hub, O_CREAT | BOTH, [4, 9]).unwrap();
    assert_eq!(hub.events(end).unwrap() & (POLLIN | POLLOUT), POLLOUT);
    for (priority, text) in [(1, b"a"), (9, b"b"), (9, b"c"), (0, b"d")] {
        assert_eq!(send(&mut hub, &mut post, (end, 1, 0), priority, text), Ok(true));
    }
    assert_eq!(hub.events(end).unwrap() & (POLLIN | POLLOUT), POLLIN);
    assert_eq!(send(&mut hub, &mut post, (end, 1, 0), 32_768, b""), Err(Errno::EINVAL));
    assert_eq!(send(&mut hub, &mut post, (end, 1, 0), 0, b"0123456789"), Err(Errno::EMSGSIZE));
    assert_eq!(receive(&mut hub, &mut post, (end, 1, 0), 8), Err(Errno::EMSGSIZE));
    let all: Vec<_> = core::iter::from_fn(|| next(&mut hub, &mut post, end)).map(|(_, data)| data[0]).collect();
    assert_eq!(all, b"bcad");
    let reader = open(&mut hub, O_RDONLY, [ANY; 2]).unwrap();
    let writer = open(&mut hub, O_WRONLY, [ANY; 2]).unwrap();
    assert_eq!(send(&mut hub, &mut post, (reader, 1, 0), 0, b""), Err(Errno::EBADF));
    assert_eq!(receive(&mut hub, &mut post, (writer, 1, 0), 9), Err(Errno::EBADF));
}

#[test]
fn names_and_sizes_are_as_they_must_be() {
    let mut hub: Hub<u32> = Hub::default();
    assert_eq!(open(&mut hub, O_RDONLY, [1, 1]), Err(Errno::ENOENT));
    for wrong in [[0, 1], [1, 0], [11, 1], [1, 8193], [u64::MAX - 1, 1]] {
        assert_eq!(open(&mut hub, O_CREAT, wrong), Err(Errno::EINVAL), "{wrong:?}");
    }
    assert_eq!(open(&mut hub, O_CREAT | PRIVILEGED, [65_537, 1]), Err(Errno::EINVAL));
    assert_eq!(open(&mut hub, O_CREAT | PRIVILEGED, [100, 10_390]), Err(Errno::EMFILE));
    let end = open(&mut hub, O_CREAT | PRIVILEGED, [100, 10_389]).unwrap();
    assert_eq!(open(&mut hub, O_CREAT | O_EXCL, [1, 1]), Err(Errno::EEXIST));
    assert_eq!(hub.mailbox_unlink(6, b"name"), Err(Errno::EPERM));
    assert_eq!(hub.mailbox_unlink(7, b"name"), Ok(()));
    assert_eq!(hub.mailbox_unlink(7, b"name"), Err(Errno::ENOENT));
    // It takes its part of the limit until it is closed.
    assert_eq!(open(&mut hub, O_CREAT, [1, 1]), Err(Errno::EMFILE));
    hub.close(end);
    assert!(open(&mut hub, O_CREAT, [1, 1]).is_ok());
    let wanted = |name| OpenRequest { flags: O_CREAT, made: QueueOptions { owner: [0; 2], mode: 0, messages: 1, size: 1 }, limit: ANY, name };
    for name in [&b""[..], b".", b"..", b"a/b", b"\0"] {
        assert_eq!(hub.mailbox_open(&wanted(name)), Err(Errno::EACCES));
    }
    assert_eq!(hub.mailbox_open(&wanted(&[b'n'; 256])), Err(Errno::ENAMETOOLONG));
}

#[test]
fn who_has_the_higher_rank_or_waits_longer_is_first() {
    let (mut hub, mut post) = (Hub::default(), Post::default());
    let end = open(&mut hub, O_CREAT | BOTH, [1, 9]).unwrap();
    for (token, rank) in [(1, 0), (2, 0), (3, 5), (4, 5), (5, 9)] {
        assert_eq!(receive(&mut hub, &mut post, (end, token, rank), 9), Ok(false));
    }
    post.gone.extend([5, 1]);
    for text in [b"a", b"b", b"c", b"d", b"e"] {
        let _ = send(&mut hub, &mut post, (end, 10, 0), 0, text);
    }
    let got: Vec<(u32, u8)> = post.given.drain(..).filter(|given| !post.gone.contains(&given.0)).map(|given| (given.0, given.2[0])).collect();
    assert_eq!(got, [(3, b'a'), (4, b'b'), (2, b'c')]);
    // Now one is in the queue, and one waits to be; so do others.
    assert_eq!(hub.mailbox_facts(end).unwrap().count, 1);
    for (token, rank) in [(11, 1), (12, 7), (13, 8)] {
        assert_eq!(send(&mut hub, &mut post, (end, token, rank), 0, &[token as u8]), Ok(false));
    }
    post.gone.insert(13);
    post.sent.clear();
    let all: Vec<_> = core::iter::from_fn(|| next(&mut hub, &mut post, end)).map(|(_, data)| data[0]).collect();
    assert_eq!((all, post.sent), (vec![b'd', 12, 11, b'e'], vec![13, 12, 11, 10]));
}

#[test]
fn what_does_not_arrive_stays() {
    let (mut hub, mut post) = (Hub::default(), Post::default());
    let end = open(&mut hub, O_CREAT | BOTH, [3, 9]).unwrap();
    post.gone.extend([8, 9]);
    assert_eq!(send(&mut hub, &mut post, (end, 8, 0), 0, b"not sent"), Ok(true));
    assert_eq!(hub.mailbox_facts(end).unwrap().count, 0);
    send(&mut hub, &mut post, (end, 1, 0), 0, b"one").unwrap();
    send(&mut hub, &mut post, (end, 1, 0), 0, b"two").unwrap();
    assert_eq!(receive(&mut hub, &mut post, (end, 9, 0), 9), Ok(true));
    assert_eq!(next(&mut hub, &mut post, end), Some((0, b"one".to_vec())));
}

#[test]
fn one_process_is_told_once_when_nobody_waits() {
    let (mut hub, mut post) = (Hub::default(), Post::default());
    let end = open(&mut hub, O_CREAT | BOTH, [3, 9]).unwrap();
    let expected = |pid: u64, port| NotifyTarget { kind: 0, signal: 10, pid, bits: 4, port, end };
    assert!(hub.mailbox_expect(expected(50, 1), &post).is_ok());
    assert_eq!(hub.mailbox_expect(expected(51, 2), &post), Err(Errno::EBUSY));
    assert_eq!(hub.mailbox_read(end, Some(0), 99, &post).unwrap(), b"QSIZE:0          NOTIFY:0     SIGNO:10    NOTIFY_PID:50    \n");
    receive(&mut hub, &mut post, (end, 3, 0), 9).unwrap();
    send(&mut hub, &mut post, (end, 4, 0), 0, b"waited").unwrap();
    assert_eq!((post.told.len(), hub.mailbox_told(end, 50)), (0, Ok(None)));
    send(&mut hub, &mut post, (end, 4, 0), 0, b"now").unwrap();
    send(&mut hub, &mut post, (end, 4, 0), 0, b"more").unwrap();
    assert_eq!(post.told, [(1, 4)]);
    assert_eq!((hub.mailbox_told(end, 51), hub.mailbox_told(end, 50), hub.mailbox_told(end, 50)), (Ok(None), Ok(Some([4, 5])), Ok(None)));
    // One that has gone is nobody's hindrance.
    hub.mailbox_expect(expected(50, 1), &post).unwrap();
    post.gone.insert(1);
    assert!(hub.mailbox_expect(expected(51, 2), &post).is_ok());
    assert!(matches!((hub.mailbox_forget(end, 50), hub.mailbox_forget(end, 51)), (Ok((_, false)), Ok((_, true)))));
}

#[test]
fn who_was_cut_off_can_ask_what_became_of_it() {
    let (mut hub, mut post) = (Hub::default(), Post::default());
    let end = open(&mut hub, O_CREAT | BOTH, [1, 9]).unwrap();
    receive(&mut hub, &mut post, (end, 1, 0), 9).unwrap();
    assert_eq!(hub.mailbox_withdraw(end, 1), Ok(None));
    receive(&mut hub, &mut post, (end, 2, 0), 9).unwrap();
    send(&mut hub, &mut post, (end, 3, 0), 6, b"text").unwrap();
    assert_eq!(post.given, [(2, 6, b"text".to_vec(), 4)]);
    assert_eq!(hub.mailbox_withdraw(end, 2), Ok(Some((6, 4))));
    assert_eq!((hub.mailbox_rest(end, 2), hub.mailbox_withdraw(end, 2)), (Ok(b"text".to_vec()), Ok(None)));
    for token in [4, 5, 6] {
        send(&mut hub, &mut post, (end, token, 0), 1, &[token as u8]).unwrap();
    }
    assert_eq!(hub.mailbox_withdraw(end, 5), Ok(None));
    assert_eq!((next(&mut hub, &mut post, end), hub.mailbox_withdraw(end, 6)), (Some((1, vec![4])), Ok(Some((0, 0)))));
    assert_eq!(next(&mut hub, &mut post, end), Some((1, vec![6])));
    // The next call of the thread is another one.
    send(&mut hub, &mut post, (end, 6, 0), 1, b"x").unwrap();
    assert_eq!(hub.mailbox_withdraw(end, 6), Ok(None));
}

#[test]
fn long_messages_go_in_parts() {
    let (mut hub, mut post) = (Hub::default(), Post::default());
    let end = open(&mut hub, O_CREAT | PRIVILEGED | BOTH, [2, 3 * PIECE as u64]).unwrap();
    let text: Vec<u8> = (0..2 * PIECE + 5).map(|at| at as u8 ^ (at >> 8) as u8).collect();
    assert_eq!(hub.mailbox_part(end, 1, 1, b"x"), Err(Errno::EINVAL));
    hub.mailbox_part(end, 1, 0, b"forgotten").unwrap();
    hub.mailbox_part(end, 1, 0, &text[..PIECE]).unwrap();
    hub.mailbox_part(end, 1, 1, &text[PIECE..2 * PIECE]).unwrap();
    assert_eq!(hub.mailbox_can_send(end, (1, true), 0, PIECE + 1, &post), Err(Errno::EMSGSIZE));
    let mail = Mail { priority: 3, data: text[2 * PIECE..].to_vec(), by: [0; 2] };
    hub.mailbox_send(Caller { end, thread: 1, rank: 0, token: 1 }, true, mail, &mut post).unwrap();
    receive(&mut hub, &mut post, (end, 2, 0), ANY).unwrap();
    let (_, priority, mut got, total) = post.given.pop().unwrap();
    assert_eq!((priority, got.len(), total), (3, PIECE, text.len()));
    got.extend(hub.mailbox_rest(end, 2).unwrap());
    got.extend(hub.mailbox_rest(end, 2).unwrap());
    assert_eq!(got, text);
    assert_eq!((hub.mailbox_rest(end, 2), hub.bytes), (Err(Errno::EINVAL), 0));
}

#[test]
fn whatever_is_asked_all_memory_comes_back() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    for _ in 0..20 {
        let (mut hub, mut post) = (Hub::default(), Post::default());
        let mut ends = vec![];
        for step in 0..400u32 {
            let end = ends.get(below(6) as usize).copied().unwrap_or(below(9));
            let (token, rank) = (step, below(3));
            match below(12) {
                0 => ends.extend(open(&mut hub, O_CREAT | PRIVILEGED | below(4), [1 + below(3), 1 + below(40_000)])),
                1 if below(4) == 0 => drop(hub.mailbox_unlink(ANY, b"name")),
                2 if below(4) == 0 => hub.close(end),
                3 => drop(hub.mailbox_part(end, below(2), below(3), &vec![1; below(20_000) as usize])),
                4 => drop(hub.mailbox_rest(end, below(400))),
                5 if below(2) == 0 => drop(hub.mailbox_withdraw(end, below(400))),
                5 => drop(post.gone.insert(below(400) as u32)),
                6 => drop(hub.mailbox_expect(NotifyTarget { kind: 0, signal: 1, pid: 1, bits: 1, port: token, end }, &post)),
                7 => drop(hub.mailbox_seek(end, below(200).wrapping_sub(100), below(5)).and_then(|_| hub.mailbox_read(end, None, 50, &post))),
                8 => {
                    let size = below(30_000) as usize;
                    if hub.mailbox_can_send(end, (below(2), true), 1, size, &post).is_ok() {
                        let mail = Mail { priority: 1, data: vec![2; size], by: [0; 2] };
                        let _ = hub.mailbox_send(Caller { end, thread: below(2), rank, token }, true, mail, &mut post);
                    }
                }
                9 => drop(send(&mut hub, &mut post, (end, token, rank), below(9), &vec![3; below(100) as usize])),
                _ => drop(receive(&mut hub, &mut post, (end, token, rank), below(40_000))),
            }
            post.given.clear();
        }
        ends.into_iter().for_each(|end| hub.close(end));
        let _ = hub.mailbox_unlink(ANY, b"name");
        assert_eq!((hub.bytes, hub.ends()), (0, 0));
        assert!(hub.loads.held.is_empty(), "{:?}", hub.loads.held);
    }
}

/// Makes queues of an account until it gets no more; the ends.
fn make_all(hub: &mut Hub<u32>, account: u64, flags: u64, most: usize) -> Vec<u64> {
    hub.charge_to(account);
    let made = QueueOptions { owner: [7, 8], mode: 0o600, messages: 10, size: 8192 };
    let mut named = |number: usize| {
        let name = alloc::format!("{account}-{number}").into_bytes();
        hub.mailbox_open(&OpenRequest { flags: O_CREAT | O_EXCL | O_RDWR | flags, made, limit: u64::MAX, name: &name })
    };
    (0..most).map_while(|number| named(number).ok()).map(|(end, _)| end).collect()
}

#[test]
fn no_account_takes_all_queues_and_their_bytes() {
    for (flags, all) in [(0, 256), (PRIVILEGED, 4096)] {
        let (mut hub, mut post) = (Hub::default(), Post::default());
        let greedy = make_all(&mut hub, 1, flags, usize::MAX);
        assert!((all / 4..=all / 2).contains(&greedy.len()), "{}", greedy.len());
        let fills = |hub: &mut Hub<u32>, post: &mut Post, end| (1..11).all(|token| send(hub, post, (end, token, 1), 1, &[1; 8000]).is_ok());
        let full = greedy.iter().filter(|end| fills(&mut hub, &mut post, **end)).count();
        assert!(full * 80_000 <= super::loads::MAX_BYTES / 2, "{full} queues are full");
        for account in 2..20 {
            let ends = make_all(&mut hub, account, flags, 1);
            assert_eq!(ends.len(), 1, "account {account} finds no queue");
            assert!(fills(&mut hub, &mut post, ends[0]), "account {account} finds no bytes");
        }
        assert_eq!(hub.loads.held.values().map(|load| load.0).sum::<usize>(), hub.bytes);
    }
}
