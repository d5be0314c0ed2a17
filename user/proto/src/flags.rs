//! Numbers that operations take: Linux's where Linux has them. The tables give their names to
//! tracers.

use crate::describe::Flag;

/// Declares constants, and a table of them.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident: $($name:ident = $value:literal $(of $mask:literal)?, $text:literal;)*) => {
        $(#[doc = $text] pub const $name: u64 = $value;)*

        $(#[$doc])*
        pub const $table: &[Flag] = &[$(Flag { name: stringify!($name), value: $value, mask: table!(@mask $value $($mask)?) },)*];
    };
    (@mask $value:literal) => { $value };
    (@mask $value:literal $mask:literal) => { $mask };
}

table! {
    /// Services of a parent.
    SERVICES:
    SERVICE_FILES = 1 of 0xffff_ffff_ffff_ffff, "The root directory.";
    SERVICE_MEMORY = 2 of 0xffff_ffff_ffff_ffff, "A memory pool.";
    SERVICE_PROCESS = 3 of 0xffff_ffff_ffff_ffff, "The process manager.";
    SERVICE_CLOCK = 4 of 0xffff_ffff_ffff_ffff, "The clock.";
    SERVICE_CHANNELS = 5 of 0xffff_ffff_ffff_ffff, "Pipes and local sockets.";
    SERVICE_OBJECTS = 6 of 0xffff_ffff_ffff_ffff, "A memory pool of the program's own, which ends with it: for memory that may hold kernel objects.";
    SERVICE_CONTROL = 7 of 0xffff_ffff_ffff_ffff, "Commands of whoever runs the system.";
    SERVICE_NETWORK = 8 of 0xffff_ffff_ffff_ffff, "Sockets of the internet.";
    SERVICE_NIC = 9 of 0xffff_ffff_ffff_ffff, "A network card.";
}

table! {
    /// Commands of whoever runs the system.
    COMMANDS:
    COMMAND_LIST = 1 of 0xffff_ffff_ffff_ffff, "Lists the environments: a line each of fields with a tab between them: path, kind, name, state, bytes of memory, nanoseconds of processors, and counts of a monitor's work (`NAME=COUNT`, with spaces between them).";
    COMMAND_FREEZE = 2 of 0xffff_ffff_ffff_ffff, "Freezes the outermost environment that can be frozen; the answer is its image.";
    COMMAND_KILL = 3 of 0xffff_ffff_ffff_ffff, "Sends a signal, by its number in the text, to the first process of the outermost world. With `COMMAND_END`, an environment that can be copied ends by force. With `COMMAND_DRIVER`, the machine's driver with the number in the text ends, and a new one starts.";
    COMMAND_FORK = 4 of 0xffff_ffff_ffff_ffff, "Makes copies of the outermost environment that can be frozen. Text: their number, in decimal digits; behind a newline what they read from the console, and then the end. The answer has a line for each copy: its number, `started`, `-`.";
    COMMAND_EXEC = 5 of 0xffff_ffff_ffff_ffff, "Starts a process in the outermost world. Text: its words, each with a zero behind it; with `COMMAND_TERMINAL` the first one is the rows and columns of its terminal. The answer is frames (`user/control/src/exec.rs`): what the process writes, and how it ended. It ends when the process has ended, and the process ends when nobody waits for the answer any more.";
    COMMAND_INPUT = 6 of 0xffff_ffff_ffff_ffff, "Input of a process. Text: the number of the command that started it, in decimal digits, a newline, and bytes; none: the end. It is done when there is room for more. `EPIPE`: the process reads no more.";
    COMMAND_SIGNAL = 7 of 0xffff_ffff_ffff_ffff, "Sends a signal to the group of a process, or, if it is `SIGKILL`, to its session. Text: number of the command that started it, a newline, and the signal, both in decimal digits.";
    COMMAND_WINDOW = 8 of 0xffff_ffff_ffff_ffff, "Sets the size of a process's terminal. Text: the number as above, a newline, rows, a space, and columns.";
    COMMAND_TAKEN = 9 of 0xffff_ffff_ffff_ffff, "Says that output has been taken, so that more may come. Text: the number as above, a newline, and how many bytes.";
    COMMAND_RELEASE = 10 of 0xffff_ffff_ffff_ffff, "Lets an environment go on that stands still by `COMMAND_HOLD`, or ends it, with `COMMAND_END`. Text: number of the command that froze it, in decimal digits; 0: it stands still since it was thawed. `ESRCH`: it does not stand still by that.";
    COMMAND_TRACE = 11 of 0xffff_ffff_ffff_ffff, "Shows what the outermost tracer sees, a line a message, until nobody waits for the answer any more. Without one, the outermost process manager starts one, unless `COMMAND_WITHIN` is set. Text: values of its option `-e`, each with a zero behind it; `-c` among them: counts since the last part instead, a line each with label in base 16, calls, errors and ticks. `EBUSY`: somebody is shown it already.";
    COMMAND_DIFFERENCE = 12 of 0xffff_ffff_ffff_ffff, "Tells what has changed in directories whose changes the machine keeps in its memory: for each file `A` (added), `C` (changed) or `D` (deleted), a space, its path, and a zero. `ENODEV`: there is none.";
    COMMAND_LOGS = 13 of 0xffff_ffff_ffff_ffff, "Tells what a copy of an environment has written to the console last, also of one that has ended lately. `ESRCH`: it is not known.";
}

