//! Words of comments and pages: doc comments that begin without naming their item, and lines of
//! prose over 100 columns. Counts a folder, which may only fall.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::records::Records;
use super::walk::{self, Crate};
use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;

/// Numbers that may only fall.
const RECORDS: &str = "host/src/lint/words.txt";
/// Columns of a line of prose.
const COLUMNS: usize = 100;
/// Places that are printed when a number grows, the most recently changed files first.
const SHOWN: usize = 10;

/// First words of a doc comment that do not say what its item is or does.
const FIRST_WORDS: &[&str] = &[
    // Relative clauses and questions.
    "What", "Whatever", "Who", "Whom", "Whose", "Whoever", "Whether", "Where", "Wherever", "When", "How", "Why", "Which",
    // Pronouns.
    "It", "Its", "They", "Them", "Their", "That", "This", "These", "Those", "Other", "Others",
    // Fragments.
    "Of", "For", "From", "With", "If", "In", "At", "On", "To", "By", "Behind", "Beside", "Beyond", "Instead", "Under", "Not", "No",
    "Nothing", "Nobody", "Nowhere", "None", "Only", "Once", "Since", "And", "Same", "So", "Most", "Least", "Longest",
];
/// Beginnings of more than one word that do not.
const BEGINNINGS: &[&str] =
    &["The same", "See above", "See the module", "See `", "As above", "As many", "After so", "One of", "One that", "One more", "One whose", "One who"];

/// A fault and its place.
struct Hit {
    folder: String,
    column: &'static str,
    path: PathBuf,
    line: usize,
    text: String,
}

/// Prints a line a folder; returns what breaks a rule. Prints every place in the folder `detailed`.
pub fn check(tree: &Tree, crates: &[Crate], detailed: Option<&str>) -> Outcome<Vec<String>> {
    let mut records = Records::read(tree, RECORDS)?;
    let mut hits = Vec::new();
    for member in crates {
        for path in &member.files {
            let text = read(path)?;
            let places = beginnings(&text).into_iter().map(|place| ("begins", place)).chain(wide_comments(&text).into_iter().map(|place| ("wide", place)));
            hits.extend(places.map(|(column, (line, text))| Hit { folder: member.name.clone(), column, path: path.clone(), line, text }));
        }
    }
    for path in walk::pages(tree)? {
        let inside = path.strip_prefix(tree.root()).unwrap_or(&path);
        let folder = folder_of(inside, crates);
        let places = wide_prose(&read(&path)?).into_iter();
        hits.extend(places.map(|(line, text)| Hit { folder: folder.clone(), column: "pages", path: path.clone(), line, text }));
    }
    print_table(&mut records, &hits);
    for hit in hits.iter().filter(|hit| detailed == Some(hit.folder.as_str())) {
        println!("{}", describe(tree, hit));
    }
    let mut violations = Vec::new();
    for (folder, column) in records.grown_numbers() {
        let mut of: Vec<&Hit> = hits.iter().filter(|hit| hit.folder == folder && hit.column == column).collect();
        of.sort_by_key(|hit| std::cmp::Reverse(fs::metadata(&hit.path).and_then(|data| data.modified()).ok()));
        violations.extend(of.iter().take(SHOWN).map(|hit| describe(tree, hit)));
    }
    violations.extend(records.compare()?);
    Ok(violations)
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).context(Class::File, || format!("cannot read {}", path.display()))
}

/// Returns the crate that a page belongs to, or else its outermost folder.
fn folder_of(page: &Path, crates: &[Crate]) -> String {
    let within = crates.iter().filter(|member| page.starts_with(&member.name)).max_by_key(|member| member.name.len());
    let outermost = || page.parent().and_then(|folder| folder.components().next()).map(|part| part.as_os_str().to_string_lossy().into_owned());
    within.map(|member| member.name.clone()).or_else(outermost).unwrap_or_else(|| ".".to_string())
}

