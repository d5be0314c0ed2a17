//! Sessions with a target that is a few variables.

use crate::packet::{Item, Reader};
use crate::target::FileError;
use crate::{Action, Caught, Events, Reason, Registers, Session, Stop, Target, ThreadId};
use std::collections::BTreeSet;
use std::vec::Vec;

const FIRST: ThreadId = ThreadId { process: 1, thread: 1 };
const SECOND: ThreadId = ThreadId { process: 1, thread: 2 };

#[derive(Default)]
struct Fake {
    memory: Vec<u8>,
    registers: Registers,
    breakpoints: BTreeSet<u64>,
    resumed: Vec<(ThreadId, Action)>,
    interrupted: bool,
    ended: Vec<(&'static str, u32)>,
    caught: Caught,
    events: Events,
    back: Option<Vec<bool>>,
    passed: u64,
}

impl Target for Fake {
    fn can_go_back(&mut self) -> bool {
        self.back.is_some()
    }

    fn pass_signals(&mut self, signals: u64) {
        self.passed = signals;
    }

    fn signal_info(&mut self, thread: ThreadId) -> Option<Vec<u8>> {
        (thread == SECOND).then(|| Vec::from([10, 0, 0, 0]))
    }

    fn can_watch(&mut self) -> bool {
        self.back.is_some()
    }

    fn watch(&mut self, _: u32, _: u64, size: u64) -> bool {
        size > 0
    }

    fn unwatch(&mut self, _: u32, _: u64, size: u64) -> bool {
        size > 0
    }

    fn go_back(&mut self, _: ThreadId, is_step: bool) -> bool {
        self.back.as_mut().is_some_and(|back| {
            back.push(is_step);
            back.len() < 3
        })
    }

    fn threads(&mut self) -> Vec<ThreadId> {
        if self.ended.is_empty() { Vec::from([FIRST, SECOND]) } else { Vec::new() }
    }

    fn name(&mut self, thread: ThreadId) -> Vec<u8> {
        format!("<thread {}>", thread.thread).into_bytes()
    }

    fn registers(&mut self, _: ThreadId) -> Option<Registers> {
        Some(self.registers.clone())
    }

    fn set_registers(&mut self, _: ThreadId, registers: &Registers) -> bool {
        self.registers = registers.clone();
        true
    }

    fn read(&mut self, _: u32, address: u64, into: &mut [u8]) -> usize {
        let rest = self.memory.get(address as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }

    fn write(&mut self, _: u32, address: u64, bytes: &[u8]) -> bool {
        let place = (address as usize).checked_add(bytes.len()).and_then(|end| self.memory.get_mut(address as usize..end));
        place.map(|place| place.copy_from_slice(bytes)).is_some()
    }

    fn insert_breakpoint(&mut self, _: u32, address: u64) -> bool {
        self.breakpoints.insert(address)
    }

    fn remove_breakpoint(&mut self, _: u32, address: u64) -> bool {
        self.breakpoints.remove(&address)
    }

    fn catch_calls(&mut self, _: u32, calls: Caught) {
        self.caught = calls;
    }

    fn follow(&mut self, events: Events) {
        self.events = events;
    }

    fn link(&mut self, path: &[u8]) -> Result<Vec<u8>, FileError> {
        if path == b"/a" { Ok(b"target".to_vec()) } else { Err(22) }
    }

    fn resume(&mut self, threads: &[(ThreadId, Action)]) {
        self.resumed = threads.to_vec();
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
    }

    fn kill(&mut self, process: u32) {
        self.ended.push(("killed", process));
    }

    fn detach(&mut self, process: u32) {
        self.ended.push(("detached", process));
    }

    fn auxiliary_vector(&mut self, _: u32) -> Vec<u8> {
        Vec::from([6, 0, 0, 0, 0, 0, 0, 0])
    }

    fn program(&mut self, _: u32) -> Vec<u8> {
        b"/bin/sh".to_vec()
    }

    fn open(&mut self, path: &[u8]) -> Result<u32, FileError> {
        if path == b"/a" { Ok(3) } else { Err(2) }
    }

    fn read_file(&mut self, file: u32, offset: u64, size: usize) -> Result<Vec<u8>, FileError> {
        let whole = b"con#tent";
        let start = whole.len().min(offset as usize);
        if file == 3 { Ok(whole[start..whole.len().min(start + size)].to_vec()) } else { Err(9) }
    }

    fn file_size(&mut self, _: u32) -> Result<u64, FileError> {
        Ok(8)
    }

    fn close(&mut self, file: u32) -> Result<(), FileError> {
        if file == 3 { Ok(()) } else { Err(9) }
    }
}

/// Returns a packet as gdb sends it: without counts of repetitions.
fn asked(body: &[u8]) -> Vec<u8> {
    let sum = body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    [b"$", body, format!("#{sum:02x}").as_bytes()].concat()
}

/// Returns the bodies of all packets among bytes.
fn bodies(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = Reader::default();
    bytes.iter().filter_map(|byte| reader.take(*byte)).filter_map(|item| if let Item::Packet(body) = item { Some(body) } else { None }).collect()
}

/// Takes counts of repetitions apart, which a reader of requests need not do.
fn plain(body: &[u8]) -> Vec<u8> {
    let mut plain: Vec<u8> = Vec::new();
    let mut bytes = body.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' => {
                let count = bytes.next().unwrap() - 29;
                plain.extend(vec![*plain.last().unwrap(); count.into()]);
            }
            byte => plain.push(*byte),
        }
    }
    plain
}

