//! Text of `--help`.

use crate::{Choice, Manifest, Place, Programs};
use core::fmt::{Display, Formatter, Result, Write};

/// Help of a monitor. It is shown by its `Display`.
#[derive(Clone, Copy, Debug)]
pub struct Help(pub(crate) Manifest);

/// Name and meaning of the option that each monitor has.
const HELP: (&str, &str) = ("-h, --help", "show this");

impl Help {
    /// Writes the words behind the command's name.
    pub fn usage(&self, out: &mut impl Write) -> Result {
        if let Programs::Behind(word) = self.0.programs {
            write!(out, "{word} ")?;
        }
        self.options(out, Place::Monitor)?;
        self.program(out)?;
        if self.0.programs == Programs::Several {
            out.write_str(" [: ")?;
            self.program(out)?;
            out.write_str("]...")?;
        }
        Ok(())
    }

    fn program(&self, out: &mut impl Write) -> Result {
        self.options(out, Place::Program)?;
        out.write_str(match self.0.programs {
            Programs::Optional => "[[--] PROGRAM [ARGUMENTS]]",
            Programs::Guest => "[[--] COMMAND [ARGUMENTS]]",
            _ => "[--] PROGRAM [ARGUMENTS]",
        })
    }

    fn options(&self, out: &mut impl Write, place: Place) -> Result {
        self.0.options.iter().filter(|choice| choice.place == place).try_for_each(|choice| bracketed(out, choice))
    }
}

fn bracketed(out: &mut impl Write, choice: &Choice) -> Result {
    match choice.value.name() {
        Some(value) => write!(out, "[{} {value}] ", choice.name),
        None => write!(out, "[{}] ", choice.name),
    }
}

/// Returns the width of an option's name and value.
fn width(choice: &Choice) -> usize {
    choice.name.len() + choice.value.name().map_or(0, |value| 1 + value.len())
}

fn line(out: &mut impl Write, name: &str, value: &str, help: &str, column: usize) -> Result {
    let blank = if value.is_empty() { "" } else { " " };
    let padding = column - name.len() - blank.len() - value.len();
    for (index, part) in help.split('\n').enumerate() {
        match index {
            0 => writeln!(out, "  {name}{blank}{value}{:padding$}  {part}", "")?,
            _ => writeln!(out, "  {:column$}  {part}", "")?,
        }
    }
    Ok(())
}

impl Display for Help {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "Usage: {} ", self.0.name)?;
        self.usage(out)?;
        writeln!(out, "\n\n{}\n", self.0.summary)?;
        let column = self.0.options.iter().map(width).max().unwrap_or(0).max(HELP.0.len());
        for choice in self.0.options {
            line(out, choice.name, choice.value.name().unwrap_or(""), choice.help, column)?;
        }
        line(out, HELP.0, "", HELP.1, column)?;
        if self.0.notes.is_empty() { Ok(()) } else { write!(out, "\n{}", self.0.notes) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::Value;
    use std::string::ToString;

    const SHARE: Manifest = Manifest {
        name: "share",
        summary: "Divides.",
        programs: Programs::Several,
        options: &[
            Choice::new("--policy", Value::Text("NAME"), "how:\nstride"),
            Choice::of_program("-w", Value::Text("N"), "weight"),
            Choice::new("-q", Value::None, "quiet"),
        ],
        notes: "  share a : b\n",
        hands_on: "",
    };

    #[test]
    fn options_stand_in_a_column() {
        let text = "Usage: share [--policy NAME] [-q] [-w N] [--] PROGRAM [ARGUMENTS] [: [-w N] [--] PROGRAM [ARGUMENTS]]...\n\nDivides.\n\n  \
             --policy NAME  how:\n                 stride\n  -w N           weight\n  -q             quiet\n  -h, --help     show this\n\n  share a : b\n";
        assert_eq!(SHARE.help().to_string(), text);
        let one = Manifest { programs: Programs::One, options: &[], notes: "", ..SHARE };
        assert_eq!(one.help().to_string(), "Usage: share [--] PROGRAM [ARGUMENTS]\n\nDivides.\n\n  -h, --help  show this\n");
    }
}
