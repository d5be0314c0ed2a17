//! The exported states: plain words, one file an object. The first word of each is a frozen header.

mod condition;
mod mapping;
mod mutex;
mod port;
mod port_set;
mod reference;
mod region;
mod space;
mod thread;

pub use condition::ConditionState;
pub use mapping::MappingState;
pub use mutex::MutexState;
pub use port::PortState;
pub use port_set::PortSetState;
pub use reference::ReferenceState;
pub use region::RegionState;
pub use space::SpaceState;
pub use thread::{FPU_SIZE, REGISTERS, ThreadState};

use crate::ObjectType;

/// Bits 32-63 of every header: "NS" and nothing else.
const HEADER_MAGIC: u64 = 0x4e53_0000;

/// The header of a state: bits 32-63 a magic number, 16-31 the version of this state's layout, 0-7
/// the object's type.
pub const fn header(object: ObjectType, version: u16) -> u64 {
    HEADER_MAGIC << 32 | (version as u64) << 16 | object as u64
}

/// The header of the state of an object of this type, in the version that this kernel knows.
pub const fn current_header(object: ObjectType) -> u64 {
    match object {
        ObjectType::Space => SpaceState::HEADER,
        ObjectType::Region => RegionState::HEADER,
        ObjectType::Mapping => MappingState::HEADER,
        ObjectType::Thread => ThreadState::HEADER,
        ObjectType::Port => PortState::HEADER,
        ObjectType::PortSet => PortSetState::HEADER,
        ObjectType::Reference => ReferenceState::HEADER,
        ObjectType::Mutex => MutexState::HEADER,
        ObjectType::Condition => ConditionState::HEADER,
    }
}

/// Object that `memory_objects` lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ObjectEntry {
    /// Address of the object in the caller's space.
    pub address: u64,
    /// Number of its [`ObjectType`].
    pub kind: u64,
}

/// Declares a state: a `repr(C)` structure of 64-bit words behind a header.
macro_rules! state {
    ($(#[$doc:meta])* $name:ident, $object:ident, version $version:literal, $words:literal words {
        $($(#[$field_doc:meta])* $field:ident),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(C)]
        pub struct $name {
            /// See [`header`](crate::state::header).
            pub header: u64,
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// The header of this version.
            pub const HEADER: u64 = crate::state::header(crate::ObjectType::$object, $version);
            /// Number of 64-bit words of the state.
            pub const WORDS: usize = $words;
            /// Size of the state in bytes.
            pub const SIZE: u64 = 8 * $words;

            /// The state as words.
            pub const fn to_words(&self) -> [u64; $words] {
                [self.header, $(self.$field,)*]
            }

            /// The state in `words`, whatever its header says.
            pub const fn from_words(words: [u64; $words]) -> $name {
                let [header, $($field,)*] = words;
                $name { header, $($field,)* }
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name { header: Self::HEADER, $($field: 0,)* }
            }
        }

        const _: () = assert!(core::mem::size_of::<$name>() == 8 * $words);
    };
}
use state;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_golden() {
        assert_eq!(SpaceState::HEADER, 0x4e53_0000_0002_0001);
        assert_eq!(RegionState::HEADER, 0x4e53_0000_0001_0002);
        assert_eq!(MappingState::HEADER, 0x4e53_0000_0001_0003);
        assert_eq!(ThreadState::HEADER, 0x4e53_0000_0002_0004);
        assert_eq!(PortState::HEADER, 0x4e53_0000_0001_0005);
        assert_eq!(PortSetState::HEADER, 0x4e53_0000_0001_0006);
        assert_eq!(ReferenceState::HEADER, 0x4e53_0000_0001_0007);
        assert_eq!(MutexState::HEADER, 0x4e53_0000_0001_0008);
        assert_eq!(ConditionState::HEADER, 0x4e53_0000_0001_0009);
    }

    #[test]
    fn a_region_state_is_these_bytes() {
        let state = RegionState { start: 0x1000, size: 0x2000, rights: 7, ..RegionState::default() };
        assert_eq!(state.to_words(), [0x4e53_0000_0001_0002, 0x1000, 0x2000, 7]);
        assert_eq!(RegionState::from_words(state.to_words()), state);
    }

    #[test]
    fn thread_registers_stand_where_the_kernel_saves_them() {
        assert_eq!(core::mem::offset_of!(ThreadState, rax), 8 * ThreadState::FIRST_REGISTER);
        assert_eq!(core::mem::offset_of!(ThreadState, fault), 8 * (ThreadState::FIRST_REGISTER + REGISTERS));
    }

    #[test]
    fn a_thread_state_is_these_bytes() {
        let state = ThreadState::from_words(core::array::from_fn(|word| if word == 0 { ThreadState::HEADER } else { word as u64 }));
        assert_eq!([state.flags, state.fpu_size, state.rax, state.r15, state.rip, state.foreign_entry], [1, 2, 3, 18, 19, 23]);
        assert_eq!([state.fault, state.fault_first, state.fault_second, state.fault_third], [24, 25, 26, 27]);
        assert_eq!([state.scheduler_word, state.time, state.reserved_first, state.reserved_second], [28, 29, 30, 31]);
        let flags = [ThreadState::STOPPED, ThreadState::FPU_USED, ThreadState::AWAITS_REPLY, ThreadState::ABANDONED, ThreadState::SCHEDULED, ThreadState::KNOWN];
        assert_eq!(flags, [1, 2, 4, 8, 16, 32]);
        assert_eq!(ThreadState::SIZE, 256);
    }
}
