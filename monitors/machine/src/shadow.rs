//! Shadow paging: the guest runs on tables that this monitor fills, by views of the guest's memory.
//! Which pages they show, and what is to be forgotten when, is decided in `nacre_machine_x86`.

use crate::access::{paging, state};
use crate::exits;
use crate::guest::{self, Ground, Memory};
use crate::model::Registers;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_abi::frame::{event, kind, word};
use nacre_abi::rights::{VIEW_ENTRIES, VIEW_LARGE, VIEW_PRIVILEGED};
use nacre_abi::{Code, PAGE_SIZE, Rights, Status, USER_END};
use nacre_machine_load::GuestMemory;
use nacre_machine_x86::{Access, Cache, Forget, IDENTITIES, Page, Pages, Recent, WalkError, decode_invalidate};
use nacre_nest::Services;
use nacre_nest::services::Segment as Objects;
use nacre_nest::supply::{ResourceSource, Segment as _};
use nacre_sys::{Frame, OwnedMapping, Space, ViewPage};

/// Tables that one page can need, with room to spare.
const MAX_LEVELS: u64 = 4;
/// Pages for the tables of the upper half, besides one for each 2 MiB, and of each lower half.
const UPPER_TABLES: u64 = 64;
const LOWER_TABLES: u64 = 64;
/// Distance of spaces in the page with their objects.
const SPACE_SIZE: u64 = 256;
const LARGE_PAGE: u64 = 2 << 20;
/// Pages around one of a large page that are entered at once, if the memory itself has none.
const AROUND: u64 = 16;

/// Work that remains to be done for an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Case without work.
    Done,
    /// The guest goes on behind an instruction of so many bytes.
    Pass(u64),
    /// The guest takes an exception.
    Raise(u8),
    /// An access to what is no memory: the frame says so, as with nested paging.
    Memory,
    /// An exit that is none of shadow paging's.
    Other,
}

/// Tables of one half of the addresses.
struct Half {
    view: OwnedMapping,
    space: Space,
    /// Pages that they should have, and for how many tables of them there is room at least.
    recent: Recent,
    room: usize,
}

impl Half {
    /// Enters pages, of which the first is needed. If pages were lost, it enters those, too.
    fn enter(&mut self, list: &[Page]) -> Result<(), Status> {
        let entered = self.view.handle().enter(&list.iter().map(entry).collect::<Vec<_>>())?;
        let mut has_lost = false;
        for (number, page) in list.iter().take(entered as usize).enumerate() {
            // The others come along, and may be there.
            has_lost |= self.recent.note(page) && number == 0;
        }
        if has_lost {
            self.restore();
        }
        Ok(())
    }

    /// Enters pages, of which the first is needed. Returns true if whoever keeps the memory does
    /// not have that one there, or not for writes.
    fn lacks(&mut self, list: &[Page]) -> Result<bool, String> {
        match self.enter(list) {
            Ok(()) => Ok(false),
            Err(status) if code(status) == Some(Code::BadAddress) => Ok(true),
            Err(status) => Err(format!("cannot enter a page of the guest: {status:?}")),
        }
    }

    /// Enters all pages again.
    fn restore(&mut self) {
        let pages = self.recent.pages(self.room);
        let list: Vec<ViewPage> = pages.iter().map(entry).collect();
        let mut at = 0;
        while let (Some(page), Some(rest)) = (pages.get(at), list.get(at..)) {
            match self.view.handle().enter(&rest[..rest.len().min(VIEW_ENTRIES as usize)]) {
                Ok(entered) if entered != 0 => at += entered as usize,
                // The guest misses it itself.
                _ => {
                    self.recent.drop_page(page);
                    at += 1;
                }
            }
        }
    }

    /// Takes pages out.
    fn forget(&mut self, address: u64, size: u64) -> Result<(), Status> {
        self.recent.forget(address, size);
        self.view.handle().forget(address, size)
    }
}

/// The tables that a processor of a guest runs on.
pub struct Shadow {
    state: nacre_machine_x86::Shadow,
    upper: Half,
    lower: Vec<Half>,
    memory: Memory,
    _objects: Objects,
}

