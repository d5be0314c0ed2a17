//! Import graphs of all crates: no circle across folders or of more than three files, and no import
//! from a higher layer where a crate has a `layers.txt`.

mod edges;
mod modules;
mod resolve;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::layers::Layers;
use super::records::Records;
use super::walk::Crate;
use crate::failure::Outcome;
use crate::tree::Tree;
use edges::{Graph, Upward, names};
use modules::Modules;

/// Numbers that may only fall.
const RECORDS: &str = "host/src/lint/imports.txt";
/// Circles and imports of a crate that are printed when its number grows.
const SHOWN: usize = 10;

/// Faults of one crate.
struct Report {
    graph: Graph,
    layers: Layers,
    violations: Vec<String>,
}

/// Prints a line a crate; returns what breaks a rule. Prints every fault of the crate `detailed`.
pub fn check(tree: &Tree, crates: &[Crate], detailed: Option<&str>) -> Outcome<Vec<String>> {
    let mut records = Records::read(tree, RECORDS)?;
    let (mut violations, mut faults) = (Vec::new(), Vec::new());
    println!("\n{:<22} {:>5} {:>7} {:>7} {:>7} {:>7}", "imports", "files", "edges", "circles", "upward", "hidden");
    for report in reports(tree, crates) {
        let (member, Report { graph, layers, violations: own }) = report;
        let mut used = HashSet::new();
        let upward = graph.upward(&layers, &mut used);
        let (small, circles): (Vec<_>, Vec<_>) = graph.circles().into_iter().partition(|(_, is_allowed)| *is_allowed);
        let [small, circles] = [small, circles].map(|circles| circles.into_iter().map(|(circle, _)| circle).collect::<Vec<_>>());
        let unneeded = layers.exceptions.iter().filter(|exception| !used.contains(&exception.line));
        violations.extend(unneeded.map(|exception| format!("{member}/layers.txt:{}: this exception is not needed any more: take the line away", exception.line)));
        violations.extend(own);
        let figures = [graph.files.len(), graph.imports.len(), circles.iter().map(Vec::len).sum(), small.iter().map(Vec::len).sum(), upward.len(), graph.hidden.len()];
        let [files, edges, in_circles, in_small, above, hidden] = figures;
        println!("{member:<22} {files:>5} {edges:>7} {in_circles:>7} {in_small:>7} {above:>7} {hidden:>7}");
        let hidden = if layers.is_empty() { 0 } else { hidden };
        records.note(member, &[("circles", in_circles), ("upward", above), ("hidden", hidden)]);
        let lines = fault_lines(member, &graph, &circles, &upward, &layers);
        if detailed == Some(member) {
            lines.iter().for_each(|line| println!("{line}"));
            small.iter().for_each(|circle| println!("allowed: {}", graph.describe(circle)));
            print_edges(&graph, &circles);
        }
        faults.push((member.to_string(), lines));
    }
    let grown = records.compare()?;
    for (member, lines) in faults {
        if grown.iter().any(|line| line.starts_with(&format!("{member}: "))) {
            violations.extend(lines.into_iter().take(SHOWN));
        }
    }
    violations.extend(grown);
    Ok(violations)
}

/// Reads all crates, in several threads.
fn reports<'a>(tree: &Tree, crates: &'a [Crate]) -> Vec<(&'a str, Report)> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(member) = crates.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            done.push((member.name.as_str(), report(tree, &member.name)));
        }
        done
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    all.sort_by_key(|(name, _)| *name);
    all
}

fn report(tree: &Tree, member: &str) -> Report {
    let folder = tree.path(member);
    let reader = |path: &Path| fs::read_to_string(folder.join(path)).ok();
    let manifest = reader(Path::new("Cargo.toml")).unwrap_or_default();
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or("").trim_matches('"').to_string();
    let modules = Modules::read(&name, &reader);
    let mut violations: Vec<String> = modules.errors.iter().map(|error| format!("{member}/{error}")).collect();
    let graph = Graph::of(&modules);
    let layers = match reader(Path::new("layers.txt")).map(|text| Layers::parse(&text)) {
        Some(Ok(layers)) => {
            let without = graph.files.iter().filter(|file| layers.of(file).is_none());
            violations.extend(without.map(|file| format!("{member}/layers.txt: no layer for {file}")));
            layers
        }
        Some(Err(error)) => {
            violations.push(format!("{member}/layers.txt:{error}"));
            Layers::default()
        }
        None => Layers::default(),
    };
    Report { graph, layers, violations }
}

fn fault_lines(member: &str, graph: &Graph, circles: &[Vec<usize>], upward: &[Upward], layers: &Layers) -> Vec<String> {
    let rings = circles.iter().map(|circle| format!("{member}/src: {}", graph.describe(circle)));
    let above = upward.iter().map(|import| {
        let [from, to] = [import.from, import.to].map(|file| &graph.files[file]);
        let [lower, upper] = [from, to].map(|file| layers.of(file).map_or("", |layer| layers.name(layer)));
        let verb = if import.is_hidden { "calls" } else { "imports" };
        let (line, names) = (import.edge.line, names(import.edge, 5));
        format!("{member}/src/{from}:{line}: {verb} {names} of {to}: layer {lower} lies below {upper}")
    });
    rings.chain(above).collect()
}

/// Prints each import inside a circle, and each hidden edge.
fn print_edges(graph: &Graph, circles: &[Vec<usize>]) {
    for ((from, to), edge) in &graph.imports {
        if circles.iter().any(|circle| circle.contains(from) && circle.contains(to)) {
            println!("in a circle: {} -> {}: {}", graph.files[*from], graph.files[*to], names(edge, usize::MAX));
        }
    }
    for ((from, to), edge) in &graph.hidden {
        println!("hidden: {} -> {}: {}", graph.files[*from], graph.files[*to], names(edge, usize::MAX));
    }
}
