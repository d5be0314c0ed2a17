//! Bytes from a gdb, and recordings that the monitor `debug` runs programs by.

use crate::bytes::Bytes;
use nacre_gdb::target::FileError;
use nacre_gdb::{Action, Caught, Events, Reason, Registers, Session, Stop, Target, ThreadId};

/// A process of a few threads and some memory, which does all that it is asked.
struct Process {
    memory: [u8; 256],
    registers: Registers,
    threads: Vec<ThreadId>,
    passed: u64,
}

impl Target for Process {
    fn threads(&mut self) -> Vec<ThreadId> {
        self.threads.clone()
    }

    fn name(&mut self, thread: ThreadId) -> Vec<u8> {
        vec![thread.thread as u8; 3]
    }

    fn registers(&mut self, thread: ThreadId) -> Option<Registers> {
        self.threads.contains(&thread).then(|| self.registers.clone())
    }

    fn set_registers(&mut self, _: ThreadId, registers: &Registers) -> bool {
        self.registers = registers.clone();
        true
    }

    fn read(&mut self, _: u32, address: u64, into: &mut [u8]) -> usize {
        let rest = usize::try_from(address).ok().and_then(|start| self.memory.get(start..)).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }

    fn write(&mut self, _: u32, address: u64, bytes: &[u8]) -> bool {
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        let place = start.checked_add(bytes.len()).and_then(|end| self.memory.get_mut(start..end));
        place.map(|place| place.copy_from_slice(bytes)).is_some()
    }

    fn insert_breakpoint(&mut self, _: u32, address: u64) -> bool {
        address % 2 == 0
    }

    fn remove_breakpoint(&mut self, _: u32, address: u64) -> bool {
        address % 2 == 0
    }

    fn catch_calls(&mut self, process: u32, calls: Caught) {
        assert!(self.threads.iter().any(|thread| thread.process == process), "calls of a process that is not there are caught");
        assert!(!matches!(calls, Caught::These(numbers) if numbers.is_empty()), "no calls are caught by number");
    }

    fn pass_signals(&mut self, signals: u64) {
        self.passed = signals;
    }

    fn signal_info(&mut self, thread: ThreadId) -> Option<Vec<u8>> {
        assert!(self.threads.contains(&thread), "a thread that is not there has a signal");
        (thread.thread != 2).then(|| vec![11; 128])
    }

    fn follow(&mut self, _: Events) {}

    fn link(&mut self, path: &[u8]) -> Result<Vec<u8>, FileError> {
        Ok(path.to_vec())
    }

    fn resume(&mut self, threads: &[(ThreadId, Action)]) {
        assert!(!threads.is_empty() && threads.iter().all(|(thread, _)| self.threads.contains(thread)), "threads that are not there go on");
        assert!(threads.iter().all(|(_, action)| action.signal <= 64), "a thread gets a signal that Linux does not have");
    }

    fn can_go_back(&mut self) -> bool {
        true
    }

    fn can_watch(&mut self) -> bool {
        true
    }

    fn watch(&mut self, _: u32, address: u64, size: u64) -> bool {
        address % 2 == 0 && size < 9
    }

    fn unwatch(&mut self, _: u32, address: u64, _: u64) -> bool {
        address % 2 == 0
    }

    fn go_back(&mut self, thread: ThreadId, is_step: bool) -> bool {
        assert!(self.threads.contains(&thread), "a thread that is not there goes back");
        is_step
    }

    fn interrupt(&mut self) {}

    fn kill(&mut self, process: u32) {
        self.detach(process);
    }

    fn detach(&mut self, process: u32) {
        assert!(self.threads.iter().any(|thread| thread.process == process), "a process that is not there is left");
        self.threads.retain(|thread| thread.process != process);
    }

    fn auxiliary_vector(&mut self, _: u32) -> Vec<u8> {
        vec![7; 64]
    }

    fn program(&mut self, _: u32) -> Vec<u8> {
        b"/bin/sh".to_vec()
    }

    fn open(&mut self, path: &[u8]) -> Result<u32, FileError> {
        if path.len() % 2 == 0 { Ok(path.len() as u32) } else { Err(2) }
    }

    fn read_file(&mut self, file: u32, offset: u64, size: usize) -> Result<Vec<u8>, FileError> {
        if file == 2 { Ok(vec![offset as u8; size.min(1 << 16)]) } else { Err(9) }
    }

    fn file_size(&mut self, file: u32) -> Result<u64, FileError> {
        Ok(file.into())
    }

    fn close(&mut self, _: u32) -> Result<(), FileError> {
        Ok(())
    }
}

/// Starts of packets.
const STARTS: &[&[u8]] = &[
    b"?", b"g", b"G", b"p10", b"P10=", b"m0,", b"M0,2:", b"X0,2:", b"Z0,", b"z0,", b"Hgp1.", b"T", b"D;1", b"k", b"qSupported", b"qfThreadInfo", b"qsThreadInfo",
    b"qThreadExtraInfo,", b"qXfer:auxv:read::0,", b"qXfer:features:read:target.xml:", b"qXfer:threads:read::0,", b"QStartNoAckMode", b"vCont;", b"vCont;s:p1.1;c", b"vKill;1",
    b"vFile:open:2f61,", b"vFile:pread:2,", b"vFile:fstat:2", b"vFile:readlink:2f", b"QCatchSyscalls:1;", b"qSupported:fork-events+;", b"vNacreGone:", b"bs", b"bc", b"Z2,", b"z2,",
    b"QPassSignals:e;10;", b"QProgramSignals:", b"qXfer:siginfo:read::0,", b"vCont;C1e:p1.1;c",
];

/// A packet with the right checksum.
fn packet(body: &[u8]) -> Vec<u8> {
    let sum = body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    [b"$", body, format!("#{sum:02x}").as_bytes()].concat()
}

pub fn packets(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let threads = vec![ThreadId { process: 1, thread: 1 }, ThreadId { process: 1, thread: 2 }, ThreadId { process: 3, thread: 3 }];
    let mut process = Process { memory: [0x90; 256], registers: Registers::default(), threads, passed: 0 };
    let mut session = Session::default();
    while !bytes.is_over() {
        let answer = match bytes.below(4) {
            0 => session.feed(bytes.some(), &mut process),
            1 => {
                let thread = ThreadId { process: 1, thread: 1 };
                let stops = [Stop::Thread(thread, bytes.byte(), Reason::Breakpoint), Stop::Exited(3, bytes.byte()), Stop::Killed(3, 9)];
                let stop = stops[bytes.below(3)].clone();
                session.stopped(stop, &mut process)
            }
            _ => {
                let start = STARTS[bytes.below(STARTS.len())];
                session.feed(&packet(&[start, bytes.some()].concat()), &mut process)
            }
        };
        assert!(answer.len() < 1 << 20, "gdb is flooded");
    }
}

pub fn recordings(bytes: &[u8]) {
    let recording = match nacre_recording::read(bytes) {
        Ok(recording) => recording,
        Err(fault) => return drop(fault.to_string()),
    };
    assert_eq!(recording.real(|label| label % 2 == 0).len(), recording.exchanges.len());
    let mut written = nacre_recording::begin(&recording.start);
    recording.exchanges.iter().for_each(|exchange| nacre_recording::message(exchange, &mut written));
    nacre_recording::end(recording.status, &mut written);
    if recording.times.is_empty() && recording.switches.is_empty() {
        assert_eq!(written, bytes, "a recording has another form");
    }
}
