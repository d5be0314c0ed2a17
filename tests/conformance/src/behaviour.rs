//! Tests of calls that succeed, and of the ends of waits.

mod checks;
mod guests;
mod keepers;
mod links;
mod memory;
mod messages;
mod objects;
mod processors;
mod schedule;
mod shadow;
mod user_races;
mod users;

use alloc::string::String;

pub use keepers::kernel_half;

/// One test.
pub struct Test {
    /// Stays for ever.
    pub id: &'static str,
    /// Statement that holds if the test passes.
    pub sentence: &'static str,
    /// The test; the fixture is fresh.
    pub function: fn() -> Result<(), String>,
}

const fn test(id: &'static str, sentence: &'static str, function: fn() -> Result<(), String>) -> Test {
    Test { id, sentence, function }
}

/// All of them.
pub const TESTS: &[Test] = &[
    test("IPC1001", "a call carries six words and a label there and back", messages::words),
    test("IPC1002", "a call carries 0, 1, 4095, 4096 and 16384 bytes there and back", messages::bytes),
    test("IPC1003", "a message carries eight references, and they lead where they led", messages::references),
    test("IPC1004", "more bytes than the receiver takes are refused, and the receiver waits on", messages::too_long),
    test("IPC1005", "a receive with a timeout ends with TimedOut", messages::timeout),
    test("IPC1006", "notification bits add up until they are received", messages::notification),
    test("IPC1013", "a reference notifies, or calls and sends, only with the right to", messages::rights),
    test("IPC1007", "the last reference that goes notifies the port", messages::no_references),
    test("IPC1008", "a detached client is answered later, once", messages::detach),
    test("IPC1009", "a client whose server's port is destroyed gets Gone", messages::gone),
    test("IPC1010", "thread_stop with the flag ends a wait with Interrupted", messages::interrupted),
    test("IPC1012", "a call that is made for a client ends with it, unless somebody is at work on the answer", messages::for_client),
    test("IPC1011", "a set receives from all its ports", messages::sets),
    test("MEM1001", "what is written through one mapping is read through another", memory::shared),
    test("MEM1002", "a region that is narrowed takes pages away, and gives them back when widened", memory::narrowed),
    test("MEM1003", "object pages cannot be read, and are zero when they come back", memory::object_pages),
    test("MEM1004", "reclaiming a range destroys what is in it and frees tables", memory::reclaimed),
    test("MEM1005", "a space runs in the smallest pool", memory::small_pool),
    test("MEM1006", "pages that nobody has touched since they were cleared are told from others", memory::touched),
    test("MEM1007", "pages are copied to others", memory::copied),
    test("MEM1008", "an overlay is seen in place of what it stands in front of, until it goes", memory::overlay),
    test("THR1001", "a keeper brings a page, and the thread goes on", keepers::page),
    test("THR1010", "a keeper's reply maps a page, and the thread goes on", keepers::mapped_by_reply),
    test("THR1002", "an exception reaches the keeper with all registers, and the answer sets them", keepers::exception),
    test("THR1004", "in a space whose time is hidden, reading the machine's time is an exception, else it is not", keepers::time_hidden),
    test("THR1007", "waits of a space for which time is held do not end by themselves, and those that are made later do", keepers::time_held),
    test("THR1003", "what thread_set_state sets, thread_get_state gives", keepers::state),
    test("THR1005", "the keeper of a space hears of a thread of it that is destroyed from outside, and nobody else can say so", keepers::ended),
    test("THR1006", "the watcher of a space, and not its keeper, hears once of the end of a space with threads", keepers::space_ended),
    test("SCHED1001", "a thread with a scheduler runs only on time that it is given, and its scheduler is told once that it is ready", schedule::told),
    test("SCHED1002", "a donation ends when its time is over, when something comes, when nobody can go on, and when who runs yields", schedule::ends),
    test("SCHED1003", "a server works on its client's time, and goes on by its own right when that is over", schedule::server),
    test("SCHED1004", "a server that is busy gets the time of whoever waits for it", schedule::inversion),
    test("SCHED1005", "a thread with a scheduler frees neither itself nor a thread that it makes", schedule::nobody_is_freed),
    test("SCHED1006", "schedulers nest: the inner one gets no more than the outer one gives", schedule::nested),
    test("SCHED1007", "a thread whose scheduler's port goes runs no more, until it gets another", schedule::orphan),
    test("OBJ1001", "every object can be moved, and stays what it was", objects::moved),
    test("OBJ1002", "every state can be read and set again", objects::states),
    test("OBJ1003", "reference_reveal names the address of what the parent owns, and nothing else", objects::revealed),
    test("OBJ1007", "a condition moves while a thread waits for it", objects::moved_in_use),
    test("OBJ1008", "a port with 500 references moves with all of them, and one with more stays", objects::known_to_many),
    test("SMP1001", "a page that was revoked is never read again, on any processor, once the call has returned", processors::revoked),
    test("SMP1003", "blank pages that threads on all processors touch at once are cleared once", processors::touched_at_once),
    test("SMP1002", "clients and servers on all processors meet at a port that moves, and each gets its own answer", processors::one_port),
    test("OBJ1005", "what an object is to be linked to is looked at as any argument, and nothing changes if it is refused", links::set),
    test("OBJ1006", "places for what an object is linked to are looked at as any argument, and nothing changes if they are refused", links::got),
    test("OBJ1004", "a call with a number that does not exist changes nothing", objects::unknown),
    test("GST1001", "a guest is left for ports, halts, and what its monitor has to do, with its state in the frame", guests::exits),
    test("GST1002", "a guest sees what its space has, and is left where that has nothing", guests::memory),
    test("GST1003", "a guest that is to be left is not entered", guests::pending),
    test("GST1004", "a guest is left when it takes interrupts, and takes what it is given", guests::delivered),
    test("GST1014", "a guest reads its CR8 from its frame, and is left when it writes it", guests::priority),
    test("GST1005", "frames, spaces and states that are none are refused", guests::refused),
    test("GST1006", "whatever stands in a frame, it is entered and left, or refused", guests::any),
    test("GST1007", "a shadow guest runs on the pages that were entered for it, with the rights that they were entered with", shadow::pages),
    test("GST1008", "a shadow guest is left for its control registers and for what it forgets, and its frame tells nothing of the machine's", shadow::control),
    test("GST1009", "a shadow guest's programs see no privileged pages", shadow::privileged),
    test("GST1010", "no guest, shadow or not, sees an object page", shadow::objects),
    test("GST1011", "a page that is taken from a running shadow guest is missed by it at once", shadow::taken),
    test("GST1012", "while pages are entered and taken away on all processors, a shadow guest sees nothing but what is given to it", shadow::races),
    test("GST1013", "whatever stands in a frame of a shadow guest, it is entered and left, or refused", shadow::any),
    test("GST1015", "a shadow guest with 32-bit addresses runs on the pages of both of its spaces", shadow::narrow),
    test("USR1001", "a frame of a user runs in its space and is left at a system call, with its registers", users::counts),
    test("USR1002", "a system call out of a frame, whatever its number, is its monitor's and names nothing", users::calls),
    test("USR1003", "a user's exceptions leave its frame with what they are, and nothing else happens", users::exceptions),
    test("USR1004", "a user sees what its space has, with its rights, and is left where that has nothing", users::memory),
    test("USR1005", "a page that a keeper brings comes to a user unseen", users::keeper),
    test("USR1006", "a user sees no object page", users::objects),
    test("USR1007", "a user that is to be left is left at once, wherever it runs", users::pending),
    test("USR1008", "addresses, flags and bases that no user has are refused, or what the processor makes of them", users::wrong),
    test("USR1009", "the time is hidden from a user whose space hides it, and from it alone", users::time),
    test("USR1010", "whatever stands in the frame of a user and whatever its code, it is entered and left", users::any),
    test("USR1011", "users of several threads count right at once, in all registers", user_races::at_once),
    test("USR1012", "a user's space and its code are taken away while it runs", user_races::taken),
    test("USR1013", "a frame is taken away while its user runs, and is written no more", user_races::frame_taken),
    test("USR1014", "while a page comes and goes, a user sees nothing but memory", user_races::races),
    test("GST1016", "a watched guest is left for its control registers, and its frame keeps what it believes", shadow::watched),
    test("GST1017", "no guest switches on protection keys, switches off machine checks or the caches, or has 16-bit programs that there are none of", guests::kept),
    test("GST1018", "pages that are not executable are none for fetches alone, whatever a shadow guest believes", shadow::not_executable),
];
