//! Linux system calls, carried out inside the program's own space.
//!
//! The loader maps this library beside every program that is not native, and enters it first. It prepares the program's state, names itself
//! to the kernel as the place where foreign calls continue, and goes to the program's entry point. From then on a `syscall` of the program
//! arrives at [`entry`], finds its function in [`table`], and becomes messages of the Common Protocols where it needs somebody else.
//!
//! A folder is a layer: a file imports its own layer and those that stand above it in this file.
//!
//! It is no security boundary: it can do what its process can do. It checks the program's pointers so that mistakes give Linux's errors.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

/// Numbers and record layouts of Linux, and the fork record.
mod abi {
    pub mod call_names;
    pub mod errno;
    pub mod fork_record;
    pub mod registers;
}

/// Unsafe code that knows nothing of a process.
mod raw {
    pub mod thread_block;
}

/// Connections to servers.
mod services {
    pub mod clock;
    pub mod connections;
    pub mod library_file;
    pub mod resource_source;
    pub mod segment_cache;

    pub use connections::*;
}

/// State of a process: memory, files, signals.
mod state {
    pub mod files {
        pub mod descriptor_table;
        pub mod in_process_file;
        pub mod pipe;
    }
    pub mod memory;
    pub mod parent_table;
    pub mod random;
    pub mod signals {
        pub mod pending;
    }
}

mod process;

/// Work that several calls share, and that may wait.
mod operations {
    pub mod call_patching;
    pub mod cpu_time;
    pub mod files {
        pub mod busy_file;
        pub mod file_io;
        pub mod file_signals;
        pub mod named_pipe;
        pub mod pidfd;
        pub mod server_io;
        pub mod shared_ring;
    }
    pub mod fork_state;
    pub mod paths {
        pub mod attribute_target;
        pub mod path_resolve;
        pub mod path_start;
        pub mod path_walk;
        pub mod permissions;
    }
    pub mod proc {
        pub mod ask_process;
        pub mod memory_shortage;
        pub mod names;
        pub mod open;
        pub mod terminals;
        pub mod text;
        pub mod tree;
    }
    pub mod program_image;
    pub mod shared_futex;
    pub mod signal_frame;
    pub mod sockets {
        pub mod ancillary_data;
        pub mod message_header;
    }
    pub mod terminals {
        pub mod job_control;
        pub mod terminal_io;
    }
}

/// One function a system call.
mod calls {
    pub mod files {
        pub mod attributes;
        pub mod copy_file;
        pub mod descriptors;
        pub mod directories;
        pub mod epoll;
        pub mod extended_attributes;
        pub mod file_locks;
        pub mod inotify;
        pub mod ioctl;
        pub mod list_directory;
        pub mod open;
        pub mod poll;
        pub mod read_write;
        pub mod splice;
        pub mod status;
    }
    pub mod identity {
        pub mod capabilities;
        pub mod credentials;
        pub mod limits;
        pub mod privileged;
        pub mod processor;
        pub mod processors;
        pub mod scheduling;
        pub mod system_name;
    }
    pub mod ipc {
        pub mod futex;
        pub mod futex_waitv;
        pub mod message_queue;
        pub mod system_v;
    }
    pub mod memory {
        pub mod advice;
        pub mod mapping;
        pub mod memory_locks;
        pub mod shared_memory;
    }
    pub mod processes {
        pub mod children;
        pub mod exec;
        pub mod fork;
        pub mod prctl;
    }
    pub mod signals;
    pub mod sockets;
    pub mod time {
        pub mod clocks;
        pub mod cpu_timers;
        pub mod timers;
    }
}

/// Ways into the library and out: assembly, the table of calls, the start, the library's own threads.
pub mod entry {
    #[allow(unsafe_code)]
    pub mod assembly;
    pub(crate) mod call_table;
    #[cfg(feature = "rehearsal")]
    pub mod host_double;
    pub mod query_thread;
    pub mod start;

    pub use assembly::*;
}

