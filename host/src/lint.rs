//! `nacre lint`: sizes and counts of the house rules, and what breaks them.

pub mod arguments;
mod count;
mod crates;
mod graph;
mod imports;
mod layers;
mod mask;
mod records;
mod registers;
mod walk;
mod words;

use std::fs;
use std::path::PathBuf;

use crate::failure::{Class, Context, Outcome};
use crate::json;
use crate::tree::Tree;
use arguments::LintArguments;
use count::{Counts, count};
use walk::{Crate, folders_without_readme};

/// Code lines of the kernel for one architecture.
const KERNEL_LINES: usize = 10_000;
/// Lines of the kernel with what runs guests, its folders `guest`.
const ALL_KERNEL_LINES: usize = 12_000;
/// Lines of a file.
const FILE_LINES: usize = 500;
/// Lines of a function.
const FUNCTION_LINES: usize = 60;

/// Counts of a crate, by their names in JSON.
const COLUMNS: [&str; 8] = ["code", "tests", "files", "functions", "median", "p90", "longest", "unsafe"];

/// Folders of the kernel that belong to other architectures than the one that is counted.
const OTHER_ARCHITECTURES: [&str; 2] = ["aarch64", "riscv64"];

/// Counts everything, prints a table and what breaks a rule; 1 if something does.
pub fn lint(tree: &Tree, arguments: &LintArguments) -> Outcome<i32> {
    let (mut violations, mut rows) = (Vec::new(), Vec::new());
    let (mut kernel_lines, mut guest_lines) = (0, 0);
    println!("{:<22} {:>6} {:>6} {:>5} {:>5} {:>6} {:>4} {:>7} {:>6}", "crate", "code", "tests", "files", "fns", "median", "p90", "longest", "unsafe");
    let members = walk::crates(tree)?;
    for member in &members {
        let counts = count_crate(tree, member, &mut violations)?;
        rows.push(print_crate(member, &counts));
        if member.name.starts_with("kernel/") {
            let guests = count_guests(member)?;
            guest_lines += guests;
            kernel_lines += counts.code_lines - guests;
        }
    }
    println!("\nkernel: {kernel_lines} code lines for x86-64, of {KERNEL_LINES} at most");
    println!("guests: {guest_lines} code lines more, of {ALL_KERNEL_LINES} in all");
    for (lines, limit) in [(kernel_lines, KERNEL_LINES), (kernel_lines + guest_lines, ALL_KERNEL_LINES)] {
        if lines > limit {
            violations.push(format!("kernel: {lines} code lines are more than {limit}"));
        }
    }
    violations.extend(imports::check(tree, &members, arguments.imports.as_deref())?);
    violations.extend(words::check(tree, &members, arguments.words.as_deref())?);
    violations.extend(registers::check(tree, &members)?);
    violations.extend(folders_without_readme(tree)?.iter().map(|folder| format!("{folder}: no README.md")));
    violations.extend(crates::check(tree)?);
    for violation in &violations {
        println!("{violation}");
    }
    let found: Vec<String> = violations.iter().map(|violation| json::quote(violation)).collect();
    let text = format!("{{\"kernel\": {kernel_lines}, \"crates\": [\n  {}\n], \"violations\": [{}]}}\n", rows.join(",\n  "), found.join(", "));
    json::write(arguments.json.as_deref(), &text)?;
    println!("{} violations", violations.len());
    Ok(i32::from(!violations.is_empty()))
}

/// Returns the number of code lines in a crate's folders `guest`.
fn count_guests(member: &Crate) -> Outcome<usize> {
    let is_guest = |path: &&PathBuf| path.parent().is_some_and(|folder| folder.components().any(|part| part.as_os_str() == "guest"));
    let mut all = Counts::default();
    for path in member.files.iter().filter(is_guest) {
        let text = fs::read_to_string(path).context(Class::File, || format!("cannot read {}", path.display()))?;
        all.add(&count(&text, false));
    }
    Ok(all.code_lines)
}

fn count_crate(tree: &Tree, member: &Crate, violations: &mut Vec<String>) -> Outcome<Counts> {
    let mut all = Counts::default();
    for path in &member.files {
        let text = fs::read_to_string(path).context(Class::File, || format!("cannot read {}", path.display()))?;
        let shown = path.strip_prefix(tree.root()).unwrap_or(path).display().to_string();
        let inside = path.strip_prefix(tree.path(&member.name)).unwrap_or(path);
        let counts = count(&text, walk::is_test_file(inside));
        check_file(&shown, &text, &counts, violations);
        if !OTHER_ARCHITECTURES.iter().any(|name| shown.contains(name)) {
            all.add(&counts);
        }
    }
    if all.unsafe_blocks.is_empty() && !all.has_unsafe_items && !all.forbids_unsafe && !member.files.is_empty() {
        violations.push(format!("{}: no unsafe code, and no #![forbid(unsafe_code)] that keeps it so", member.name));
    }
    Ok(all)
}

fn check_file(shown: &str, text: &str, counts: &Counts, violations: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > FILE_LINES {
        violations.push(format!("{shown}: {lines} lines are more than {FILE_LINES}"));
    }
    if !text.starts_with("//!") {
        violations.push(format!("{shown}: no header (//!) that says what the file is"));
    }
    for function in counts.functions.iter().filter(|function| function.lines > FUNCTION_LINES) {
        let (name, line) = (&function.name, function.line);
        violations.push(format!("{shown}:{line}: function {name} has {} lines, more than {FUNCTION_LINES}", function.lines));
    }
    for line in counts.unsafe_blocks.iter().filter(|block| !block.has_safety).map(|block| block.line) {
        violations.push(format!("{shown}:{line}: unsafe block without a SAFETY comment"));
    }
}

/// Prints a crate's line; returns it as JSON.
fn print_crate(member: &Crate, counts: &Counts) -> String {
    let mut lines: Vec<usize> = counts.functions.iter().map(|function| function.lines).collect();
    lines.sort_unstable();
    let at = |numerator: usize| lines.get(lines.len() * numerator / 10).copied().unwrap_or(0);
    let longest = lines.last().unwrap_or(&0);
    let figures = [counts.code_lines, counts.test_lines, member.files.len(), lines.len(), at(5), at(9), *longest, counts.unsafe_blocks.len()];
    let [code, tests, files, functions, median, ninth, longest, blocks] = figures;
    println!("{:<22} {code:>6} {tests:>6} {files:>5} {functions:>5} {median:>6} {ninth:>4} {longest:>7} {blocks:>6}", member.name);
    let pairs: Vec<String> = COLUMNS.iter().zip(figures).map(|(name, figure)| format!("\"{name}\": {figure}")).collect();
    format!("{{\"crate\": {}, {}}}", json::quote(&member.name), pairs.join(", "))
}
