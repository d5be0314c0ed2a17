//! A kernel that has booted root on a fake machine, and the ways in: a call by the thread that a
//! CPU has, an access to memory, an interrupt.

use super::machine::{FakeMachine, RAM_END, RAM_SIZE, RAM_START};
use nacre_abi::boot_info::MemoryRange;
use nacre_abi::environment;
use nacre_abi::{Call, PAGE_SIZE, Rights, Status, call::CALL_BASE};
use nacre_core::machine::{Frame, Machine, Physical, thread_page, thread_page::register};
use nacre_core::object::Thread;
use nacre_core::{Boot, Kernel, Next};
use std::cell::Cell;

/// Address at which threads stand when they are at their call; behind the call is this plus 2.
pub const CODE: u64 = 0x40_0000;
/// Address of all memory in root's space, after [`World::map_ram`].
pub const RAM: u64 = 0x10_0000_0000;
/// First of root's own pages that tests hand out, as an offset in memory.
pub const FREE_PAGES: u64 = 2 << 20;

/// Registers of the arguments.
pub const ARGUMENTS: [usize; 10] = [
    register::RDI,
    register::RSI,
    register::RDX,
    register::R8,
    register::R9,
    register::R10,
    register::R12,
    register::R13,
    register::R14,
    register::R15,
];

/// A booted kernel.
pub struct World {
    pub kernel: Kernel<FakeMachine>,
    /// Idle CPUs.
    idle: Vec<Cell<bool>>,
    next_page: Cell<u64>,
}

impl World {
    /// Boots on `cpus` CPUs; root's thread is on one of them.
    pub fn new(cpus: usize) -> World {
        let machine = FakeMachine::new(cpus);
        let (frames, image) = (RAM_START, RAM_START + Boot::FRAMES * PAGE_SIZE);
        let image_size = 2 * PAGE_SIZE;
        (frames..image + image_size).step_by(PAGE_SIZE as usize).for_each(|at| machine.reserve(at));
        write_image(&machine, image, image_size);
        let memory = [MemoryRange { start: image + image_size, size: RAM_END - image - image_size }];
        let kernel = Kernel::new(machine);
        kernel.start(&Boot {
            memory: &memory,
            boot_frames: MemoryRange { start: frames, size: Boot::FRAMES * PAGE_SIZE },
            image_start: image,
            image_size,
            cpus: cpus as u64,
            tsc_frequency: 1_000_000_000,
            tsc_at_entry: 7,
            acpi_root: 0,
            command_line: b"test",
        });
        let world = World { kernel, idle: (0..cpus).map(|_| Cell::new(true)).collect(), next_page: Cell::new(FREE_PAGES) };
        for cpu in 0..cpus {
            world.on(cpu, |kernel| kernel.cpu_start());
        }
        world
    }

    /// The machine.
    pub fn machine(&self) -> &FakeMachine {
        &self.kernel.machine
    }

    /// Enters the kernel on a CPU.
    pub fn on(&self, cpu: usize, enter: impl FnOnce(&Kernel<FakeMachine>) -> Next) {
        self.machine().current.set(cpu);
        let idle = enter(&self.kernel) == Next::Idle;
        self.idle[cpu].set(idle);
        if idle {
            self.machine().cpus[cpu].thread.set(None);
        }
    }

