//! State of the root server.

use crate::chores::{Chores, Destroying};
use crate::console::Console;
use crate::debug_line::DebugLine;
use crate::differences::Differences;
use crate::drives::Drives;
use crate::files::Files;
use crate::host_ports::HostPorts;
use crate::locks::{Holder, Locks};
use crate::notices::{Notices, event};
use crate::objects::{Kind, Objects};
use crate::open_file::{OpenFile, Streams};
use crate::outputs::Outputs;
use crate::pools::Pools;
use crate::random::Random;
use crate::starving::Hunger;
use crate::table::Key;
use crate::tree::open;
use crate::futex_queues::{Place, FutexQueues};
use crate::word_waits::{Meeting, Waiting};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_control::Seats;
use nacre_control::attendance::Told;
use nacre_nest::Child;
use nacre_proto::flags::{TERMINAL_INTERRUPT, TERMINAL_QUIT};
use nacre_proto::Errno;
use nacre_sys::OwnedReference;

/// The server.
pub struct Root {
    /// Files and time.
    pub files: Files,
    /// Objects that clients hold references to.
    pub objects: Objects,
    /// Accounts of memory.
    pub pools: Pools,
    /// The console.
    pub console: Console,
    /// The line of a debugger, if the machine has it.
    pub debug_line: Option<DebugLine>,
    /// Commands of the host, and who attends to them.
    pub commands: Seats<Told>,
    /// Answers to those who ask what has changed.
    pub differences: Differences,
    /// Ports to the host.
    pub ports: HostPorts,
    /// Directories of the host's, disks and the network card.
    pub drives: Drives,
    /// Files that the host gets when the program has ended.
    pub outputs: Outputs,
    /// Random bytes.
    pub random: Random,
    /// The outermost pool, the root directory, the clock, the three streams: given out as often as
    /// they are asked for.
    pub standing: Standing,
    /// The program.
    pub child: Option<Child<Files>>,
    /// Name of the program.
    pub name: Vec<u8>,
    /// Locks of files.
    pub locks: Locks<OwnedReference>,
    /// Watchers of files.
    pub notices: Notices,
    /// Requests that wait at words of memory.
    pub waits: FutexQueues<Waiting>,
    /// Long work.
    pub chores: Chores,
    /// Faults that wait for memory.
    pub hunger: Hunger<OwnedReference>,
    /// Waiters that were woken and have not been answered yet.
    pub woken: VecDeque<OwnedReference>,
    /// Views of each file.
    pub views: BTreeMap<Key, BTreeSet<Key>>,
    /// Conditions of words at which processes wait by themselves.
    pub meetings: BTreeMap<(Place, u64), Meeting>,
    /// Foreign calls that it made without there being one, if they are to be reported.
    pub foreign_calls: Option<BTreeSet<Vec<u8>>>,
    /// Exit status of the program, once it has ended.
    pub status: Option<u64>,
}

/// Objects that are given out as often as they are asked for.
pub struct Standing {
    /// The outermost pool.
    pub memory: Key,
    /// The root directory.
    pub files: Key,
    /// The clock.
    pub clock: Key,
    /// The service of commands, if the host gives any.
    pub control: Option<Key>,
    /// The service of the network card, if the machine has one.
    pub nic: Option<Key>,
    /// The streams that a program starts with.
    pub streams: [Key; 3],
    /// The port that hears of the program's exceptions and of its end.
    pub keeper: Key,
}

