//! Sentences about memory that is not there, with what helps.

use alloc::format;
use alloc::string::String;
use nacre_proto::Errno;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;
/// Ways to more memory.
const MORE: &str = "give this environment more (nacre run --memory SIZE, or a larger limit of what is around: --limit memory=SIZE, a pager's or a checkpoint's -m SIZE)";

/// Says why something could not be done, and what helps if memory is lacking.
pub fn because(errno: Errno) -> String {
    if errno == Errno::ENOMEM { format!("{errno}; {MORE}, or the guest less, with machine --memory SIZE") } else { format!("{errno}") }
}

/// Says why the guest has not got its memory. `pool`: limit of the environment's memory and what is
/// in use, if they are known.
pub fn of_guest(size: u64, errno: Errno, pool: Option<(u64, u64)>) -> String {
    let failed = format!("cannot take {} MiB of memory for the guest", size.div_ceil(MIB));
    match pool {
        Some((limit, used)) if errno == Errno::ENOMEM => {
            format!("{failed}: {} MiB of {} are left; {MORE}, or the guest less, with machine --memory SIZE", limit.saturating_sub(used) / MIB, limit / MIB)
        }
        _ => format!("{failed}: {}", because(errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_and_what_helps_is_said() {
        let text = of_guest(400 * MIB - 1, Errno::ENOMEM, Some((256 * MIB, 40 * MIB + 1)));
        assert!(text.starts_with("cannot take 400 MiB of memory for the guest: 215 MiB of 256 are left; give this environment more (nacre run --memory SIZE"), "{text}");
        assert!(because(Errno::ENOMEM).contains("; give this environment more"));
        assert_eq!((because(Errno::EACCES), of_guest(MIB, Errno::EACCES, Some((1, 2)))), (format!("{}", Errno::EACCES), format!("cannot take 1 MiB of memory for the guest: {}", Errno::EACCES)));
        assert!(of_guest(1, Errno::ENOMEM, Some((0, u64::MAX))).contains("0 MiB of 0 are left"));
    }
}