impl Shadow {
    /// Makes the tables, empty, for a guest whose registers stand in the frame.
    pub fn new(services: &mut Services, ground: &Ground, frame: &Frame) -> Result<Shadow, String> {
        let upper_pool = UPPER_TABLES + ground.memory.size().div_ceil(LARGE_PAGE);
        let pages = 1 + upper_pool + IDENTITIES as u64 * LOWER_TABLES;
        let objects = services.segment(pages * PAGE_SIZE).map_err(|refusal| refusal.to_string())?;
        let base = objects.window().start();
        let mut next = base + PAGE_SIZE;
        let mut make = |number: u64, pool: u64| {
            let space = guest::space(base + number * SPACE_SIZE, next, pool)?;
            next += pool * PAGE_SIZE;
            let all = Rights::READ.union(Rights::WRITE).union(Rights::EXECUTE).union(Rights::VIEW);
            Ok(Half { view: OwnedMapping::new(space, 0, USER_END, ground.region, 0, all)?, space, recent: Recent::default(), room: (pool / MAX_LEVELS) as usize })
        };
        let made: Result<_, Status> = (|| Ok((make(0, upper_pool)?, (1..=IDENTITIES as u64).map(|number| make(number, LOWER_TABLES)).collect::<Result<Vec<_>, _>>()?)))();
        let (upper, lower) = made.map_err(|status| format!("cannot make tables for the guest: {status:?}"))?;
        let state = nacre_machine_x86::Shadow::new(&paging(frame));
        Ok(Shadow { state, upper, lower, memory: ground.memory, _objects: objects })
    }

    /// Lets the guest run on the tables, which are empty then.
    pub fn begin(&mut self, frame: &Frame) -> Result<(), String> {
        frame.set(word::KIND, kind::SHADOW);
        frame.set(word::UPPER_SPACE, self.upper.space.0);
        self.forgetting(|state, forget| state.forget_all(forget))
    }

    /// Looks at the guest's registers before it is entered.
    pub fn look(&mut self, frame: &Frame) -> Result<(), String> {
        let now = paging(frame);
        self.forgetting(|state, forget| state.look(&now, forget))?;
        if let Some(half) = self.lower.get(self.state.current()) {
            frame.set(word::SPACE, half.space.0);
        }
        Ok(())
    }

    /// Lets the policy decide, and forgets what it says.
    fn forgetting(&mut self, decide: impl FnOnce(&mut nacre_machine_x86::Shadow, &mut dyn FnMut(Forget))) -> Result<(), String> {
        let Shadow { state, upper, lower, .. } = self;
        let mut result = Ok(());
        decide(state, &mut |forget| result = result.and(forgotten(upper, lower, forget)));
        result.map_err(|status| format!("cannot forget pages of the guest: {status:?}"))
    }

    /// Deals with an exit, if it is one of shadow paging's.
    pub fn exit(&mut self, exit: u64, frame: &Frame, registers: &Registers) -> Result<Exit, String> {
        match exit {
            exits::PAGE_FAULT => self.page_fault(frame),
            exits::INVALIDATE_PAGE => self.invalidate(frame, registers),
            _ => Ok(Exit::Other),
        }
    }

    fn page_fault(&mut self, frame: &Frame) -> Result<Exit, String> {
        let [error, address] = word::INFORMATION.map(|number| frame.get(number));
        let access = Access { write: error & 2 != 0, user: error & 4 != 0, fetch: error & 16 != 0 };
        match self.state.miss(&mut self.memory, &paging(frame), address, access) {
            Ok(pages) => self.enter(frame, &pages, access.write),
            Err(WalkError::PageFault(error)) => {
                let Some(event) = exits::page_fault(error, frame.get(word::INTERRUPTED)) else {
                    return Err(format!("the guest's processor has shut down, at {:#x}", frame.get(word::RIP)));
                };
                frame.set(word::CR2, address);
                frame.set(word::INJECT, event);
                Ok(Exit::Done)
            }
            Err(WalkError::NotCanonical) => Ok(Exit::Raise(exits::PROTECTION)),
        }
    }

