//! Protocol 13, `control`: what people ask of a running environment from outside.

use crate::flags::{COMMANDS, COMMAND_FLAGS};

crate::protocol! {
    /// Commands that come from whoever runs the system, down through the monitors. Who attends at
    /// the service sits at a port of his own; commands wait there until he takes them. A monitor
    /// that has attended passes each command on to those who attend within it, so that each answers
    /// for what it runs. Words and bytes alone go inward, so no guard has to judge more.
    control = 13;

    /// A seat, at which commands wait. The port is notified with these bits when one has come.
    /// `EAGAIN`: too many attend already.
    1 attend(bits: Hex; references port: Kept(Port)) -> (; references seat: Own(Control));
    /// Takes the next command. Port: a seat. `file.hand_out` with the name `answer=TICKET`, in
    /// decimal digits, brings a whole file as a part of its answer. `EAGAIN`: none waits.
    2 next() -> (command: Number, operation: Choice(COMMANDS), flags: Flags(COMMAND_FLAGS), ticket: Hex; bytes text: Text);
    /// A part of the answer: lines of text. Port: a seat. `ESRCH`: nobody waits for an answer to
    /// this command any more. `EAGAIN`: the parts before it have not gone yet.
    3 answer(command: Number; bytes text: Text) -> ();
    /// The end of the answer, with an errno, 0 if it was carried out. `ENOSYS`: neither he nor any
    /// who attends within knows how. Port: a seat.
    4 done(command: Number, errno: Number) -> ();
}