table! {
    /// Flags of commands.
    COMMAND_FLAGS:
    COMMAND_END = 1, "The environment does not go on afterwards.";
    COMMAND_WAIT = 2, "The answer ends when all copies have ended. Another line for each: its number, `ended`, its status.";
    COMMAND_TERMINAL = 4, "The process has a terminal of its own.";
    COMMAND_HOLD = 8, "A frozen environment stands still until `COMMAND_RELEASE`, and the command is not done before that. Whoever gives commands lets it go on when nobody waits for the answer any more.";
    COMMAND_DRIVER = 16, "A driver of the machine is meant.";
    COMMAND_ROUND = 32, "A freeze is one round of a move, with the pages alone that have changed since the round before. Text: number of the round, in decimal digits; round 0 has all pages. The round with `COMMAND_HOLD` is the last one. `EINVAL`: it is not the next round.";
    COMMAND_WITHIN = 64, "A manager further out asks, which does itself what nobody within does.";
    COMMAND_STORE = 128, "A freeze goes into the file `/dev/store`, and there is no answer. `EINVAL`: a copy, or part of a move, does not lie there.";
    COMMAND_COPY = 0xffff_ffff_0000_0000, "Number of the copy that is meant; 0: the original.";
}

/// Position in the flags of a command of the number of the copy that is meant.
pub const COPY_SHIFT: u32 = COMMAND_COPY.trailing_zeros();

table! {
    /// Kinds of report.
    REPORTS:
    REPORT_MESSAGE = 0 of 0xffff_ffff_ffff_ffff, "A message for people.";
    REPORT_FOREIGN_CALL = 1 of 0xffff_ffff_ffff_ffff, "A foreign call that is not implemented: `name(number)`.";
}

table! {
    /// Flags of `directory.open`.
    OPEN_FLAGS:
    O_RDONLY = 0 of 3, "Open for reading.";
    O_WRONLY = 1 of 3, "Open for writing.";
    O_RDWR = 2 of 3, "Open for both.";
    O_CREAT = 0o100, "Make the file if it is not there.";
    O_EXCL = 0o200, "With `O_CREAT`: fail if it is there.";
    O_NOCTTY = 0o400, "The terminal does not become the controlling one.";
    O_TRUNC = 0o1000, "Cut it to size 0.";
    O_APPEND = 0o2000, "Write at the end.";
    O_NONBLOCK = 0o4000, "Fail with `EAGAIN` instead of waiting.";
    O_DSYNC = 0o10000, "Ignored.";
    O_DIRECT = 0o40000, "Of a pipe: what is written stays apart. Else ignored.";
    O_LARGEFILE = 0o100000, "Ignored.";
    O_DIRECTORY = 0o200000, "Fail with `ENOTDIR` unless it is a directory.";
    O_NOFOLLOW = 0o400000, "Fail with `ELOOP` if it is a symbolic link.";
    O_NOATIME = 0o1000000, "Ignored.";
    O_CLOEXEC = 0o2000000, "Ignored by servers.";
    O_PATH = 0o10000000, "Only a place in the tree: neither read nor written.";
}

