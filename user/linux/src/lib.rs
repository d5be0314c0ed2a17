//! Linux system calls, carried out inside the program's own space.
//!
//! The loader maps this library beside every program that is not native, and enters it first. It
//! prepares the program's state, names itself to the kernel as the place where foreign calls
//! continue, and goes to the program's entry point. From then on a `syscall` of the program arrives
//! at [`entry`], finds its function in [`entry::call_table`], and becomes messages of the Common
//! Protocols where it needs somebody else.
//!
//! A folder is a layer: a file imports its own layer and those that stand above it in this file.
//!
//! It is no security boundary: it can do what its process can do. It checks the program's pointers
//! so that mistakes give Linux's errors.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

/// Numbers and record layouts of Linux, and the fork record.
mod abi {
    pub mod call_names;
    pub mod errno;
    pub mod file_flags;
    pub mod fork_record;
    pub mod futex_numbers;
    pub mod poll_events;
    pub mod registers;
    pub mod signal_info;
    pub mod signal_numbers;
    pub mod socket_flags;
    pub mod time_units;
    pub mod user_fault_layouts;
    #[cfg(test)]
    mod linux_numbers_tests;
}

/// Unsafe code that knows nothing of a process.
#[allow(unsafe_code)]
mod raw {
    pub mod debugger;
    pub mod global;
    pub mod guarded_touch;
    pub mod memory_words;
    pub mod sending_thread;
    pub mod thread_area;
    pub mod thread_block;
    pub mod thread_position;
    pub mod wait_window;
}

/// Connections to servers.
mod services {
    pub mod clock;
    pub mod connections;
    pub mod find;
    pub mod file_memory;
    pub mod heap_room;
    pub mod library_file;
    pub mod resource_source;
    pub mod segment;
    pub mod segment_cache;
    pub mod segment_pages;

    pub use connections::*;
}

/// State of a process: memory, files, signals.
mod state {
    pub mod capabilities;
    pub mod credentials;
    pub mod files {
        pub mod descriptor_table;
        pub mod directory_cursor;
        pub mod epoll_set;
        pub mod file_owners;
        pub mod in_process_file;
        pub mod inherited_files;
        pub mod open_file;
        pub mod pipe;
        pub mod proc_node;
        pub mod ring_ends;
        pub mod socket_family;
        pub mod socket_kind;
        pub mod socket_options;
        pub mod terminal_name;
        pub mod terminal_state;
        pub mod watch;
        pub mod watches;
    }
    pub mod limits;
    pub mod memory;
    pub mod parent_table;
    pub mod process_attributes;
    pub mod queue_notifications;
    pub mod random;
    pub mod scheduling;
    pub mod signals {
        pub mod dispositions;
        pub mod pending;
        pub mod signal_thread;
    }
    pub mod system_v;
    pub mod threads {
        pub mod awaited_page;
        pub mod futex_queues;
        pub mod futex_wait;
        pub mod thread;
        pub mod thread_table;
    }
    pub mod timers;
}

mod process;

/// Work that several calls share, and that may wait.
mod operations {
    pub mod call_patching;
    pub mod clock_reading;
    pub mod cpu_time;
    pub mod file_systems;
    pub mod due_timers;
    pub mod files {
        pub mod busy_file;
        pub mod file_io;
        pub mod file_signals;
        pub mod in_process_io;
        pub mod named_memory;
        pub mod named_pipe;
        pub mod pidfd;
        pub mod queue_events;
        pub mod quiet_files;
        pub mod readiness;
        pub mod server_io;
        pub mod shared_ring;
    }
    pub mod fork_state;
    pub mod grow_stack;
    pub mod limit_checks;
    pub mod paths {
        pub mod attribute_target;
        pub mod file_status;
        pub mod path_of;
        pub mod path_resolve;
        pub mod path_start;
        pub mod path_status;
        pub mod path_walk;
        pub mod permissions;
    }
    pub mod proc {
        pub mod answer_process;
        pub mod ask_process;
        pub mod clear_refs;
        pub mod map_lines;
        pub mod memory_facts;
        pub mod memory_shortage;
        pub mod names;
        pub mod network_text;
        pub mod open;
        pub mod remote_query;
        pub mod terminals;
        pub mod text;
        pub mod thread_facts;
        pub mod tree;
    }
    pub mod processors;
    pub mod program_image;
    pub mod restore_state;
    pub mod send_signal;
    pub mod shared_futex;
    pub mod signal_frame;
    pub mod signal_setup;
    pub mod sockets {
        pub mod ancillary_data;
        pub mod interfaces;
        pub mod connection_facts;
        pub mod known_sockets;
        pub mod packet_facts;
        pub mod message_header;
        pub mod netlink;
        pub mod routes;
        pub mod socket_limits;
        pub mod socket_names;
        pub mod socket_questions;
        pub mod socket_transfer;
    }
    pub mod system_name;
    pub mod terminals {
        pub mod job_control;
        pub mod terminal_io;
    }
    pub mod user_faults;
}

/// One function a system call.
mod calls {
    pub mod files {
        pub mod attributes;
        pub mod copy_file;
        pub mod descriptors;
        pub mod directories;
        pub mod epoll;
        pub mod event_files;
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
        pub mod io_priority;
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
        pub mod process_memory;
        pub mod shared_memory;
        pub mod user_faults;
    }
    pub mod processes {
        pub mod children;
        pub mod exec;
        pub mod exit;
        pub mod fork;
        pub mod prctl;
        pub mod threads;
        pub mod unshare;
    }
    pub mod signals;
    pub mod sockets;
    pub mod time {
        pub mod clocks;
        pub mod timers;
    }
}

/// Ways into the library and out: assembly, the table of calls, the start, the library's own
/// threads.
pub mod entry {
    #[allow(unsafe_code)]
    pub mod assembly;
    pub(crate) mod call_table;
    pub mod deliver_signals;
    pub mod faults;
    #[cfg(feature = "rehearsal")]
    pub mod host_double;
    pub mod query_thread;
    pub mod signal_thread;
    pub mod start;

    pub use assembly::*;
}

#[cfg(feature = "rehearsal")]
pub use abi::fork_record;
#[cfg(feature = "rehearsal")]
pub use entry::host_double;