    /// Enters pages, of which the first is needed.
    fn enter(&mut self, frame: &Frame, pages: &Pages, writes: bool) -> Result<Exit, String> {
        let Some(first) = pages.list().first() else { return Ok(Exit::Done) };
        if first.physical >= self.memory.size() {
            let error = frame.get(word::INFORMATION[0]);
            let within = frame.get(word::INFORMATION[1]) % PAGE_SIZE;
            frame.set(word::EVENT, event::MEMORY);
            frame.set(word::INFORMATION[0], error);
            frame.set(word::INFORMATION[1], first.physical + within);
            return Ok(Exit::Memory);
        }
        let list = entries(pages);
        let half = match pages.cache {
            Cache::Upper => Some(&mut self.upper),
            Cache::Lower(number) => self.lower.get_mut(number),
        };
        let Some(half) = half else { return Ok(Exit::Done) };
        if !half.lacks(&list)? {
            return Ok(Exit::Done);
        }
        // Whoever keeps the memory may allow less than the guest's tables do, until a write asks
        // for more: a guest that reads has to make do with it.
        let list = if writes { list } else { list.iter().map(|page| Page { write: false, ..*page }).collect() };
        if writes || half.lacks(&list)? {
            // The page is brought when it is touched. If it is gone by now, the guest tries again.
            touch(&mut self.memory, first.physical, writes);
            half.lacks(&list)?;
        }
        Ok(Exit::Done)
    }

    fn invalidate(&mut self, frame: &Frame, registers: &Registers) -> Result<Exit, String> {
        let (now, mode) = (paging(frame), state(frame));
        let found = registers.code(frame).and_then(|(code, _)| decode_invalidate(code.bytes(), mode.mode));
        let Some((operand, length)) = found else { return Ok(Exit::Raise(exits::UNDEFINED)) };
        let next = mode.rip.wrapping_add(u64::from(length));
        let address = operand.linear(mode.mode, &mode.registers, next, &mode.bases);
        self.forgetting(|state, forget| state.invalidate(&now, address, forget))?;
        Ok(Exit::Pass(u64::from(length)))
    }

    /// The guest has loaded CR3 with this value.
    pub fn load_root(&mut self, frame: &Frame, value: u64) -> Result<(), String> {
        self.forgetting(|state, forget| state.load_root(value, &paging(frame), forget))
    }
}

/// Touches a page of the guest's memory where we see it. Nobody sees a change.
fn touch(memory: &mut Memory, at: u64, writes: bool) {
    // A page that was read before it is written would be brought twice.
    let _ = if writes { memory.replace(at, 8, 0, 0).map(drop) } else { memory.read(at, &mut [0; 8]) };
}

fn code(status: Status) -> Option<Code> {
    status.code()
}

fn forgotten(upper: &mut Half, lower: &mut [Half], forget: Forget) -> Result<(), Status> {
    let (cache, address, size) = match forget {
        Forget::All(cache) => (cache, 0, USER_END),
        Forget::Range { cache, address, size } => (cache, address, size),
    };
    let half = match cache {
        Cache::Upper => Some(upper),
        Cache::Lower(number) => lower.get_mut(number),
    };
    match half {
        // The last page of a half is never shown.
        Some(half) if address < USER_END => half.forget(address, size.min(USER_END - address)),
        _ => Ok(()),
    }
}

fn entry(page: &Page) -> ViewPage {
    let rights = [(true, Rights::READ), (page.write, Rights::WRITE), (page.execute, Rights::EXECUTE)];
    let rights = rights.into_iter().filter(|(is_there, _)| *is_there).fold(Rights::NONE, |all, (_, right)| all.union(right));
    let flags = [(!page.user, VIEW_PRIVILEGED), (page.is_large, VIEW_LARGE)].into_iter().map(|(is_set, flag)| if is_set { flag } else { 0 }).sum();
    ViewPage::new(page.address, rights, flags, page.physical)
}

/// The pages to be entered. Those around a page of a large one are for memory without
/// large pages: the call ends before them where it has some.
fn entries(pages: &Pages) -> Vec<Page> {
    let mut list = pages.list().to_vec();
    if let [page] = pages.list()
        && page.is_large
    {
        let within = page.address / PAGE_SIZE % AROUND;
        let (address, physical) = (page.address - within * PAGE_SIZE, page.physical - within * PAGE_SIZE);
        let others = (0..AROUND).filter(|number| *number != within);
        list.extend(others.map(|number| Page { address: address + number * PAGE_SIZE, physical: physical + number * PAGE_SIZE, is_large: false, ..*page }));
    }
    list
}