// Names from before the layers.
pub(crate) use abi::call_names as names;
pub use abi::errno;
pub use abi::fork_record as inheritance;
pub use abi::registers as frame;
pub(crate) use calls::files::attributes;
pub(crate) use calls::files::copy_file as transfer;
pub(crate) use calls::files::descriptors as control;
pub(crate) use calls::files::directories;
pub(crate) use calls::files::epoll;
pub(crate) use calls::files::extended_attributes as extended;
pub(crate) use calls::files::file_locks as locking;
pub(crate) use calls::files::inotify;
pub(crate) use calls::files::ioctl as terminal;
pub(crate) use calls::files::list_directory as listing;
pub(crate) use calls::files::open;
pub(crate) use calls::files::poll;
pub(crate) use calls::files::read_write as files;
pub(crate) use calls::files::splice;
pub(crate) use calls::files::status;
pub(crate) use calls::identity::capabilities;
pub(crate) use calls::identity::credentials as identity;
pub(crate) use calls::identity::limits;
pub(crate) use calls::identity::privileged as superuser;
pub(crate) use calls::identity::processor as machine;
pub(crate) use calls::identity::processors;
pub(crate) use calls::identity::scheduling as schedule;
pub(crate) use calls::identity::system_name;
pub(crate) use calls::ipc::futex;
pub(crate) use calls::ipc::futex_waitv as futex_several;
pub(crate) use calls::ipc::message_queue as mailbox;
pub(crate) use calls::ipc::system_v as keyed;
pub(crate) use calls::memory::advice;
pub(crate) use calls::memory::mapping;
pub(crate) use calls::memory::memory_locks as locked;
pub(crate) use calls::memory::shared_memory as sharing;
pub(crate) use calls::processes::children;
pub(crate) use calls::processes::exec;
pub(crate) use calls::processes::fork;
pub(crate) use calls::processes::prctl;
pub(crate) use calls::signals;
pub(crate) use calls::sockets as socket;
pub(crate) use calls::time::clocks as time;
pub(crate) use calls::time::cpu_timers;
pub(crate) use calls::time::timers;
pub(crate) use entry::call_table as table;
#[cfg(feature = "rehearsal")]
pub use entry::host_double as rehearsal;
pub use entry::query_thread as visit;
pub use entry::start;
pub(crate) use operations::call_patching as sites;
pub(crate) use operations::cpu_time;
pub(crate) use operations::files::file_signals as owner;
pub(crate) use operations::files::named_pipe as fifo;
pub(crate) use operations::files::pidfd;
pub(crate) use operations::files::shared_ring as shared_pipe;
pub(crate) use operations::fork_state as heir;
pub(crate) use operations::paths::attribute_target as subject;
pub(crate) use operations::paths::path_resolve as resolve;
pub(crate) use operations::paths::path_start as place;
pub(crate) use operations::paths::path_walk as walk;
pub(crate) use operations::paths::permissions;
pub(crate) use operations::proc::names as proc_names;
pub(crate) use operations::proc::open as proc_file;
pub(crate) use operations::proc::terminals as proc_terminals;
pub(crate) use operations::proc::tree as proc_tree;
pub(crate) use operations::program_image as program;
pub(crate) use operations::shared_futex as futex_shared;
pub(crate) use operations::signal_frame;
pub(crate) use operations::terminals::job_control as jobs;
pub(crate) use operations::terminals::terminal_io as pair;
pub(crate) use process::end as life;
pub(crate) use process::exchange;
pub(crate) use process::post_signal as delivery;
pub(crate) use process::signal_thread as agent;
pub(crate) use process::threads as thread;
pub(crate) use raw::thread_block as block;
pub(crate) use services::clock;
pub(crate) use services::library_file as library;
pub(crate) use services::resource_source as maker;
pub(crate) use services::segment_cache as stock;
pub(crate) use state::files::descriptor_table as descriptors;
pub(crate) use state::files::in_process_file as local;
pub(crate) use state::files::pipe;
pub(crate) use state::memory::address_map as map;
pub(crate) use state::memory::stack_growth as growth;
pub(crate) use state::memory::user_access as user;
pub(crate) use state::memory;
pub(crate) use state::parent_table as parents;
pub(crate) use state::random;
pub(crate) use state::signals::pending;
