//! What all kinds of object have in common: the six verbs.

use nacre_abi::{ObjectType, Status};

/// A handle of a kind of object.
pub trait Object: Copy {
    /// Type of the object.
    const TYPE: ObjectType;
    /// The handle of the object at `address`.
    fn at(address: u64) -> Self;
    /// The address of the object, or of a reference to it.
    fn address(self) -> u64;
    /// Destroys the object.
    fn destroy(self) -> Result<(), Status>;
}

/// Declares a handle with the verbs that all objects have; `create` and what only this kind can do
/// is written beside it.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $state:ident, $destroy:ident, $move:ident, $reference:ident, $get:ident, $set:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The address of the object, or of a reference to it.
            pub const fn address(self) -> u64 {
                self.0
            }

            /// The object that a reference leads to: wherever an object can be named, a reference
            /// to it serves too.
            pub const fn through(reference: $crate::Reference) -> $name {
                $name(reference.0)
            }

            /// Destroys the object.
            pub fn destroy(self) -> Result<(), nacre_abi::Status> {
                $crate::raw::call(nacre_abi::Call::$destroy, [self.0, 0, 0, 0]).map(drop)
            }

            /// Moves the object to `slot`; references to it lead there from now on.
            pub fn move_to(self, slot: u64) -> Result<$name, nacre_abi::Status> {
                $crate::raw::call(nacre_abi::Call::$move, [self.0, slot, 0, 0]).map(|_| $name(slot))
            }

            /// Makes `reference`, which exists or is a free slot, lead to the object, with `rights`
            /// (`REFERENCE_USE`, `REFERENCE_CONTROL`, `REFERENCE_NOTIFY`).
            pub fn reference(self, reference: $crate::Reference, rights: u64) -> Result<(), nacre_abi::Status> {
                $crate::raw::call(nacre_abi::Call::$reference, [self.0, reference.0, rights, 0]).map(drop)
            }

            /// Reads the state.
            pub fn get_state(self) -> Result<nacre_abi::state::$state, nacre_abi::Status> {
                self.get_state_and_links(&[])
            }

            /// Reads the state, and makes the existing references `links` (all that this kind has,
            /// or none) lead to what the object is linked to.
            pub fn get_state_and_links(self, links: &[$crate::Reference]) -> Result<nacre_abi::state::$state, nacre_abi::Status> {
                let mut words = [0; nacre_abi::state::$state::WORDS];
                $crate::raw::get_state(nacre_abi::Call::$get, self.0, &mut words, links)?;
                Ok(nacre_abi::state::$state::from_words(words))
            }

            /// Takes over a state; what the object is linked to stays.
            pub fn set_state(self, state: &nacre_abi::state::$state) -> Result<(), nacre_abi::Status> {
                self.set_state_and_links(state, &[])
            }

            /// Takes over a state, and links the object to what the references `links` lead to.
            pub fn set_state_and_links(self, state: &nacre_abi::state::$state, links: &[$crate::Reference]) -> Result<(), nacre_abi::Status> {
                $crate::raw::set_state(nacre_abi::Call::$set, self.0, &state.to_words(), links)
            }
        }

        impl $crate::Object for $name {
            const TYPE: nacre_abi::ObjectType = nacre_abi::ObjectType::$name;

            fn at(address: u64) -> $name {
                $name(address)
            }

            fn address(self) -> u64 {
                self.0
            }

            fn destroy(self) -> Result<(), nacre_abi::Status> {
                $name::destroy(self)
            }
        }
    };
}
pub(crate) use object;