fn ask(session: &mut Session, target: &mut Fake, body: &[u8]) -> Vec<u8> {
    let answer = session.feed(&asked(body), target);
    let mut all = bodies(&answer);
    assert!(all.len() <= 1);
    plain(&all.pop().unwrap_or_default())
}

fn answers(pairs: &[(&str, &str)]) {
    let (mut session, mut target) = (Session::default(), Fake { memory: vec![0x90; 8], ..Fake::default() });
    for (question, answer) in pairs {
        let got = ask(&mut session, &mut target, question.as_bytes());
        assert_eq!(String::from_utf8_lossy(&got), *answer, "{question}");
    }
}

#[test]
fn a_session_begins() {
    answers(&[
        ("vMustReplyEmpty", ""),
        ("QStartNoAckMode", "OK"),
        ("!", "OK"),
        ("?", "T05thread:p1.1;"),
        ("qAttached:1", "1"),
        ("qC", "QCp1.1"),
        ("qfThreadInfo", "mp1.1,p1.2"),
        ("qsThreadInfo", "l"),
        ("qThreadExtraInfo,p1.2", "3c74687265616420323e"),
        ("Hgp1.2", "OK"),
        ("Hgp2.1", "E01"),
        ("Hc-1", "OK"),
        ("Tp1.2", "OK"),
        ("Tp1.3", "E01"),
        ("vCont?", "vCont;c;C;s;S;t"),
    ]);
}

#[test]
fn objects_are_read_in_parts() {
    answers(&[
        ("qXfer:exec-file:read:1:0,100", "l/bin/sh"),
        ("qXfer:exec-file:read:1:0,4", "m/bin"),
        ("qXfer:exec-file:read:1:5,4", "lsh"),
        ("qXfer:exec-file:read:1:100,4", "l"),
        ("qXfer:exec-file:read:7:0,4", "E01"),
        ("qXfer:exec-file:read::ffffffffffffffff,ffffffffffffffff", "l"),
        ("qXfer:features:read:other.xml:0,4", "E01"),
        ("qXfer:features:read:target.xml:0,5", "m<?xml"),
        ("qXfer:siginfo:read::0,4", "E01"),
        ("qXfer:uib:read::0,4", ""),
        ("qXfer:auxv:write::0,4", "E01"),
    ]);
    let (mut session, mut target) = (Session::default(), Fake::default());
    let threads = ask(&mut session, &mut target, b"qXfer:threads:read::0,1000");
    assert!(String::from_utf8_lossy(&threads).contains("<thread id=\"p1.2\" name=\"thread 2\"/>"));
}

#[test]
fn memory_and_registers_are_read_and_written() {
    answers(&[
        ("m0,4", "90909090"),
        ("m6,4", "9090"),
        ("m8,4", "E01"),
        ("mffffffffffffffff,ffffffffffffffff", "E01"),
        ("M1,2:abcd", "OK"),
        ("m0,4", "90abcd90"),
        ("M7,2:abcd", "E01"),
        ("M1,2:ab", "E01"),
        ("X0,0:", "OK"),
        ("X0,1:z", "OK"),
        ("m0,1", "7a"),
        ("P10=efbeadde00000000", "OK"),
        ("p10", "efbeadde00000000"),
        ("P10=ef", "E01"),
        ("p3c", "E01"),
        ("Gab", "E01"),
    ]);
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"g").len(), 2 * crate::registers::SIZE);
}

#[test]
fn breakpoints_are_of_one_kind() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"Z0,1000,1"), b"OK");
    assert_eq!(target.breakpoints, BTreeSet::from([0x1000]));
    assert_eq!(ask(&mut session, &mut target, b"z0,1000,1"), b"OK");
    assert_eq!((ask(&mut session, &mut target, b"Z2,1000,4"), ask(&mut session, &mut target, b"Z0,x,1")), (b"".to_vec(), b"E01".to_vec()));
}

