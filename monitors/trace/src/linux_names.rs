//! Names of strace's for what is traced: Linux's system calls, and classes such as `%file`.

use nacre_proto::describe::{Kind, Operation};

/// Operations that carry out a system call, and its name and the names of its variants. Calls that
/// send no message have no row.
const CALLS: &[(&str, &[&str])] = &[
    ("directory.open", &["open", "openat", "openat2", "creat"]),
    ("directory.status_at", &["stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"]),
    ("directory.make_directory", &["mkdir", "mkdirat"]),
    ("directory.remove", &["unlink", "unlinkat", "rmdir"]),
    ("directory.rename", &["rename", "renameat", "renameat2"]),
    ("directory.link", &["link", "linkat"]),
    ("directory.symbolic_link", &["symlink", "symlinkat"]),
    ("directory.read_link", &["readlink", "readlinkat"]),
    ("directory.list", &["getdents", "getdents64"]),
    ("directory.set_mode_at", &["chmod", "fchmodat", "fchmodat2"]),
    ("directory.set_owner_at", &["chown", "lchown", "fchownat"]),
    ("directory.set_times_at", &["utimensat", "utime", "utimes", "futimesat"]),
    ("directory.make_node", &["mknod", "mknodat"]),
    ("directory.file_system_status", &["statfs"]),
    ("file.read", &["read", "pread64", "readv", "preadv", "preadv2"]),
    ("file.write", &["write", "pwrite64", "writev", "pwritev", "pwritev2"]),
    ("file.status", &["fstat"]),
    ("file.set_size", &["truncate", "ftruncate"]),
    ("file.set_mode", &["fchmod"]),
    ("file.set_owner", &["fchown"]),
    ("file.attribute", &["getxattr", "lgetxattr", "fgetxattr"]),
    ("file.set_attribute", &["setxattr", "lsetxattr", "fsetxattr"]),
    ("file.attributes", &["listxattr", "llistxattr", "flistxattr"]),
    ("file.remove_attribute", &["removexattr", "lremovexattr", "fremovexattr"]),
    ("file.map", &["mmap"]),
    ("file.poll", &["poll", "ppoll", "select", "pselect6"]),
    ("file.seek", &["lseek"]),
    ("file.sync", &["fsync", "fdatasync"]),
    ("file.allocate", &["fallocate"]),
    ("file.lock", &["fcntl", "flock"]),
    ("file.execute", &["execve", "execveat"]),
    ("terminal", &["ioctl"]),
    ("process.create", &["fork", "vfork"]),
    ("process.thread_create", &["clone", "clone3"]),
    ("process.wait", &["wait4", "waitid"]),
    ("process.kill", &["kill", "tkill", "tgkill"]),
    ("parent.exit", &["exit", "exit_group"]),
    ("clock.read", &["clock_gettime", "gettimeofday", "time"]),
    ("channel.pipe", &["pipe", "pipe2"]),
    ("channel.pair", &["socketpair"]),
    ("channel.socket", &["socket"]),
    ("channel.bind", &["bind"]),
    ("channel.listen", &["listen"]),
    ("channel.connect", &["connect"]),
    ("channel.accept", &["accept", "accept4"]),
    ("channel.shutdown", &["shutdown"]),
    ("channel.send", &["sendto", "sendmsg", "sendmmsg"]),
    ("channel.receive", &["recvfrom", "recvmsg", "recvmmsg"]),
];

/// Protocols of a class.
const CLASSES: &[(&str, &[&str])] = &[
    ("%desc", &["file", "terminal"]),
    ("%network", &["channel"]),
    ("%net", &["channel"]),
    ("%process", &["process", "parent"]),
    ("%memory", &["memory", "segment", "dataspace"]),
    ("%ipc", &["keyed", "mailbox"]),
    ("%clock", &["clock"]),
];

/// Returns true if a name of strace's means an operation: a class, or a system call.
pub fn is_named(operation: &Operation, name: &[u8]) -> bool {
    match name {
        b"all" => true,
        b"%file" => matches!(operation.bytes_in, Kind::Path | Kind::Paths(_)),
        b"%signal" => operation.protocol == "process" && matches!(operation.name, "kill" | "signal_take" | "dispositions"),
        _ if name.starts_with(b"%") => row(CLASSES, name).any(|protocol| protocol == operation.protocol),
        _ => CALLS.iter().any(|(carries, calls)| calls.iter().any(|call| call.as_bytes() == name) && is_called(operation, carries)),
    }
}

fn row(table: &'static [(&str, &[&'static str])], name: &[u8]) -> impl Iterator<Item = &'static str> {
    table.iter().filter(move |row| row.0.as_bytes() == name).flat_map(|row| row.1.iter().copied())
}

/// Returns true if a text is an operation's name, or its protocol's.
fn is_called(operation: &Operation, name: &str) -> bool {
    match name.split_once('.') {
        Some((protocol, short)) => (operation.protocol, operation.name) == (protocol, short),
        None => operation.protocol == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::PROTOCOLS;

    fn operations() -> impl Iterator<Item = &'static Operation> {
        PROTOCOLS.iter().flat_map(|protocol| protocol.operations.iter())
    }

    #[test]
    fn each_row_is_about_something_that_is_there() {
        for (carries, _) in CALLS {
            assert!(operations().any(|operation| is_called(operation, carries)), "{carries}");
        }
        for (class, _) in CLASSES {
            assert!(operations().any(|operation| is_named(operation, class.as_bytes())), "{class}");
        }
    }

    #[test]
    fn classes_are_those_of_strace() {
        let of = |name: &[u8]| operations().filter(|one| is_named(one, name)).map(|one| one.name).collect::<Vec<_>>();
        assert_eq!((of(b"openat"), of(b"execve"), of(b"nonesuch")), (vec!["open"], vec!["execute"], vec![]));
        assert!(of(b"%file").contains(&"open") && !of(b"%file").contains(&"read"));
        assert_eq!((of(b"all").len(), of(b"%signal").len()), (operations().count(), 3));
    }
}