fn print_table(records: &mut Records, hits: &[Hit]) {
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for hit in hits {
        let place = ["begins", "wide", "pages"].iter().position(|column| *column == hit.column).unwrap_or(0);
        counts.entry(&hit.folder).or_default()[place] += 1;
    }
    println!("\n{:<22} {:>7} {:>7} {:>7}", "words", "begins", "wide", "pages");
    let mut all = [0; 3];
    for (folder, [begins, wide, pages]) in counts {
        println!("{folder:<22} {begins:>7} {wide:>7} {pages:>7}");
        records.note(folder, &[("begins", begins), ("wide", wide), ("pages", pages)]);
        all = [all[0] + begins, all[1] + wide, all[2] + pages];
    }
    println!("{:<22} {:>7} {:>7} {:>7}", "all", all[0], all[1], all[2]);
}

fn describe(tree: &Tree, hit: &Hit) -> String {
    let path = hit.path.strip_prefix(tree.root()).unwrap_or(&hit.path).display();
    let start: String = hit.text.chars().take(60).collect();
    match hit.column {
        "begins" => format!("{path}:{}: the comment does not begin with what the item is or does: {start}", hit.line),
        _ => format!("{path}:{}: {} columns of prose are more than {COLUMNS}", hit.line, hit.text.chars().count()),
    }
}

/// Returns the line and text of each doc comment whose first words say nothing of its item.
fn beginnings(source: &str) -> Vec<(usize, String)> {
    let (mut found, mut is_inside) = (Vec::new(), false);
    for (index, line) in source.lines().enumerate() {
        let text = line.trim_start().strip_prefix("///").filter(|text| !text.starts_with('/'));
        if let Some(text) = text.map(str::trim).filter(|_| !is_inside)
            && begins_badly(text)
        {
            found.push((index + 1, text.to_string()));
        }
        is_inside = text.is_some();
    }
    found
}

fn begins_badly(text: &str) -> bool {
    let first = text.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or("");
    FIRST_WORDS.contains(&first) || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// Returns comment lines that are too wide, but for rows of tables, which cannot be wrapped.
fn wide_comments(source: &str) -> Vec<(usize, String)> {
    let is_row = |line: &str| line.trim_start_matches(['/', '!', ' ']).starts_with('|');
    let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COLUMNS && !is_row(line);
    source.lines().enumerate().filter(|(_, line)| is_wide(line)).map(|(index, line)| (index + 1, line.to_string())).collect()
}

/// Returns lines of a page that are too wide, but for tables, code, and lines that a link makes
/// wide.
fn wide_prose(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut is_code) = (Vec::new(), false);
    for (index, line) in page.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        let is_prose = !is_code && !line.trim_start().starts_with('|') && !line.starts_with("    ") && !line.contains("](");
        if is_prose && line.chars().count() > COLUMNS {
            found.push((index + 1, line.to_string()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_with_its_item() {
        let source = "/// What it is.\n/// More.\nfn a() {}\n    /// Address.\n    /// What follows is no beginning.\n//// What\n/// See `b`.\n";
        assert_eq!(beginnings(source).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 7]);
        for bad in ["Whether it is.", "It.", "So many.", "The same.", "How many", "One of two", "Once more", "For a fork: areas"] {
            assert!(begins_badly(bad), "{bad}");
        }
        for good in ["Returns true if it is.", "Forks.", "The address.", "Notes.", "One page.", "Whatsoever", "`kill`: ends"] {
            assert!(!begins_badly(good), "{good}");
        }
    }

    #[test]
    fn prose_over_100_columns_is_found() {
        let wide = "x".repeat(101);
        assert_eq!(wide_comments(&format!("// {wide}\nlet a = \"{wide}\";\n    /// short\n    //! | {wide} |\n")).len(), 1);
        assert_eq!(wide_prose(&format!("{wide}\n| {wide}\n```\n{wide}\n```\n    {wide}\n[a](b) {wide}\n")).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_page_belongs_to_its_crate_or_its_outermost_folder() {
        let crates = [("user", 0), ("user/sys", 0)].map(|(name, _)| Crate { name: name.to_string(), files: Vec::new() });
        for (page, folder) in [("user/sys/src/README.md", "user/sys"), ("doc/manual/calls.md", "doc"), ("README.md", ".")] {
            assert_eq!(folder_of(Path::new(page), &crates), folder);
        }
    }
}
