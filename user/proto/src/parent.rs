//! Protocol 1, `parent`: what every program can ask of whoever made it.

use crate::flags::{REPORTS, SERVICES};

crate::protocol! {
    /// What every program can ask of whoever made it, through the reference it was born with. A monitor answers it for its child,
    /// and passes on whatever it does not care about.
    parent = 1;

    /// Finds a service. `ENOENT`: the environment has none of this kind.
    1 find(service: Choice(SERVICES)) -> (; references found);
    /// The initial stream with this number: 0 input, 1 output, 2 messages. `ENOENT`: there is none with this number.
    2 stream(number: Number) -> (; references file);
    /// The program has ended, with a status as Linux's: 0 to 255, or 256 and the number of a signal. There is no answer: the parent takes everything back.
    3 exit(status: Status) -> ();
    /// A line for whoever runs the system. `EINVAL`: the kind is not known.
    4 report(kind: Choice(REPORTS); bytes text: Text) -> ();
    /// Exceptions of the caller's space are to go to this port first, and no more to whoever made it. That one then learns no more that a thread was destroyed from outside.
    5 keep(; references keeper) -> ();
    /// On how many processors the program's threads may run at a time, for it to know. A monitor that hides it answers 1.
    6 processors() -> (count: Number);
}