table! {
    /// Flags of `memory.segment_create`.
    SEGMENT_FLAGS:
    SEGMENT_OBJECTS = 1, "The memory may hold kernel objects and page tables. Nobody can wait at its words.";
    SEGMENT_PAGEABLE = 2, "Pages of it may go when nobody looks, and come when they are touched: no answer of a server is received there.";
    SEGMENT_OVERCOMMIT = 4, "With `SEGMENT_PROMISED`: the size may exceed what the pool has. Without: a pager promises pages when they are touched, if all would fit beside those in use.";
    SEGMENT_PROMISED = 8, "Pages may come when they are touched, and stay then. The pool pays for a page from then on; a page that it cannot pay for is an exception of whoever touches it.";
}

table! {
    /// Bits of a page in the answer of `segment.pages`. None: the page is zeros that nobody has
    /// touched, or has never been read from its file.
    PAGE_STATES:
    PAGE_HERE = 1, "The page is in memory.";
    PAGE_AWAY = 2, "The page was put away.";
    PAGE_PINNED = 4, "The page does not go once it is in memory.";
}

table! {
    /// Flags of `segment.pin`.
    PIN_FLAGS:
    PIN_LATER = 1, "Pages are not brought: each stays once somebody has touched it.";
}

table! {
    /// Advice of `segment.advise`.
    ADVICE:
    ADVICE_BRING = 1 of 0xffff_ffff_ffff_ffff, "The pages are needed soon: those that were put away come back.";
    ADVICE_PUT_AWAY = 2 of 0xffff_ffff_ffff_ffff, "The pages are not needed soon: they are put away, but for pinned ones.";
    ADVICE_COOL = 3 of 0xffff_ffff_ffff_ffff, "The pages are not needed soon: they are the next to be put away.";
}

table! {
    /// Flags of `dataspace.attach` and `dataspace.share`.
    ATTACH_FLAGS:
    ATTACH_READ = 1, "To be read and executed, and not written.";
}

table! {
    /// Operations that a manager of dataspaces supports.
    DATASPACE_OPERATIONS:
    DATASPACE_SHARE = 1, "`dataspace.share`.";
    DATASPACE_COPY = 2, "`dataspace.copy`: pages are copied when they are touched.";
    DATASPACE_TRANSFER = 4, "`dataspace.transfer`, to it and from it.";
    DATASPACE_CREATE = 8, "`dataspace.create`.";
    DATASPACE_DELETE = 16, "`dataspace.delete`.";
    DATASPACE_STAYS = 32, "Pages that were touched stay in memory.";
    DATASPACE_LASTS = 64, "Dataspaces with a name outlive their references, their manager and the machine. `identify` gives a reference that owns one.";
}

table! {
    /// Flags of `memory.share`.
    POOL_FLAGS:
    POOL_DATA = 1, "Through the reference comes no memory that may hold kernel objects, nor a pool that gives such memory.";
    POOL_NAMELESS = 2, "Through the reference, and through pools that come through it, no dataspace is found by its name, and none is given one.";
}

table! {
    /// Flags of operations on paths.
    AT_FLAGS:
    AT_SYMLINK_NOFOLLOW = 0x100, "Not what the symbolic link at the end leads to, but the link.";
    AT_SYMLINK_FOLLOW = 0x400, "Of `link`: what the symbolic link at the end leads to.";
    AT_EMPTY_PATH = 0x1000, "An empty path is the directory or file itself.";
}

