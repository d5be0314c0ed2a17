//! Registers of a machine, which code for every machine (`kernel/core`) may not name: it names the
//! roles that `nacre_abi::register` gives them.

use std::fs;

use super::walk::Crate;
use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;

/// Crate whose sources run on every machine.
const FREE: &str = "kernel/core";
/// Registers of x86-64.
const REGISTERS: [&str; 26] = [
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip", "rflags", "fs_base",
    "gs_base", "cr0", "cr2", "cr3", "cr4", "cr8", "xcr0",
];

/// Returns what breaks the rule. Tests may name registers, since they write programs for one
/// machine.
pub fn check(tree: &Tree, crates: &[Crate]) -> Outcome<Vec<String>> {
    let mut violations = Vec::new();
    let sources = tree.path(FREE).join("src");
    for path in crates.iter().filter(|member| member.name == FREE).flat_map(|member| &member.files).filter(|path| path.starts_with(&sources)) {
        let text = fs::read_to_string(path).context(Class::File, || format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(tree.root()).unwrap_or(path).display();
        violations.extend(named(&text).into_iter().map(|(line, register)| format!("{shown}:{line}: names the register {register}: name its role (nacre_abi::register)")));
    }
    Ok(violations)
}

/// Returns each register that a text names, with its line.
fn named(text: &str) -> Vec<(usize, String)> {
    let words = |line: &str| line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').map(str::to_ascii_lowercase).collect::<Vec<_>>();
    let is_register = |word: &String| REGISTERS.contains(&word.as_str());
    text.lines().enumerate().flat_map(|(index, line)| words(line).into_iter().filter(is_register).map(move |word| (index + 1, word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_whole_words_of_code_and_comments() {
        let text = "let a = register::RAX;\n// `rdi` holds it\nlet (r8, rax_old, xr9) = (0, 0, 0);\nthread.fs_base\n";
        let found: Vec<_> = named(text).into_iter().map(|(line, word)| format!("{line} {word}")).collect();
        assert_eq!(found, ["1 rax", "2 rdi", "3 r8", "4 fs_base"]);
    }

    #[test]
    fn the_kernels_core_names_none() {
        let tree = Tree::find().unwrap();
        let crates = super::super::walk::crates(&tree).unwrap();
        assert_eq!(check(&tree, &crates).unwrap(), Vec::<String>::new());
    }
}
