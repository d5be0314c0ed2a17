//! The policy: which calls a child may make on what. What is not allowed is denied; where rules
//! disagree, the one that denies wins; their order does not matter.

use crate::groups::{self, Group, On};
use crate::pattern::{Extent, Pattern};
use crate::subject::PROCESS_OUTSIDE;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_nest::command::suggestion;
use nacre_proto::describe::Operation;
use nacre_proto::{PROTOCOLS, channel, directory, file, process, terminal};

/// A rule of the policy, for one operation.
#[derive(Debug)]
struct Check {
    /// Number of the rule.
    rule: usize,
    allows: bool,
    pattern: Option<Pattern>,
    /// The pattern names machines by their names.
    has_name: bool,
}

impl Check {
    fn matches(&self, subject: &[u8]) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches(subject))
    }
}

/// All that is said of one operation.
#[derive(Debug)]
struct Line {
    label: u32,
    checks: Vec<Check>,
}

/// The policy.
#[derive(Debug)]
pub struct Policy {
    lines: Vec<Line>,
    /// The rules as they were written.
    rules: Vec<String>,
    /// Set if the child's files or its network are bounded. A port then stays guarded that brings
    /// what others left somewhere, whatever is allowed: each file of others is charged before the
    /// child gets it, and a process that it makes finds the bounded network.
    pub bounds_found: bool,
}

/// Decision of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call goes on.
    pub allowed: bool,
    /// The number of the rule that says so; none: nothing allows it.
    pub rule: Option<usize>,
}

/// The protocols whose objects have paths.
const PATHS: [u32; 3] = [file::NUMBER, terminal::NUMBER, directory::NUMBER];

/// Calls that reach a machine, and their group.
const NAMING: [u32; 2] = [channel::connect::LABEL, channel::send::LABEL];
const CONNECT: &str = "connect";