table! {
    /// Flags of `directory.rename`.
    RENAME_FLAGS:
    RENAME_NOREPLACE = 1, "Fail with `EEXIST` if the new name is there.";
    RENAME_EXCHANGE = 2, "Exchange the two.";
    RENAME_NO_DIRECTORY = 0x1_0000_0000, "Fail with `EISDIR` if a directory would get another name.";
}

table! {
    /// Events of `file.poll`.
    POLL_EVENTS:
    POLLIN = 1, "Reading would not wait.";
    POLLPRI = 2, "Something exceptional.";
    POLLOUT = 4, "Writing would not wait.";
    POLLERR = 8, "An error.";
    POLLHUP = 0x10, "The other end is gone.";
    POLLRDNORM = 0x40, "As `POLLIN`.";
    POLLWRNORM = 0x100, "As `POLLOUT`.";
    POLLRDHUP = 0x2000, "The other end writes no more.";
}

table! {
    /// Events of `terminal.attend`, as bits of a notification.
    TERMINAL_EVENTS:
    TERMINAL_INTERRUPT = 1, "The key for `SIGINT`.";
    TERMINAL_QUIT = 2, "The key for `SIGQUIT`.";
    TERMINAL_SUSPEND = 4, "The key for `SIGTSTP`.";
    TERMINAL_HANGUP = 8, "The terminal has gone.";
    TERMINAL_WINDOW = 0x10, "It has another size.";
    TERMINAL_ATTENTION = 0x20, "Ctrl-\\, in whatever mode the terminal is. While somebody attends to it, nobody reads it.";
}

table! {
    /// Flags of `process.begin`.
    BEGIN_FLAGS:
    BEGIN_PROGRAM = 1, "It is another program: `execve`, and not `fork`.";
    BEGIN_ATTENDS = 2, "It will attach an agent: until then signals wait.";
    BEGIN_INHERITS = 4, "It ignores what its maker did, and not `ignored`.";
    BEGIN_SERVED = 8, "Its maker serves it and all that it creates: when the maker ends, they end as by `SIGKILL`.";
}

table! {
    /// Questions of `process.ask`.
    QUESTIONS:
    ASK_LIMIT = 1 of 0xff, "The limit of a resource: the first word is its number.";
    ASK_LIMIT_SET = 2 of 0xff, "The limit as it was; it becomes what the second and third word say, soft and hard.";
    ASK_MEMORY = 3 of 0xff, "Bytes from an address on, as many as the second word says; the third is what the caller is permitted, as capabilities.";
    ASK_MEMORY_SET = 4 of 0xff, "Puts bytes at an address. The first word of the answer is how many were read, or put.";
    ASK_FILE = 5 of 0xff, "The open file that has this descriptor: its mode and its flags, and a reference to it.";
    ASK_PROCESSORS = 6 of 0xff, "The processors that a thread was to run on, a bit for each: the first word is its number.";
    ASK_PROCESSORS_SET = 7 of 0xff, "The same; they become those that the second word says.";
    ASK_TEXT = 8 of 0xff, "What a file below `/proc/PID` says, from the byte that the first word says on: the data is its path. The third word is as that of `ASK_MEMORY`.";
    ASK_LINK = 9 of 0xff, "Where a link below `/proc/PID` leads, the same way.";
    ASK_NUMBERS = 10 of 0xff, "The names in its `fd`, `fdinfo` or `task`, which are numbers: four bytes each. The first word is the lowest one that is wanted.";
    ASK_MANAGER = 11 of 0xff, "Moves all dataspaces of the process to the manager that the data names, as `dataspace.transfer` does, or none; if the first word is 1, those that it takes later, too. The third word is as that of `ASK_MEMORY`. The answer: how many, and how many bytes.";
    ASK_THREADS = 12 of 0xff, "What each thread does: a line of its number, what it waits for as the call `thread_time` tells it, and the name of the system call that it made last. The first word of the answer is how many bytes of memory the process has.";
    ASK_PRIVILEGED = 0x100, "Whoever asks may do so of anybody.";
}

