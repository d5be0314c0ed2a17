//! Linux system calls, carried out inside the program's own space.
//!
//! The loader maps this library beside every program that is not native, and enters it first. It prepares the program's state, names itself
//! to the kernel as the place where foreign calls continue, and goes to the program's entry point. From then on a `syscall` of the program
//! arrives at [`entry`], finds its function in [`entry::call_table`], and becomes messages of the Common Protocols where it needs somebody else.
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

#[cfg(feature = "rehearsal")]
pub use abi::fork_record;
#[cfg(feature = "rehearsal")]
pub use entry::host_double;