/// Returns true if a pattern, `tcp HOST:PORT`, has a name in place of an address.
fn has_name(pattern: &str) -> bool {
    let host = pattern.rsplit(' ').next().and_then(|end| end.rsplit_once(':'));
    host.is_some_and(|(host, _)| host.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// Returns a pattern of machines as it is compared: in small letters, and with any protocol if it
/// names none.
fn of_machine(pattern: &str) -> String {
    let small = pattern.to_ascii_lowercase();
    if has_name(&small) && !small.contains(' ') { format!("??? {small}") } else { small }
}

fn is_named(operation: &Operation, call: &str) -> bool {
    match call.split_once('.') {
        Some((protocol, "*")) => protocol == operation.protocol,
        Some((protocol, name)) => protocol == operation.protocol && name == operation.name,
        None => call == "*",
    }
}

impl Default for Policy {
    fn default() -> Self {
        let line = |operation: &Operation| Line { label: operation.label, checks: Vec::new() };
        Policy { lines: PROTOCOLS.iter().flat_map(|protocol| protocol.operations).map(line).collect(), rules: Vec::new(), bounds_found: false }
    }
}

/// Groups whose patterns are of paths alone.
const GROUPS_OF_PATHS: [&str; 3] = ["read", "write", "terminals"];
/// Starts of the names of objects that have no path.
const NAMES: [&str; 2] = ["stream:", "channels"];

/// Returns true if a pattern is meant for a path, and no path is like it, since all begin with a
/// slash.
fn is_relative(what: &str, pattern: &str) -> bool {
    GROUPS_OF_PATHS.contains(&what) && !pattern.starts_with(['/', '*', '?']) && pattern != "unnamed" && !NAMES.iter().any(|name| pattern.starts_with(name))
}

/// A question after the call or group whose name is nearest to `what`.
fn nearest_rule(what: &str) -> String {
    let operations = PROTOCOLS.iter().flat_map(|protocol| protocol.operations);
    let calls: Vec<String> = operations.map(|operation| format!("{}.{}", operation.protocol, operation.name)).collect();
    suggestion(what, groups::GROUPS.iter().map(|group| group.name).chain(calls.iter().map(String::as_str)))
}

/// A rule that would allow a call on a subject: a group if one does, else the call itself.
pub fn rule_for(label: u32, subject: &[u8]) -> String {
    let allows = |group: &&Group| {
        let mut policy = Policy::default();
        policy.add(true, group.name).is_ok() && policy.decide(label, subject).allowed
    };
    let operation = PROTOCOLS.iter().flat_map(|protocol| protocol.operations).find(|operation| operation.label == label);
    let call = operation.map_or_else(|| "*".to_string(), |operation| format!("{}.{}", operation.protocol, operation.name));
    match groups::GROUPS.iter().find(allows) {
        Some(group) if group.has_paths && [&b"/"[..], b"tcp ", b"udp ", b"icmp ", b"raw "].iter().any(|start| subject.starts_with(start)) => format!("'{} {}'", group.name, String::from_utf8_lossy(subject)),
        Some(group) => group.name.to_string(),
        None => call,
    }
}

impl Policy {
    /// Adds a rule, `WHAT` or `WHAT PATTERN`; or says what is wrong with it.
    pub fn add(&mut self, allows: bool, text: &str) -> Result<(), String> {
        let (what, pattern) = match text.trim().split_once(char::is_whitespace) {
            Some((what, pattern)) => (what, Some(pattern.trim_start())),
            None => (text.trim(), None),
        };
        if let Some(pattern) = pattern.filter(|pattern| is_relative(what, pattern)) {
            return Err(format!("{pattern:?} is not an absolute path; write '{what} /{pattern}', or '{what} **/{pattern}' for any directory"));
        }
        let rule = self.rules.len();
        self.rules.push(format!("{} {}", if allows { "allow" } else { "deny" }, text.trim()));
        match groups::find(what) {
            Some(group) => self.add_group(rule, allows, group, pattern),
            None if self.add_calls(rule, allows, what, pattern) => Ok(()),
            None => Err(format!("{what:?} is neither a call, as file.write or file.*, nor a group{}; --help lists the groups", nearest_rule(what))),
        }
    }

    /// False if there is no such call.
    fn add_calls(&mut self, rule: usize, allows: bool, call: &str, pattern: Option<&str>) -> bool {
        let operations = PROTOCOLS.iter().flat_map(|protocol| protocol.operations);
        let mut found = false;
        for (operation, line) in operations.zip(&mut self.lines).filter(|(operation, _)| is_named(operation, call)) {
            let has_name = NAMING.contains(&operation.label) && pattern.is_some_and(has_name);
            line.checks.push(Check { rule, allows, pattern: pattern.map(|pattern| Pattern::new(pattern.as_bytes())), has_name });
            found |= operation.label == line.label;
        }
        found
    }

    fn add_group(&mut self, rule: usize, allows: bool, group: &Group, pattern: Option<&str>) -> Result<(), String> {
        if pattern.is_some() && !group.has_paths {
            return Err(format!("the group {} takes no pattern", group.name));
        }
        let of_machine = pattern.filter(|_| group.name == CONNECT).map(of_machine);
        let pattern = of_machine.as_deref().or(pattern);
        for member in group.members {
            let pattern = match member.on {
                On::Any | On::Way("") => pattern,
                On::Way(only) | On::Only(only) => Some(only),
                On::Else(usual) => pattern.or(Some(usual)),
            };
            if allows || !matches!(member.on, On::Way(_)) {
                self.add_calls(rule, allows, member.call, pattern);
            }
        }
        Ok(())
    }

    /// Adds the rules of a file: lines `allow RULE` and `deny RULE`, comments after `#`. Or says
    /// what is wrong with which line.
    pub fn add_file(&mut self, text: &str) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
            let done = match line.split_once(char::is_whitespace) {
                _ if line.is_empty() => Ok(()),
                Some(("allow", rule)) => self.add(true, rule),
                Some(("deny", rule)) => self.add(false, rule),
                _ => Err("a line is `allow RULE` or `deny RULE`".to_string()),
            };
            done.map_err(|why| format!("line {}: {why}", number + 1))?;
        }
        Ok(())
    }

    /// Returns the decision on a call with a subject.
    pub fn decide(&self, label: u32, subject: &[u8]) -> Decision {
        let mut decision = Decision { allowed: false, rule: None };
        let line = self.lines.iter().find(|line| line.label == label);
        for check in line.iter().flat_map(|line| &line.checks).filter(|check| check.matches(subject)) {
            match check.allows {
                false => return Decision { allowed: false, rule: Some(check.rule) },
                true if decision.rule.is_none() => decision = Decision { allowed: true, rule: Some(check.rule) },
                true => {}
            }
        }
        decision
    }

    /// Returns the decision on a call that reaches a machine, by its name. Rules that have
    /// addresses say nothing about names: whoever owns a name could make it look like an address.
    pub fn decide_by_name(&self, label: u32, subject: &[u8]) -> Decision {
        let line = self.lines.iter().find(|line| line.label == label);
        let checks = line.iter().flat_map(|line| &line.checks).filter(|check| check.has_name && check.matches(subject));
        checks.fold(Decision { allowed: false, rule: None }, |decision, check| match decision {
            Decision { allowed: false, rule: Some(_) } => decision,
            Decision { allowed: true, .. } if check.allows => decision,
            _ => Decision { allowed: check.allows, rule: Some(check.rule) },
        })
    }

    /// Returns true if some rule names machines by their names.
    pub fn has_names(&self) -> bool {
        self.lines.iter().filter(|line| NAMING.contains(&line.label)).flat_map(|line| &line.checks).any(|check| check.has_name)
    }

    /// Returns true if this call reaches a machine that a rule can name.
    pub fn is_naming(&self, label: u32) -> bool {
        NAMING.contains(&label) && self.has_names()
    }

    /// Returns true if there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// A rule as it was written.
    pub fn rule(&self, number: usize) -> &str {
        self.rules.get(number).map_or("", String::as_str)
    }

    fn lines_of(&self, protocols: &[u32]) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| protocols.contains(&(line.label >> 16)))
    }

    /// Returns true if this call is allowed on every subject.
    pub fn allows_everywhere(&self, label: u32) -> bool {
        self.lines.iter().find(|line| line.label == label).is_some_and(|line| {
            let denies = line.checks.iter().any(|check| !check.allows);
            !denies && line.checks.iter().any(|check| check.allows && check.pattern.is_none())
        })
    }

    /// Returns true if some call on other processes than the child's own is allowed.
    pub fn reaches_other_processes(&self) -> bool {
        self.lines_of(&[process::NUMBER]).any(|line| self.decide(line.label, PROCESS_OUTSIDE).allowed)
    }

    fn path_patterns(&self) -> impl Iterator<Item = &Pattern> {
        let patterns = self.lines_of(&PATHS).flat_map(|line| &line.checks).filter_map(|check| check.pattern.as_ref());
        patterns.filter(|pattern| pattern.is_about_paths())
    }

    /// Returns true if decisions depend on paths.
    pub fn depends_on_paths(&self) -> bool {
        self.path_patterns().next().is_some()
    }

    /// Returns true if the policy decides alike on two paths, and for a directory on all names
    /// below it. A file may then be renamed from one to the other, or have both names.
    pub fn treats_alike(&self, one: &[u8], other: &[u8], is_directory: bool) -> bool {
        self.path_patterns().all(|pattern| {
            let extent = pattern.extent_below(one);
            let below = !is_directory || extent != Extent::Part && extent == pattern.extent_below(other);
            below && pattern.matches(one) == pattern.matches(other)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::{clock, memory, parent};

    fn policy(text: &str) -> Policy {
        let mut policy = Policy::default();
        policy.add_file(text).unwrap();
        policy
    }

    #[test]
    fn a_rule_that_was_mistyped_finds_what_was_meant() {
        let complaint = |rule| Policy::default().add(true, rule).unwrap_err();
        assert!(complaint("consol").contains("did you mean console?"));
        assert!(complaint("file.reed /etc/*").contains("did you mean file.read?"));
        assert!(!complaint("xyzzy").contains("did you mean") && complaint("xyzzy").contains("--help"));
    }

    #[test]
    fn a_denied_call_names_the_rule_that_would_allow_it() {
        assert_eq!(rule_for(parent::stream::LABEL, b"stream:1"), "console");
        assert_eq!(rule_for(parent::find::LABEL, b"memory"), "memory");
        assert_eq!(rule_for(file::read::LABEL, b"/etc/passwd"), "'read /etc/passwd'");
        assert_eq!(rule_for(parent::report::LABEL, b"file"), "parent.report");
    }

    #[test]
    fn nothing_is_allowed_by_nobody() {
        let policy = Policy::default();
        for operation in PROTOCOLS.iter().flat_map(|protocol| protocol.operations) {
            assert_eq!(policy.decide(operation.label, b"/"), Decision { allowed: false, rule: None });
        }
        assert!(!policy.decide(0x99_0001, b"/").allowed && !self::policy("allow *").decide(0x99_0001, b"/").allowed);
    }

    #[test]
    fn who_denies_wins_in_either_order() {
        for text in ["allow file.*\ndeny file.write /etc/*", "deny file.write /etc/* # mine\n\nallow file.*"] {
            let policy = policy(text);
            assert!(!policy.decide(file::write::LABEL, b"/etc/passwd").allowed);
            assert!(policy.decide(file::write::LABEL, b"/tmp/x").allowed && policy.decide(file::read::LABEL, b"/etc/passwd").allowed);
            assert!(!policy.decide(parent::find::LABEL, b"files").allowed);
        }
    }

    #[test]
    fn groups_are_their_members() {
        let policy = policy("allow read /usr/**\nallow console\nallow clock\ndeny write /usr/**");
        assert!(policy.decide(parent::find::LABEL, b"files").allowed && policy.decide(parent::find::LABEL, b"clock").allowed);
        assert!(!policy.decide(parent::find::LABEL, b"memory").allowed && !policy.decide(memory::status::LABEL, b"memory").allowed);
        assert!(policy.decide(clock::read::LABEL, b"clock").allowed);
        assert!(policy.decide(directory::open::LABEL, b"/usr/bin/x").allowed && !policy.decide(directory::open::LABEL, b"/etc").allowed);
        assert!(policy.decide(file::write::LABEL, b"stream:1").allowed && !policy.decide(file::write::LABEL, b"/usr/x").allowed);
    }

    #[test]
    fn what_is_wrong_is_a_sentence() {
        let wrong = |text| Policy::default().add_file(text).unwrap_err();
        assert!(wrong("\nallow flie.read").contains("line 2: \"flie.read\" is neither"));
        assert!(wrong("permit file.read").contains("line 1"));
        assert!(wrong("allow clock /x").contains("takes no pattern"));
        assert!(wrong("allow").contains("line 1"));
        assert!(wrong("allow file.reed").contains("neither"));
        assert!(wrong("allow read etc/passwd").contains("write 'read /etc/passwd'"));
        assert!(wrong("deny write ./x").contains("not an absolute path"));
        assert!(Policy::default().add_file("allow read **/x\nallow read stream:*\nallow connect tcp 10.0.2.2:80").is_ok());
    }

    #[test]
    fn machines_are_named_by_names_in_rules_that_have_names() {
        let policy = policy("allow connect *.Debian.org:443\nallow connect tcp example.org:80\nallow connect tcp 10.0.2.*:*\ndeny connect tcp bad.debian.org:*");
        let allows = |subject: &str| policy.decide_by_name(channel::connect::LABEL, subject.as_bytes()).allowed;
        assert!(allows("tcp deb.debian.org:443") && allows("udp deb.debian.org:443") && allows("tcp example.org:80"));
        for other in ["tcp deb.debian.org:80", "udp example.org:80", "tcp debian.org:443", "tcp bad.debian.org:443", "tcp 10.0.2.evil.org:443", "tcp deb.debian.org.evil.org:443"] {
            assert!(!allows(other), "{other}");
        }
        assert!(policy.decide(channel::connect::LABEL, b"tcp 10.0.2.2:443").allowed && !policy.decide(channel::connect::LABEL, b"tcp 192.0.2.7:443").allowed);
        assert!(policy.has_names() && policy.is_naming(channel::send::LABEL) && !policy.is_naming(channel::bind::LABEL));
        let mut others = Policy::default();
        others.add_file("allow connect\nallow connect udp 10.0.2.3:53\nallow listen tcp :80\nallow channel:outside\nallow *").unwrap();
        assert!(!others.has_names());
    }

    #[test]
    fn what_is_open_needs_nobody_between() {
        assert!(policy("allow *").allows_everywhere(file::write::LABEL) && !policy("allow * /x").allows_everywhere(file::write::LABEL));
        assert!(!policy("allow *\ndeny file.write /etc/*").allows_everywhere(file::write::LABEL));
        assert!(!policy("allow read\nallow write").depends_on_paths() && !policy("allow console").depends_on_paths());
        assert!(policy("allow process:outside").reaches_other_processes() && policy("allow *").reaches_other_processes());
        assert!(!policy("allow process\nallow console").reaches_other_processes());
    }

    #[test]
    fn names_change_only_between_equals() {
        let policy = policy("allow read\nallow write /tmp/**\ndeny file.read /etc/*");
        assert!(policy.treats_alike(b"/tmp/a", b"/tmp/b/c", true));
        assert!(!policy.treats_alike(b"/etc/passwd", b"/tmp/x", false) && !policy.treats_alike(b"/tmp/x", b"/y", false));
        assert!(policy.treats_alike(b"/x", b"/y", true));
        assert!(!policy.treats_alike(b"/etc", b"/other", true) && policy.treats_alike(b"/etc", b"/other", false));
    }
}