table! {
    /// Flags of `process.dispositions`: those of `sigaction` for `SIGCHLD`.
    CHILD_FLAGS:
    SA_NOCLDSTOP = 1, "No signal when a child stops or goes on.";
    SA_NOCLDWAIT = 2, "Children that end are not kept for `wait`.";
}

table! {
    /// Options of `process.wait`.
    WAIT_OPTIONS:
    WNOHANG = 1, "Does not wait.";
    WUNTRACED = 2, "Children that have stopped, too.";
    WEXITED = 4, "Children that have ended.";
    WCONTINUED = 8, "Children that go on, too.";
    WNOWAIT = 0x100_0000, "The change is told again next time.";
    WALL = 0x4000_0000, "Children of any exit signal.";
    WCLONE = 0x8000_0000, "Only children whose exit signal is not `SIGCHLD`.";
}

table! {
    /// Sources of a signal (`si_code`).
    SIGNAL_CODES:
    SI_USER = 0 of 0xffff_ffff_ffff_ffff, "`kill`.";
    SI_KERNEL = 0x80 of 0xffff_ffff_ffff_ffff, "The system.";
    SI_QUEUE = 0xffff_ffff_ffff_ffff of 0xffff_ffff_ffff_ffff, "`sigqueue`.";
    SI_TKILL = 0xffff_ffff_ffff_fffa of 0xffff_ffff_ffff_ffff, "`tgkill`.";
    CLD_EXITED = 1 of 0xffff_ffff_ffff_ffff, "Of `SIGCHLD`: it has exited.";
    CLD_KILLED = 2 of 0xffff_ffff_ffff_ffff, "A signal has ended it.";
    CLD_DUMPED = 3 of 0xffff_ffff_ffff_ffff, "The same, with a core dump.";
    CLD_STOPPED = 5 of 0xffff_ffff_ffff_ffff, "It has stopped.";
    CLD_CONTINUED = 6 of 0xffff_ffff_ffff_ffff, "It goes on.";
}

table! {
    /// Kinds of socket.
    SOCKETS:
    SOCK_STREAM = 1 of 0xffff_ffff_ffff_ffff, "Bytes in order.";
    SOCK_DGRAM = 2 of 0xffff_ffff_ffff_ffff, "Messages, each for itself.";
    SOCK_SEQPACKET = 5 of 0xffff_ffff_ffff_ffff, "Messages in order, between two.";
}

table! {
    /// Flags of `channel.bind`.
    BIND_FLAGS:
    BIND_REUSE_ADDRESS = 1, "Others that say so may have the port, too, of TCP if they do not listen.";
    BIND_REUSE_PORT = 2, "Others of the same user that say so may have the port, too, and share in what comes.";
    BIND_ALONE = 4, "Nobody has the port yet, whatever he says.";
}

table! {
    /// Ends of a connection.
    ENDS:
    END_OWN = 0 of 0xffff_ffff_ffff_ffff, "The own one.";
    END_PEER = 1 of 0xffff_ffff_ffff_ffff, "The other one.";
}

table! {
    /// Directions of the bytes of a connection, for one of its ends.
    WAYS:
    WAY_IN = 0 of 0xffff_ffff_ffff_ffff, "What it receives.";
    WAY_OUT = 1 of 0xffff_ffff_ffff_ffff, "What it sends.";
}

