//! The audit: every decision as a line of JSON.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;
use nacre_nest::interpose::quote::json_string;
use nacre_nest::interpose::stage::write_all;
use nacre_proto::file;
use nacre_sys::lock::Lock;
use nacre_sys::OwnedReference;

/// One decision.
pub struct Entry<'a> {
    /// The operation.
    pub call: &'a str,
    /// Subject of the request, as the policy names it.
    pub subject: &'a [u8],
    /// The call with its arguments.
    pub message: &'a str,
    /// Set if the request was allowed.
    pub allowed: bool,
    /// The rule that said so; without one nothing allowed it, or nothing could.
    pub rule: Option<&'a str>,
    /// Second call whose rules decided, if the request needs more than its own call.
    pub needs: Option<&'a str>,
    /// The child got a reference that is not guarded any more, since all that can be asked there is
    /// allowed.
    pub direct: bool,
}

impl Entry<'_> {
    /// As a line.
    fn line(&self) -> String {
        let mut text = String::from("{\"allowed\":");
        text.push_str(if self.allowed { "true" } else { "false" });
        let subject = String::from_utf8_lossy(self.subject);
        for (name, value) in [("call", Some(self.call)), ("subject", Some(&*subject)), ("rule", self.rule), ("needs", self.needs)] {
            if let Some(value) = value {
                write!(text, ",\"{name}\":").unwrap_or(());
                json_string(value, &mut text);
            }
        }
        if self.direct {
            text.push_str(",\"direct\":true");
        }
        text.push_str(",\"message\":");
        json_string(self.message, &mut text);
        text.push_str("}\n");
        text
    }
}

/// Destination of decisions.
pub struct Audit {
    stream: Lock<OwnedReference>,
    /// The file's path, if it is one.
    path: Option<Vec<u8>>,
}

impl Audit {
    /// Decisions are written to `stream`, which is the file at `path`, if it is one.
    pub fn new(stream: OwnedReference, path: Option<&[u8]>) -> Audit {
        Audit { stream: Lock::new(stream), path: path.map(<[u8]>::to_vec) }
    }

    /// Writes one down, before anything comes of it.
    pub fn note(&self, entry: &Entry<'_>) {
        write_all(self.stream.lock().handle(), entry.line().as_bytes());
    }

    /// The child has ended. If nobody can hand the file out, it is there all the same.
    pub fn finish(&self) {
        if let Some(path) = &self.path {
            let _ = file::hand_out(self.stream.lock().handle(), &path[..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_this_line() {
        let entry = Entry {
            call: "directory.open",
            subject: b"/etc/\"x\"\n",
            message: "directory.open(#1)",
            allowed: false,
            rule: Some("deny file.write /etc/*"),
            needs: Some("file.write"),
            direct: false,
        };
        let expected = concat!(
            r#"{"allowed":false,"call":"directory.open","subject":"/etc/\"x\"\n","rule":"deny file.write /etc/*","#,
            r#""needs":"file.write","message":"directory.open(#1)"}"#,
            "\n",
        );
        assert_eq!(entry.line(), expected);
        let entry = Entry { rule: None, needs: None, allowed: true, direct: true, subject: b"", ..entry };
        assert!(entry.line().starts_with(r#"{"allowed":true,"call":"directory.open","subject":"","direct":true,"#));
    }
}
