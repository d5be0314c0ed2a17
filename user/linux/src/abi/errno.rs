//! Linux's error numbers, as far as the library gives them itself. Those of a server pass through
//! as they come.

pub use nacre_proto::Errno;

/// Result of a call: a value, or an error number that the program sees negated.
pub type Answer = Result<u64, Errno>;

/// An error as the program finds it in `rax`.
pub const fn negated(error: Errno) -> u64 {
    (error.0 as u64).wrapping_neg()
}

macro_rules! short_names {
    ($($name:ident)*) => {
        $(#[doc = concat!("See [`Errno::", stringify!($name), "`].")] pub const $name: Errno = Errno::$name;)*
    };
}

short_names! {
    E2BIG ENOEXEC ELOOP ELIBBAD EPERM ENOENT ESRCH EINTR EIO EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT EEXIST ENODEV ENOTDIR EISDIR EINVAL EMFILE ENOTTY ESPIPE EPIPE
    ERANGE ENODATA EDEADLK ENAMETOOLONG ENOSYS EOPNOTSUPP ETIMEDOUT EBUSY ENOLCK EOVERFLOW EFBIG ECONNREFUSED EINPROGRESS
}

/// Inside the library: a signal cut the call off. It is made again, unless a handler ran that does
/// not ask for that: then it gives `EINTR`.
pub const ERESTART: Errno = Errno(512);
/// Interrupted by a signal; the call is made again in any case.
pub const ERESTART_ALWAYS: Errno = Errno(513);
/// Interrupted by a signal; the call is made again, or returns `EINTR` if any handler ran.
pub const ERESTART_UNHANDLED: Errno = Errno(514);
/// Interrupted by a signal in a wait with a limit; the call goes on with the rest of the limit.
pub const ERESTART_SLEEP: Errno = Errno(516);
/// Inside the library: the call needs a page of the program's that its user-fault file has to bring
/// first. It is made again when the page is there.
pub const EAWAITS_PAGE: Errno = Errno(517);