table! {
    /// Flags of `channel.send` and `channel.receive`.
    MESSAGE_FLAGS:
    MSG_OOB = 1, "Sending to a terminal: also if output of the background stops it.";
    MSG_PEEK = 2, "What is received stays there.";
    MSG_CTRUNC = 8, "References were lost.";
    MSG_TRUNC = 0x20, "The message was longer.";
    MSG_DONTWAIT = 0x40, "Fail with `EAGAIN` instead of waiting.";
    MSG_EOR = 0x80, "The end of a message.";
    MSG_MORE = 0x8000, "Sending: more parts follow. Receiving: what is left stays, to be received next; there is more.";
    MSG_CREDENTIALS = 0x1_0000, "Who sends is told; bytes of different senders stay apart.";
    MSG_BARE = 0x2_0000, "Receiving: bytes alone, without a name and without what is said of references.";
}

table! {
    /// Origins of an offset in `file.seek`.
    WHENCE:
    SEEK_SET = 0 of 0xffff_ffff_ffff_ffff, "The start.";
    SEEK_CUR = 1 of 0xffff_ffff_ffff_ffff, "The position.";
    SEEK_END = 2 of 0xffff_ffff_ffff_ffff, "The end.";
    SEEK_DATA = 3 of 0xffff_ffff_ffff_ffff, "The next data at or after the offset.";
    SEEK_HOLE = 4 of 0xffff_ffff_ffff_ffff, "The next hole at or after the offset.";
}

table! {
    /// Nanoseconds with a meaning of their own, in times that are set.
    TIMES:
    UTIME_NOW = 0x3fff_ffff of 0xffff_ffff_ffff_ffff, "The present time.";
    UTIME_OMIT = 0x3fff_fffe of 0xffff_ffff_ffff_ffff, "No change.";
}

table! {
    /// Offsets and flags with a meaning of their own.
    NONE:
    OWN_POSITION = 0xffff_ffff_ffff_ffff of 0xffff_ffff_ffff_ffff, "The file's own position, which moves.";
}

table! {
    /// Flags of `file.flags`.
    FILE_FLAGS:
    KEEP_FLAGS = 0xffff_ffff_ffff_ffff of 0xffff_ffff_ffff_ffff, "No change.";
    FILE_APPEND = 0o2000, "Write at the end.";
    FILE_NONBLOCK = 0o4000, "Fail with `EAGAIN` instead of waiting.";
    FILE_DIRECT = 0o40000, "Of a pipe: what is written stays apart.";
}

table! {
    /// Times at which `terminal.set_attributes` takes effect.
    WHEN:
    TCSANOW = 0 of 0xffff_ffff_ffff_ffff, "At once.";
    TCSADRAIN = 1 of 0xffff_ffff_ffff_ffff, "When the output is out.";
    TCSAFLUSH = 2 of 0xffff_ffff_ffff_ffff, "When the output is out, and input not yet read is dropped.";
}

table! {
    /// Clocks.
    CLOCKS:
    CLOCK_REALTIME = 0 of 0xffff_ffff_ffff_ffff, "Time since 1970.";
    CLOCK_MONOTONIC = 1 of 0xffff_ffff_ffff_ffff, "Time since the machine started.";
}

table! {
    /// Kinds of file in a mode (`st_mode & 0o170000`).
    FILE_KINDS:
    S_IFIFO = 0o010000 of 0o170000, "A pipe.";
    S_IFCHR = 0o020000 of 0o170000, "A character device.";
    S_IFDIR = 0o040000 of 0o170000, "A directory.";
    S_IFBLK = 0o060000 of 0o170000, "A block device.";
    S_IFREG = 0o100000 of 0o170000, "A regular file.";
    S_IFLNK = 0o120000 of 0o170000, "A symbolic link.";
    S_IFSOCK = 0o140000 of 0o170000, "A socket.";
}

table! {
    /// Flags of `file.share`.
    SHARE_FLAGS:
    SHARE_WRITE = 2, "To be written, too.";
}

table! {
    /// Operations that `file.seals` forbids.
    SEALS:
    F_SEAL_SEAL = 1, "More seals.";
    F_SEAL_SHRINK = 2, "A smaller size.";
    F_SEAL_GROW = 4, "A larger size.";
    F_SEAL_WRITE = 8, "Writes.";
    F_SEAL_FUTURE_WRITE = 0x10, "Writes, but through memory that is shared already.";
}