    /// The thread that runs on a CPU.
    pub fn running(&self, cpu: usize) -> Option<Thread<'_>> {
        let at = self.machine().cpus[cpu].thread.get().filter(|_| !self.idle[cpu].get())?;
        Some(self.thread(at))
    }

    /// Returns true if the kernel holds nothing in a frame, so that an access makes it plain
    /// memory.
    pub fn is_vacant(&self, at: Physical) -> bool {
        let Some(frame) = self.machine().frame(at) else { return false };
        match frame.kind.get() % PAGE_SIZE {
            Frame::PLAIN | Frame::SEIZED | Frame::BLANK => true,
            Frame::OBJECTS => frame.units.get() == 0,
            _ => false,
        }
    }

    /// A view of the thread at a physical address.
    pub fn thread(&self, at: Physical) -> Thread<'_> {
        Thread::new(self.machine(), at)
    }

    /// Returns true if a thread stands at a call that it will make when it goes on.
    pub fn stands_at_call(thread: Thread<'_>) -> bool {
        thread.register(register::RIP) == CODE
    }

    /// The thread on `cpu` executes its `syscall`, with its registers as they are.
    pub fn enter(&self, cpu: usize) {
        let thread = self.running(cpu).expect("a CPU without a thread calls");
        thread.set_register(register::RIP, thread.register(register::RIP) + 2);
        let number = thread.register(register::RAX).wrapping_sub(CALL_BASE);
        self.on(cpu, |kernel| if kernel.short_call(number) { Next::User } else { kernel.system_call(number) });
    }

    /// Puts a call into a thread's registers.
    pub fn prepare(&self, thread: Thread<'_>, call: Call, arguments: &[u64]) {
        thread.set_register(register::RIP, CODE);
        thread.set_register(register::RAX, call.number());
        for (number, register) in ARGUMENTS.into_iter().enumerate() {
            thread.set_register(register, arguments.get(number).copied().unwrap_or(0));
        }
    }

    /// The thread on `cpu` makes a call, once.
    pub fn call_on(&self, cpu: usize, call: Call, arguments: &[u64]) {
        self.prepare(self.running(cpu).expect("a thread"), call, arguments);
        self.enter(cpu);
    }

    /// Root's thread, or whichever is on the first CPU, makes a call that does not block, as often
    /// as it must be made again; the status.
    pub fn call(&self, call: Call, arguments: &[u64]) -> Status {
        let thread = self.running(0).expect("a thread on the first CPU");
        self.prepare(thread, call, arguments);
        for _ in 0..10_000 {
            self.enter(0);
            if !Self::stands_at_call(thread) {
                return Status(thread.register(register::RAX));
            }
            self.kick_all();
            assert_eq!(self.running(0).map(|thread| thread.at), Some(thread.at), "{} blocked", call.name());
        }
        panic!("{} has no end", call.name());
    }

    /// Makes a call as `call` does, checks that it succeeds, and returns the second result.
    pub fn ok(&self, call: Call, arguments: &[u64]) -> u64 {
        let thread = self.running(0).expect("a thread on the first CPU");
        let status = self.call(call, arguments);
        assert!(status.is_ok(), "{}({arguments:x?}): {status:?}", call.name());
        thread.register(register::RDX)
    }

    /// Delivers what CPUs have asked each other for.
    pub fn kick_all(&self) {
        for cpu in 0..self.idle.len() {
            if self.machine().cpus[cpu].kicked.replace(false) {
                self.on(cpu, |kernel| kernel.kicked());
            }
        }
    }

    /// Lets time pass, and the timers go off that are due.
    pub fn pass(&self, nanoseconds: u64) {
        self.machine().time.set(self.machine().time.get() + nanoseconds);
        for cpu in 0..self.idle.len() {
            if self.machine().cpus[cpu].deadline.get() <= self.machine().time.get() {
                self.on(cpu, |kernel| kernel.timer());
            }
        }
    }

    /// Returns the physical address for an access of the thread on `cpu`. Tells the kernel of a
    /// fault, once; `None` if the page is still missing.
    pub fn access(&self, cpu: usize, address: u64, needed: Rights) -> Option<Physical> {
        let thread = self.running(cpu)?.at;
        self.machine().current.set(cpu);
        if let Some(at) = self.machine().translate(address, needed) {
            return Some(at);
        }
        self.on(cpu, |kernel| if kernel.short_fault(address, needed) { Next::User } else { kernel.page_fault(address, needed, 0) });
        // What the kernel had begun and not finished it goes on with at the next try.
        while self.kernel.is_revoking() && self.running(cpu).is_some_and(|now| now.at == thread) && self.machine().translate(address, needed).is_none() {
            self.on(cpu, |kernel| kernel.page_fault(address, needed, 0));
        }
        self.running(cpu).filter(|now| now.at == thread)?;
        self.machine().translate(address, needed)
    }

    /// Root maps all memory at [`RAM`].
    pub fn map_ram(&self) {
        let slot = environment::FREE;
        self.ok(Call::MappingCreate, &[slot, 0, RAM, RAM_SIZE, environment::PHYSICAL, RAM_START, Rights::ALL.0]);
    }

    /// A page of root's memory that nobody uses yet, after [`World::map_ram`].
    pub fn page(&self) -> u64 {
        self.pages(1)
    }

    /// Several pages in a row.
    pub fn pages(&self, count: u64) -> u64 {
        let at = self.next_page.get();
        self.next_page.set(at + count * PAGE_SIZE);
        assert!(self.next_page.get() <= RAM_SIZE, "out of test memory");
        RAM + at
    }

    /// The physical address of root's memory at an address from [`RAM`] on.
    pub fn physical(&self, address: u64) -> Physical {
        Physical(address - RAM + RAM_START)
    }

    /// Writes words to root's memory at an address from [`RAM`] on.
    pub fn write(&self, address: u64, words: &[u64]) {
        for (index, word) in words.iter().enumerate() {
            self.machine().write_word(self.physical(address + 8 * index as u64), *word);
        }
    }

    /// Reads a word of root's memory at an address from [`RAM`] on.
    pub fn read(&self, address: u64) -> u64 {
        self.machine().read_word(self.physical(address))
    }

    /// Makes a space with a keeper; its slot and pool are new pages.
    pub fn make_space(&self, pool: u64, keeper: u64) -> u64 {
        let slot = self.page();
        self.ok(Call::SpaceCreate, &[slot, self.pages(pool), pool, keeper]);
        slot
    }

    /// Makes a stopped thread in a space (0 = root's) that stands at no call.
    pub fn make_thread(&self, space: u64) -> u64 {
        let slot = self.page();
        self.ok(Call::ThreadCreate, &[slot, space]);
        self.thread(self.physical(slot)).set_register(register::RIP, CODE + 2);
        slot
    }

    /// Word `number` of a thread's page.
    pub fn thread_word(&self, thread: u64, number: usize) -> u64 {
        self.machine().peek(self.physical(thread).0 + 8 * (thread_page::REGISTERS + number) as u64)
    }
}

fn write_image(machine: &FakeMachine, at: u64, size: u64) {
    machine.poke(at, u64::from_le_bytes(nacre_abi::boot_image::MAGIC));
    machine.poke(at + 8, 1 | 1 << 32);
    let words = [CODE, 0, size, size, 0, 0, PAGE_SIZE, CODE, PAGE_SIZE, Rights::ALL.0];
    for (index, word) in words.into_iter().enumerate() {
        machine.poke(at + 16 + 8 * index as u64, word);
    }
}
