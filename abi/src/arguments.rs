//! Arguments of kernel calls, decoded by the table that the manual is made of.
//!
//! For each call there is a structure with a field for each of its arguments. The macros below make
//! it from the same lines as the [`manual`](crate::manual)'s [`Argument`]s, so a field, the chapter
//! of the manual and the number in an error status cannot differ. Messages are not decoded so:
//! their words are registers (see [`message`](crate::message)).

use crate::manual::{Argument, Kind};

pub use crate::manual::calls::*;

/// One argument of a call that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Number of the argument, from 1. A status that is about it names this.
    pub number: u8,
    /// The register's value.
    pub value: u64,
}

impl Word {
    /// The argument with this number, as `read` finds it.
    #[inline(always)]
    pub fn read(number: u8, read: impl Fn(u8) -> u64) -> Word {
        Word { number, value: read(number) }
    }
}

impl From<Word> for u8 {
    #[inline(always)]
    fn from(word: Word) -> u8 {
        word.number
    }
}

/// Arguments of a call.
pub trait Arguments {
    /// Decodes them. `read` returns the register of an argument, by its number from 1.
    fn read(read: impl Fn(u8) -> u64) -> Self;
}

macro_rules! decoder {
    ($call:ident: $($name:ident)*) => {
        impl $crate::arguments::Arguments for $call {
            #[inline(always)]
            fn read(read: impl Fn(u8) -> u64) -> Self {
                let mut number = 0;
                $(
                    number += 1;
                    let $name = $crate::arguments::Word::read(number, &read);
                )*
                $call { $($name,)* }
            }
        }
    };
}

/// Makes the structure of each call, which also has its chapter's `ARGUMENTS`.
macro_rules! arguments {
    ($($call:ident { $($name:ident: $kind:expr, $text:literal;)* })*) => {$(
        #[doc = concat!("Arguments of [`Call::", stringify!($call), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $call {
            $(
                #[doc = concat!("Argument `", stringify!($name), "`, as the manual has it. ", $text)]
                pub $name: $crate::arguments::Word,
            )*
        }

        impl $call {
            pub(crate) const ARGUMENTS: &[Argument] = &[$(Argument { name: stringify!($name), kind: $kind, text: $text },)*];
        }

        decoder!($call: $($name)*);
    )*};
}

/// Makes the structure of each verb: calls of this kind are there for every type of object.
macro_rules! verbs {
    ($($verb:ident { $($name:ident),* })*) => {$(
        #[doc = concat!("Arguments of each call that ends with `", stringify!($verb), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $verb {
            $(
                #[doc = concat!("Argument `", stringify!($name), "`, as the manual has it.")]
                pub $name: Word,
            )*
        }

        impl $verb {
            const NAMES: &[&'static str] = &[$(stringify!($name)),*];

            /// Returns the chapter's arguments for one type of object.
            pub(crate) const fn of<const COUNT: usize>(kinds: [Kind; COUNT], texts: [&'static str; COUNT]) -> [Argument; COUNT] {
                assert!(COUNT == Self::NAMES.len());
                let mut all = [Argument { name: "", kind: Kind::Number, text: "" }; COUNT];
                let mut index = 0;
                while index < COUNT {
                    all[index] = Argument { name: Self::NAMES[index], kind: kinds[index], text: texts[index] };
                    index += 1;
                }
                all
            }
        }

        decoder!($verb: $($name)*);
    )*};
}

verbs! {
    Destroy { object }
    Move { object, slot }
    Reference { object, reference, rights }
    GetState { object, buffer, size, links }
    SetState { object, buffer, size, links }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_number_that_the_manual_gives_it() {
        let MappingCreate { slot, region, rights, .. } = MappingCreate::read(|number| 100 + u64::from(number));
        assert_eq!([slot, region, rights].map(|word| (word.number, word.value)), [(1, 101), (5, 105), (7, 107)]);
        let names = [slot, region, rights].map(|word| MappingCreate::ARGUMENTS[word.number as usize - 1].name);
        assert_eq!(names, ["slot", "region", "rights"]);
    }

    #[test]
    fn a_verb_has_its_arguments_for_every_type() {
        let SetState { size, .. } = SetState::read(u64::from);
        assert_eq!(size, Word { number: 3, value: 3 });
        assert_eq!(Destroy::of([Kind::Number], ["text"])[0].name, "object");
    }
}
