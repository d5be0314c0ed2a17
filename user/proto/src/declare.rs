//! The macro that declares a protocol.

/// Declares a protocol. Monitors with protocols of their own can use it too.
///
/// An operation is `number name(words; bytes name: kind; references list) -> (words; bytes name:
/// kind; references list);` where a word is `name: kind`, and every part may be missing. Kinds of
/// words and bytes are expressions of [`Kind`](crate::describe::Kind). A reference is `name: kind`
/// too, with an expression of [`Ref`](crate::reference::Ref). A last part `; up_to 8 name: kind`
/// allows that many further references, which the client's function neither sends nor takes. Each
/// gives
/// - `fn name(target, words.., bytes, references.., buffer for bytes) -> Result<name::Reply,
///   Errno>` for clients,
/// - a method of the trait `Server` for servers, which `dispatch` calls, and which answers `ENOSYS`
///   unless it is written,
/// - a module `name` with the label, the client's `Reply` and the server's `Output`,
/// - an entry of `PROTOCOL` for tracers and for the reference page.
#[macro_export]
macro_rules! protocol {
    (
        $(#[doc = $about:literal])*
        $protocol:ident = $number:literal;
        $(
            $(#[doc = $doc:literal])*
            $operation_number:literal $operation:ident
            ($($word_in:ident: $kind_in:expr),* $(; bytes $bytes_in:ident: $bytes_in_kind:expr)? $(; references $($reference_in:ident: $reference_in_kind:expr),+)? $(; up_to $most_in:literal $more_in:ident: $more_in_kind:expr)?)
            -> ($($word_out:ident: $kind_out:expr),* $(; bytes $bytes_out:ident: $bytes_out_kind:expr)? $(; references $($reference_out:ident: $reference_out_kind:expr),+)? $(; up_to $most_out:literal $more_out:ident: $more_out_kind:expr)?);
        )*
    ) => {
        /// Number of the protocol.
        pub const NUMBER: u32 = $number;

        /// Description of the protocol, for tracers and the reference page.
        pub const PROTOCOL: $crate::describe::Protocol = {
            #[allow(unused_imports)]
            use $crate::describe::Kind::*;
            #[allow(unused_imports)]
            use $crate::reference::names::*;
            $crate::describe::Protocol {
                number: $number,
                name: stringify!($protocol),
                about: concat!($($about, "\n"),*),
                operations: &[$($crate::describe::Operation {
                    protocol: stringify!($protocol),
                    name: stringify!($operation),
                    label: $operation::LABEL,
                    about: concat!($($doc, "\n"),*),
                    words_in: &[$((stringify!($word_in), $kind_in)),*],
                    bytes_in: $crate::protocol!(@bytes $($bytes_in: $bytes_in_kind)?),
                    references_in: &[$($((stringify!($reference_in), $reference_in_kind)),+)?],
                    more_in: &[$((stringify!($more_in), $more_in_kind, $most_in))?],
                    words_out: &[$((stringify!($word_out), $kind_out)),*],
                    bytes_out: $crate::protocol!(@bytes $($bytes_out: $bytes_out_kind)?),
                    references_out: &[$($((stringify!($reference_out), $reference_out_kind)),+)?],
                    more_out: &[$((stringify!($more_out), $more_out_kind, $most_out))?],
                }),*],
            }
        };

        $($crate::protocol! {
            @module $operation, $number << 16 | $operation_number,
            ($($word_out),*) ($($bytes_out)?) ($($($reference_out),+)?)
        })*

        $(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, clippy::extra_unused_lifetimes)]
            #[inline]
            pub fn $operation<'a>(
                target: $crate::sys::Reference,
                $($word_in: u64,)*
                $($bytes_in: impl Into<$crate::sys::Span<'a>>,)?
                $($($reference_in: $crate::sys::Reference,)+)?
                $($bytes_out: impl Into<$crate::sys::SpanMut<'a>>,)?
            ) -> Result<$operation::Reply, $crate::Errno> {
                $($(let $reference_out = $crate::client::slot()?;)+)?
                let received = $crate::client::call(
                    target,
                    $operation::LABEL,
                    $crate::sender::words([$($word_in),*]),
                    ($crate::protocol!(@into $crate::sys::Span; $($bytes_in)?), &[$($($reference_in),+)?]),
                    ($crate::protocol!(@into $crate::sys::SpanMut; $($bytes_out)?), &[$($($reference_out.handle()),+)?]),
                )?;
                let [$($word_out,)* ..] = received.words;
                Ok($operation::Reply {
                    $($word_out,)*
                    $($bytes_out: received.bytes(),)?
                    $($($reference_out: $reference_out.occupied(),)+)?
                })
            }
        )*

        /// The server's side. What is not written answers `ENOSYS`.
        #[allow(clippy::too_many_arguments, unused_variables)]
        pub trait Server {
            $(
                $(#[doc = $doc])*
                fn $operation(
                    &mut self,
                    request: &mut $crate::Request<'_>,
                    $($word_in: u64,)*
                    $($bytes_in: &[u8],)?
                    $($($reference_in: $crate::sys::Reference,)+)?
                ) -> $crate::HandlerResult<$operation::Output> {
                    Err($crate::Errno::ENOSYS)
                }
            )*
        }

        /// Carries out a request of this protocol; others are answered with `ENOSYS`.
        #[allow(unused_variables)]
        pub fn dispatch(server: &mut (impl Server + ?Sized), request: &mut $crate::Request<'_>) {
            #[allow(unused_imports)]
            use $crate::reference::names::*;
            match request.label() {
                $($operation::LABEL => {
                    let [$($word_in,)* ..] = request.words();
                    $(let $bytes_in = request.bytes();)?
                    $(let Some([$($reference_in),+]) = request.expect_references() else {
                        return request.refuse($crate::Errno::EPROTO);
                    };
                    if !request.may_notify(const { &[$($reference_in_kind),+] }) {
                        return request.refuse($crate::Errno::EACCES);
                    })?
                    let handled = server.$operation(request, $($word_in,)* $($bytes_in,)? $($($reference_in,)+)?);
                    request.conclude(handled);
                })*
                _ => request.refuse($crate::Errno::ENOSYS),
            }
        }
    };

    (@module $operation:ident, $label:expr, ($($word:ident),*) ($($bytes:ident)?) ($($reference:ident),*)) => {
        #[doc = concat!("Label and results of `", stringify!($operation), "`.")]
        #[allow(missing_docs)]
        pub mod $operation {
            /// The label of the request.
            pub const LABEL: u32 = $label;

            /// Reply that a client gets: words, number of bytes, references.
            #[derive(Debug)]
            pub struct Reply {
                $(pub $word: u64,)*
                $(pub $bytes: usize,)?
                $(pub $reference: $crate::sys::OwnedReference,)*
            }

            /// Answer of a server; bytes go through the request.
            #[derive(Debug, Default)]
            pub struct Output {
                $(pub $word: u64,)*
                $(pub $reference: $crate::Given,)*
            }

            impl $crate::server::Output for Output {
                fn into_parts(self) -> $crate::server::Parts {
                    $crate::server::Parts::new([$(self.$word),*], [$(self.$reference),*])
                }
            }
        }
    };

    (@bytes) => { $crate::describe::Kind::None };
    (@bytes $name:ident: $kind:expr) => { $kind };
    (@into $kind:path;) => { <$kind>::EMPTY };
    (@into $kind:path; $value:ident) => { $value.into() };
}
