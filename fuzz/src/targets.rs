//! The targets: what is fed, and which decoders of the tree it reaches. `README.md` lists the
//! decoders; the tests compare.

mod boot;
mod cards;
mod commands;
mod console;
mod crossing;
mod dataspaces;
mod ext4;
mod files;
mod gdb;
mod guard;
mod guest_network;
mod host;
mod internet;
mod kernel;
mod linux;
mod machines;
mod outside;
mod programs;
mod protocols;
mod ports;
mod shares;
mod store;
mod stored;
mod traces;

/// Something that takes bytes from an enemy.
pub struct Target {
    /// Name of the target on the command line.
    pub name: &'static str,
    /// Use that it makes of the bytes.
    pub about: &'static str,
    /// The body.
    pub run: fn(&[u8]),
    /// Number of mutations that the tests try. The kernel's are expensive.
    pub tries: usize,
}

const DECODER_TRIES: usize = 3000;

macro_rules! targets {
    ($($name:literal, $run:path, $tries:expr, $about:literal;)*) => {
        /// Every target.
        pub const TARGETS: &[Target] = &[$(Target { name: $name, about: $about, run: $run, tries: $tries }),*];
    };
}

targets! {
    "core", kernel::core, 100, "hostile threads make calls on a fake machine of two processors; everything that must hold is checked after each";
    "boot-image", boot::boot_image, DECODER_TRIES, "a boot image: its header, segments and files, as kernel and root read them";
    "multiboot", boot::multiboot, DECODER_TRIES, "what a Multiboot2 loader left in memory";
    "pvh", boot::pvh, DECODER_TRIES, "what a PVH loader left in memory";
    "acpi", boot::acpi, DECODER_TRIES, "the firmware's tables of processors and interrupt controllers";
    "policy", guard::policy, DECODER_TRIES, "rules of the guard, and what they say of any path";
    "guarded-path", guard::resolved, DECODER_TRIES, "paths of a guarded program, in a tree full of links";
    "crossing", crossing::crossing, DECODER_TRIES, "references that cross a relay which attenuates, in any order: no original goes to a stranger";
    "elf", programs::elf, DECODER_TRIES, "a program, decoded and planned by the nesting library";
    "stack", programs::stack, DECODER_TRIES, "arguments and environment of a program, and where it is looked for";
    "state", programs::state, DECODER_TRIES, "exported states and the words of an exception";
    "protocols", protocols::dispatch, DECODER_TRIES, "requests with any label, words, bytes and references, through the dispatch of every protocol";
    "describe", protocols::describe, DECODER_TRIES, "messages as tracers show them, and the structures in their bytes";
    "files", files::tree, DECODER_TRIES, "operations on root's file tree, with any paths; at the end all memory is back";
    "terminal", console::terminal, DECODER_TRIES, "keys, output and attributes of root's terminal";
    "input", console::input, DECODER_TRIES, "what the host says of the input, and lines of control";
    "pools", console::pools, DECODER_TRIES, "accounts of memory inside each other";
    "generations", store::generations, 300, "files of persistent memory, altered, cut off and full";
    "dataspaces", dataspaces::dataspaces, 300, "operations on dataspaces, with any ids, managers and lengths, while machine and stores fail";
    "images", store::images, 300, "images of environments, cut off, altered, and with facts that a kernel never told";
    "stores", stored::stores, 300, "stores with images, with any heads and maps, read and written";
    "inheritance", linux::inheritance, DECODER_TRIES, "what a process takes over from the one that made it";
    "linux", linux::calls, DECODER_TRIES, "a Linux program's calls, with any arguments and memory, up to the first message";
    "gdb-packets", gdb::packets, DECODER_TRIES, "bytes from a gdb, and what a session with it does to a target";
    "recordings", gdb::recordings, DECODER_TRIES, "a recording of what crossed the boundary of a program";
    "records", host::records, DECODER_TRIES, "what the guest tells the host over its second line";
    "commands", commands::commands, DECODER_TRIES, "texts and answers of commands from outside, and seats that are taken, asked and left in any order";
    "moves", host::moves, DECODER_TRIES, "what the sender of an environment says to `nacre receive`";
    "traces", traces::traces, DECODER_TRIES, "two files of events of tracers, which are merged";
    "host-ports", ports::ports, DECODER_TRIES, "a console with many ports that writes over rings, buffers and registers while its driver works";
    "platform", machines::platform, DECODER_TRIES, "a guest's accesses to the ports of its devices, while time passes and states go out and in";
    "cards", cards::cards_target, DECODER_TRIES, "a guest's accesses to the PCI bus, registers, rings and requests of virtio devices, while states go out and in";
    "outside", outside::outside, DECODER_TRIES, "answers of a host that serves a directory by 9P";
    "internet", internet::internet, 1000, "frames from a network, addresses of clients, and sockets that are used in any order";
    "names", internet::names, DECODER_TRIES, "datagrams of a resolver to a guarded program, and what the guard believes of them";
    "guest-network", guest_network::guest_network, 1000, "frames of a guest to the network behind its card, whose outside does what it likes";
    "shares", shares::shares, DECODER_TRIES, "messages of 9P from a guest that has mounted a directory; no path leads out of it";
    "ext4", ext4::ext4, 1000, "volumes of ext2 and ext4, altered, mounted, with an unfinished journal, and used";
    "guest-processor", machines::processor, DECODER_TRIES, "a guest's page tables, code, model-specific registers and leaves of CPUID";
    "guest-shadow", machines::shadow, DECODER_TRIES, "a guest's page tables, roots and addresses to forget, as shadow paging reads them";
    "guest-kernel", machines::kernel, DECODER_TRIES, "a kernel and an initial file system that are loaded into a guest's memory";
    "guest-multiboot", machines::multiboot, DECODER_TRIES, "a multiboot kernel whose headers lie about addresses, sizes and entries";
    "host-elf", host::elf, DECODER_TRIES, "a program file that the command line names";
}

pub use kernel::not_reached;

/// Numbers of the protocols that have a server among the targets.
pub const SERVED: &[u32] = protocols::SERVED;

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