#[test]
fn threads_go_on_and_stop() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"vCont;s:p1.2;C0b:p1.-1"), b"");
    let (step, signal) = (Action { is_step: true, signal: 0 }, Action { is_step: false, signal: 11 });
    assert_eq!(target.resumed, [(FIRST, signal), (SECOND, step)]);
    session.feed(b"\x03", &mut target);
    assert!(target.interrupted);
    let told = bodies(&session.stopped(Stop::Thread(SECOND, 5, Reason::Breakpoint), &mut target));
    assert_eq!(told, [b"T05swbreak:;thread:p1.2;".to_vec()]);
    assert_eq!(ask(&mut session, &mut target, b"?"), told[0]);
    assert_eq!(ask(&mut session, &mut target, b"vCont;c:p9.1"), b"E01");
    assert_eq!(ask(&mut session, &mut target, b"vCont;x"), b"E01");
    // An end that nobody waits for is told when something is to go on.
    assert_eq!(session.stopped(Stop::Exited(1, 3), &mut target), b"");
    assert_eq!(ask(&mut session, &mut target, b"vCont;c"), b"W03;process:1");
    assert_eq!(ask(&mut session, &mut target, b"?"), b"W03;process:1");
    ask(&mut session, &mut target, b"vCont;c");
    assert_eq!(bodies(&session.stopped(Stop::Killed(1, 9), &mut target)), [b"X09;process:1".to_vec()]);
}

#[test]
fn signals_have_the_numbers_of_the_protocol() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"QPassSignals:e;10;14;97;"), b"OK");
    assert_eq!(target.passed, 1 << 13 | 1 << 16 | 1 << 22);
    assert_eq!((ask(&mut session, &mut target, b"QPassSignals:z"), ask(&mut session, &mut target, b"QProgramSignals:")), (b"E01".to_vec(), b"OK".to_vec()));
    assert_eq!(ask(&mut session, &mut target, b"vCont;C1e:p1.2"), b"");
    assert_eq!(target.resumed, [(SECOND, Action { is_step: false, signal: 10 })]);
    assert_eq!(bodies(&session.stopped(Stop::Thread(SECOND, 7, Reason::Signal), &mut target)), [b"T0athread:p1.2;".to_vec()]);
    assert_eq!(ask(&mut session, &mut target, b"qXfer:siginfo:read::0,80"), b"l\x0a\0\0\0");
    assert_eq!((ask(&mut session, &mut target, b"Hgp1.1"), ask(&mut session, &mut target, b"qXfer:siginfo:read::0,80")), (b"OK".to_vec(), b"E01".to_vec()));
    assert_eq!((ask(&mut session, &mut target, b"vCont;Cff"), ask(&mut session, &mut target, b"vCont;C1d")), (b"E01".to_vec(), b"E01".to_vec()));
    ask(&mut session, &mut target, b"vCont;c");
    assert_eq!(bodies(&session.stopped(Stop::Killed(1, 31), &mut target)), [b"X0c;process:1".to_vec()]);
}

#[test]
fn files_of_the_guest_are_read() {
    answers(&[
        ("vFile:setfs:0", "F0"),
        ("vFile:open:2f61,0,0", "F3"),
        ("vFile:open:2f62,0,0", "F-1,2"),
        ("vFile:open:2f61,1,0", "F-1,16"),
        ("vFile:open:2f0061,0,0", "F-1,16"),
        ("vFile:pread:3,4,2", "F4;n#te"),
        ("vFile:pread:3,100,100", "F0;"),
        ("vFile:pread:4,1,0", "F-1,9"),
        ("vFile:close:3", "F0"),
        ("vFile:readlink:2f61", "F6;target"),
        ("vFile:readlink:2f62", "F-1,16"),
        ("vFile:unlink:2f61", "F-1,58"),
        ("vFile:what:1", ""),
    ]);
}

#[test]
fn a_gdb_that_goes_leaves_the_program() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    ask(&mut session, &mut target, b"QStartNoAckMode");
    ask(&mut session, &mut target, b"vCont;c");
    let answer = session.feed(&asked(b"vNacreGone:7"), &mut target);
    assert_eq!(bodies(&answer), [b"gone:7".to_vec()]);
    assert_eq!(target.ended, [("detached", 1)]);
    assert!(session.feed(&asked(b"?"), &mut target).starts_with(b"+"));
}

#[test]
fn news_of_an_earlier_gdb_leave_the_program_alone() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    let bytes = asked(b"vNacreGone:7");
    assert_eq!(crate::gone(&[&bytes[..], b"$?#3f"].concat()), (bytes.len(), true));
    assert_eq!(crate::gone(&[&b"$?#3f"[..], &bytes[..]].concat()), (bytes.len() + 5, false));
    assert_eq!((crate::gone(&bytes[..bytes.len() - 1]), crate::gone(b"+$?#3f")), ((bytes.len() - 1, false), (6, false)));
    assert_eq!(bodies(&session.feed(&bytes, &mut target)), [b"gone:7".to_vec()]);
    assert!(target.ended.is_empty() && !session.is_connected());
}

