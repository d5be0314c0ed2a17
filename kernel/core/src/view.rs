//! Objects as typed views over words of kernel memory.
//!
//! An object is nothing but words in an object frame; a view names them. Every bit pattern is a
//! valid word, so a view can be made of any address without unsafe code, and two views of one
//! object may exist at once.

use crate::machine::Physical;
use nacre_abi::Rights;

/// Type that a word of an object can be read as.
pub trait Word: Copy {
    /// Converts from the raw word.
    fn from_word(word: u64) -> Self;
    /// Converts to the raw word.
    fn to_word(self) -> u64;
}

impl Word for u64 {
    fn from_word(word: u64) -> u64 {
        word
    }
    fn to_word(self) -> u64 {
        self
    }
}

impl Word for Physical {
    fn from_word(word: u64) -> Physical {
        Physical(word)
    }
    fn to_word(self) -> u64 {
        self.0
    }
}

impl Word for Rights {
    fn from_word(word: u64) -> Rights {
        Rights(word)
    }
    fn to_word(self) -> u64 {
        self.0
    }
}

/// Declares a view: fields with getter, setter, type and word number, and places (anchors and nodes
/// of lists) with the number of their first word.
macro_rules! view {
    ($(#[$doc:meta])* $name:ident, $words:literal words {
        $($(#[$field_doc:meta])* $field:ident, $setter:ident: $kind:ty = $index:literal;)*
    } places {
        $($(#[$place_doc:meta])* $place:ident = $place_index:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'k> {
            /// Place of the object.
            pub at: $crate::machine::Physical,
            words: &'k [core::cell::Cell<u64>; $words],
        }

        #[allow(dead_code, missing_docs)]
        impl<'k> $name<'k> {
            /// A view of the object at `at`.
            #[inline(always)]
            pub fn new<M: $crate::machine::Machine>(machine: &'k M, at: $crate::machine::Physical) -> Self {
                $name { at, words: machine.words(at) }
            }

            $(
                $(#[$field_doc])*
                #[inline(always)]
                pub fn $field(self) -> $kind {
                    <$kind as $crate::view::Word>::from_word(self.words[$index].get())
                }
                #[inline(always)]
                pub fn $setter(self, value: $kind) {
                    self.words[$index].set($crate::view::Word::to_word(value))
                }
            )*

            $(
                $(#[$place_doc])*
                #[inline(always)]
                pub fn $place(self) -> $crate::machine::Physical {
                    self.at.add(8 * $place_index)
                }
            )*
        }
    };
}
pub(crate) use view;