impl Standing {
    /// Adds them to `objects`.
    pub fn new(objects: &mut Objects, files: &mut Files, pool: Key, (streams, has_commands, has_card): (Streams, bool, bool)) -> Result<Standing, Errno> {
        let (account, Streams { has_terminal, paths }) = (objects.accounts.outermost(), streams);
        let mut stand = |path: &[u8], flags| {
            let file = open_file(files, path, flags, has_terminal)?;
            objects.add(Kind::File(file), true, account)
        };
        let (input, output) = if has_terminal { (open::READ_WRITE, open::READ_WRITE) } else { (0, open::WRITE_ONLY) };
        let streams = [stand(paths[0], input)?, stand(paths[1], output)?, stand(paths[2], output)?];
        let files = stand(b"/", open::DIRECTORY)?;
        // Segments and pools are counted apart: whoever takes all of them leaves others their
        // files.
        let of_memory = objects.accounts.open(account)?;
        let (memory, clock) = (objects.add(Kind::Pool(pool), true, of_memory)?, objects.add(Kind::Clock, true, account)?);
        let keeper = objects.add(Kind::Keeper, true, account)?;
        let control = if has_commands { Some(objects.add(Kind::Control, true, account)?) } else { None };
        let nic = if has_card { Some(objects.add(Kind::Nic, true, account)?) } else { None };
        Ok(Standing { memory, files, clock, control, nic, streams, keeper })
    }
}

/// Opens a file by its absolute path.
fn open_file(files: &mut Files, path: &[u8], flags: u64, has_terminal: bool) -> Result<OpenFile, Errno> {
    let (root, now) = (files.tree.root(), files.clock.now());
    let key = files.tree.open(root, path, flags, 0, now)?;
    OpenFile::new(key, files.tree.node(key)?, flags, has_terminal)
}

impl Root {
    /// Tells whoever attends the terminal of events. If nobody does, an interrupt or quit key ends
    /// the program, since there is nobody to send a signal to.
    pub fn terminal_events(&mut self, events: u64) {
        let left = if events == 0 { 0 } else { self.console.tell(events) };
        for (event, signal) in [(TERMINAL_INTERRUPT, 2), (TERMINAL_QUIT, 3)] {
            if left & event != 0 {
                self.end(256 + signal);
            }
        }
    }

    /// The program has ended: everything is taken back.
    pub fn end(&mut self, status: u64) {
        if self.status.is_none() {
            self.status = Some(status);
            self.child = None;
        }
    }

    /// Takes an object down that nobody refers to any more.
    pub fn close(&mut self, key: Key) {
        if self.objects.get(key).is_some_and(|object| matches!(object.kind, Kind::Segment(..) | Kind::Promise(..) | Kind::Coloured(_))) {
            return self.forget_segment(key, None);
        }
        let account = self.objects.account(key.to_word());
        match self.objects.remove(key).map(|object| object.kind) {
            Some(Kind::File(file)) => {
                self.unlock_all(Holder::File(key), Some(file.node));
                if file.check_open().is_ok() {
                    let mask = if file.check_write().is_ok() { event::CLOSE_WRITE } else { event::CLOSE_NOWRITE };
                    self.files.tree.note(file.node, mask);
                }
                if file.is_writer {
                    self.files.tree.stop_writing(file.node);
                }
                self.files.tree.closed(file.node);
            }
            Some(Kind::Charged(opened, _kept)) => {
                let node = self.objects.file(opened.to_word()).map(|file| file.node).ok();
                self.unlock_all(Holder::File(key), node);
            }
            Some(Kind::Running(node)) => {
                self.files.tree.stop_running(node);
                self.files.tree.closed(node);
            }
            Some(Kind::Source(_)) => self.notices.remove_watcher(key),
            Some(Kind::Seat) => self.leave_seat(key),
            Some(Kind::View(view)) => self.close_view(key, &view),
            Some(Kind::Owner(_)) => self.unlock_all(Holder::Process(key), None),
            Some(Kind::Pool(pool)) => {
                self.pools.disown_port(pool, key.to_word());
                self.destroy_pool(pool, account);
            }
            Some(Kind::SharedPool(pool, _)) => self.pools.disown_port(pool, key.to_word()),
            _ => {}
        }
    }

    /// Destroys a pool, with what is to be taken down of what was in it.
    pub fn remove_pool(&mut self, pool: Key) -> Destroying {
        Destroying { left: self.pools.destroy(pool).into_iter().collect(), rest: None }
    }
}