#[test]
fn memory_is_watched_where_it_can_be() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"Z2,1000,4"), b"");
    target.back = Some(Vec::new());
    assert_eq!((ask(&mut session, &mut target, b"Z2,1000,4"), ask(&mut session, &mut target, b"Z2,1000,0")), (b"OK".to_vec(), b"E01".to_vec()));
    assert_eq!((ask(&mut session, &mut target, b"z2,1000,4"), ask(&mut session, &mut target, b"Z2,1000")), (b"OK".to_vec(), b"E01".to_vec()));
    ask(&mut session, &mut target, b"vCont;c");
    let told = bodies(&session.stopped(Stop::Thread(FIRST, 5, Reason::Change(0x1000)), &mut target));
    assert_eq!(told, [b"T05watch:1000;thread:p1.1;".to_vec()]);
}

#[test]
fn processes_are_left_and_ended() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"D;2"), b"E01");
    assert_eq!(ask(&mut session, &mut target, b"vKill;2"), b"E01");
    assert_eq!(ask(&mut session, &mut target, b"vKill;1"), b"OK");
    assert_eq!(target.ended, [("killed", 1)]);
    let mut target = Fake::default();
    assert_eq!(ask(&mut session, &mut target, b"D;1"), b"OK");
    assert_eq!(target.ended, [("detached", 1)]);
}

#[test]
fn what_was_sent_last_is_sent_again() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(session.feed(b"$qC#b4-", &mut target), b"+$QCp1.1#94$QCp1.1#94");
    assert_eq!(session.feed(b"$qC#b5", &mut target), b"-");
}

#[test]
fn system_calls_are_caught_by_number() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"QCatchSyscalls:1;27;3b"), b"OK");
    assert_eq!(target.caught, Caught::These(vec![0x27, 0x3b]));
    assert!(target.caught.has(0x27) && !target.caught.has(0x28));
    assert_eq!(ask(&mut session, &mut target, b"QCatchSyscalls:1"), b"OK");
    assert_eq!(target.caught, Caught::All);
    assert_eq!(ask(&mut session, &mut target, b"QCatchSyscalls:0"), b"OK");
    assert_eq!(target.caught, Caught::Nothing);
    assert_eq!(ask(&mut session, &mut target, b"QCatchSyscalls:1;x"), b"E01");
    assert_eq!(ask(&mut session, &mut target, b"QCatchSyscalls:2"), b"E01");
    for (reason, word) in [(Reason::CallBegins(0x3b), "syscall_entry:3b"), (Reason::CallEnds(1), "syscall_return:1")] {
        ask(&mut session, &mut target, b"vCont;c");
        let told = bodies(&session.stopped(Stop::Thread(FIRST, 5, reason), &mut target));
        assert_eq!(told, [format!("T05{word};thread:p1.1;").into_bytes()]);
    }
}

#[test]
fn a_gdb_says_which_events_it_knows() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    let answer = ask(&mut session, &mut target, b"qSupported:multiprocess+;fork-events+;swbreak+");
    assert!(String::from_utf8_lossy(&answer).contains(";fork-events+;exec-events+"));
    assert_eq!(target.events, Events { forks: true, execs: false });
}

#[test]
fn a_replay_goes_back() {
    let (mut session, mut target) = (Session::default(), Fake::default());
    assert_eq!(ask(&mut session, &mut target, b"bs"), b"");
    assert!(!String::from_utf8_lossy(&ask(&mut session, &mut target, b"qSupported")).contains("Reverse"));
    target.back = Some(Vec::new());
    assert!(String::from_utf8_lossy(&ask(&mut session, &mut target, b"qSupported")).ends_with(";ReverseStep+;ReverseContinue+"));
    assert_eq!(ask(&mut session, &mut target, b"bx"), b"");
    for (packet, reason, word) in [(b"bs", Reason::ReplayBegins, "replaylog:begin"), (b"bc", Reason::ReplayEnds, "replaylog:end")] {
        session.feed(&crate::packet::frame(packet), &mut target);
        assert!(session.is_running());
        let told = bodies(&session.stopped(Stop::Thread(FIRST, 5, reason), &mut target));
        assert_eq!(told, [format!("T05{word};thread:p1.1;").into_bytes()]);
    }
    assert_eq!(target.back, Some(vec![true, false]));
    // It cannot now.
    assert_eq!(ask(&mut session, &mut target, b"bs"), b"E01");
    assert!(!session.is_running());
}