table! {
    /// Flags of `file.allocate`.
    ALLOCATE_FLAGS:
    FALLOC_FL_KEEP_SIZE = 1, "The file gets no longer.";
    FALLOC_FL_PUNCH_HOLE = 2, "The part becomes a hole.";
}

table! {
    /// Kinds of lock.
    LOCKS:
    LOCK_READ = 0 of 0xffff_ffff_ffff_ffff, "Others may read.";
    LOCK_WRITE = 1 of 0xffff_ffff_ffff_ffff, "Nobody else.";
    LOCK_NONE = 2 of 0xffff_ffff_ffff_ffff, "No lock.";
}

table! {
    /// Flags of `file.lock`.
    LOCK_FLAGS:
    LOCK_WAIT = 1, "Waits until it can be had.";
    LOCK_TEST = 2, "Only looks.";
    LOCK_WHOLE = 4, "The file as `flock` locks it, which is another lock.";
}

table! {
    /// Flags of `directory.watch`.
    WATCH_FLAGS:
    IN_ACCESS = 1, "It was read.";
    IN_MODIFY = 2, "It was written.";
    IN_ATTRIB = 4, "What is known of it has changed.";
    IN_CLOSE_WRITE = 8, "Closed, and was open to be written.";
    IN_CLOSE_NOWRITE = 0x10, "Closed, and was not.";
    IN_OPEN = 0x20, "Opened.";
    IN_MOVED_FROM = 0x40, "A name has gone elsewhere.";
    IN_MOVED_TO = 0x80, "A name has come.";
    IN_CREATE = 0x100, "A name was made.";
    IN_DELETE = 0x200, "A name was removed.";
    IN_DELETE_SELF = 0x400, "It has gone.";
    IN_MOVE_SELF = 0x800, "It has another name.";
    IN_ONLYDIR = 0x100_0000, "Only if it is a directory.";
    IN_DONT_FOLLOW = 0x200_0000, "Ignored by servers.";
    IN_EXCL_UNLINK = 0x400_0000, "Ignored.";
    IN_MASK_CREATE = 0x1000_0000, "Only if it is not watched yet.";
    IN_MASK_ADD = 0x2000_0000, "Besides what it is watched for.";
    IN_ONESHOT = 0x8000_0000, "Once.";
}

table! {
    /// Kinds of objects of `keyed`.
    KEYED_KINDS:
    KEYED_MEMORY = 0 of 0xffff_ffff_ffff_ffff, "A segment of memory.";
    KEYED_SEMAPHORES = 1 of 0xffff_ffff_ffff_ffff, "A set of semaphores.";
    KEYED_MESSAGES = 2 of 0xffff_ffff_ffff_ffff, "A queue of messages.";
}

table! {
    /// Flags of `keyed.get`, beside a mode, and of its messages.
    KEYED_FLAGS:
    IPC_CREAT = 0o1000, "Made if it is not there.";
    IPC_EXCL = 0o2000, "It must not be there.";
    IPC_NOWAIT = 0o4000, "Does not wait.";
    MSG_NOERROR = 0o10000, "A longer message is cut off.";
    MSG_EXCEPT = 0o20000, "The first that is not of the kind.";
}

table! {
    /// Ways to notify a process of a message.
    NOTICES:
    SIGEV_SIGNAL = 0 of 0xffff_ffff_ffff_ffff, "By a signal.";
    SIGEV_NONE = 1 of 0xffff_ffff_ffff_ffff, "Not at all.";
    SIGEV_THREAD = 2 of 0xffff_ffff_ffff_ffff, "By a thread of its own.";
}

table! {
    /// Flags of `file.set_attribute`.
    ATTRIBUTE_FLAGS:
    XATTR_CREATE = 1, "The attribute must not be there.";
    XATTR_REPLACE = 2, "The attribute must be there.";
}
