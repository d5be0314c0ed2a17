//! Linux's error numbers, as far as the library gives them itself. Those of a server pass through as they come.

pub use nacre_proto::Errno;

/// What a call gives: a value, or an error number that the program sees negated.
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
    EPERM ENOENT ESRCH EINTR EIO EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT EEXIST ENODEV ENOTDIR EISDIR EINVAL EMFILE ENOTTY ESPIPE EPIPE
    ERANGE EDEADLK ENAMETOOLONG ENOSYS EOPNOTSUPP ETIMEDOUT
}
