//! Protocol 5, `terminal`: what a stream that is a terminal answers besides.

use crate::flags::{TERMINAL_EVENTS, WHEN};

crate::protocol! {
    /// Requests to a file that is a terminal, at the file's port. All other files answer `ENOTTY`.
    terminal = 5;

    /// The attributes.
    1 get_attributes() -> (; bytes attributes: Structure("Attributes"));
    /// Sets the attributes.
    2 set_attributes(when: Choice(WHEN); bytes attributes: Structure("Attributes")) -> ();
    /// The size, in characters.
    3 window() -> (rows: Number, columns: Number);
    /// Says that the size is this one.
    4 set_window(rows: Number, columns: Number) -> ();
    /// Returns the number of bytes that can be read without waiting.
    5 waiting() -> (count: Number);
    /// Makes the holder of this port look after the terminal: the server notifies the port of these
    /// keys and changes, which then have no effect of their own. A later call replaces the port,
    /// or, where terminals are lent on, goes before it for its own events. `EOPNOTSUPP`: nobody can
    /// attend to `TERMINAL_ATTENTION` here.
    6 attend(events: Flags(TERMINAL_EVENTS); references port: Kept(Port)) -> ();
    /// Drops what was typed and not read (0), what was written and not shown (1), or both (2).
    7 flush(which: Number) -> ();
    /// A byte, as if it were typed.
    8 type_byte(byte: Number) -> ();
    /// Holds output back (0) or lets it go on (1), until the other is asked for; or sends the other
    /// side the key that stops (2) or starts (3) its output. Whoever cannot hold output back does
    /// nothing.
    9 flow(action: Number) -> ();
    /// Switches a pseudo-terminal's packet mode off (0) or on (1), or asks (2): whether what its
    /// master reads begins with a byte that says what it is.
    10 packets(action: Number) -> (is_on: Number);
}
