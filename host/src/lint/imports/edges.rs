//! Import graph of one crate: which file names what another file defines.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::modules::Modules;
use super::resolve::{Resolver, Target};
use crate::lint::graph;
use crate::lint::layers::Layers;

/// Files of the largest circle that is allowed, if all its files are of one folder.
const CIRCLE_FILES: usize = 3;

/// Reason why a file depends on another.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// First line that names something.
    pub line: usize,
    /// Names that it uses.
    pub names: BTreeSet<String>,
}

/// Import graph of a crate.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Files, named from `src`.
    pub files: Vec<String>,
    /// Imports: the importing file, and the one that defines the name.
    pub imports: BTreeMap<(usize, usize), Edge>,
    /// Calls of methods whose `impl` stands in another file than their type.
    pub hidden: BTreeMap<(usize, usize), Edge>,
}

/// An import of a name from a higher layer.
#[derive(Clone, Copy, Debug)]
pub struct Upward<'a> {
    /// File that imports.
    pub from: usize,
    /// File that defines the name.
    pub to: usize,
    /// Names and line.
    pub edge: &'a Edge,
    /// Set if no import shows the dependence.
    pub is_hidden: bool,
}

impl Graph {
    /// Draws the graph.
    pub fn of(modules: &Modules) -> Graph {
        let files = modules.files.iter().map(|path| path.strip_prefix("src").unwrap_or(path).display().to_string()).collect();
        let mut graph = Graph { files, ..Graph::default() };
        let resolver = Resolver::new(modules);
        let elsewhere = methods_elsewhere(modules, &resolver);
        for (index, module) in modules.modules.iter().enumerate() {
            for used in &module.paths {
                if let Some(file) = resolver.file_of(index, used) {
                    let name = used.path.last().map_or("", String::as_str);
                    add(&mut graph.imports, module.file, file, used.line, name);
                }
                let method = used.path.last().filter(|_| used.path.len() > 1);
                if let Some((name, file)) = method.and_then(|name| Some((name, elsewhere.get(name)?))) {
                    add(&mut graph.hidden, module.file, *file, used.line, name);
                }
            }
            for (name, line) in &module.calls {
                if let Some(file) = elsewhere.get(name) {
                    add(&mut graph.hidden, module.file, *file, *line, name);
                }
            }
        }
        graph
    }

    /// Returns each circle of imports, and true if it is allowed.
    pub fn circles(&self) -> Vec<(Vec<usize>, bool)> {
        let circles = graph::circles(&self.neighbours()).into_iter();
        circles.map(|circle| (circle.clone(), circle.len() <= CIRCLE_FILES && self.share_a_folder(&circle))).collect()
    }

    fn neighbours(&self) -> Vec<BTreeSet<usize>> {
        let mut neighbours = vec![BTreeSet::new(); self.files.len()];
        for (from, to) in self.imports.keys() {
            neighbours[*from].insert(*to);
        }
        neighbours
    }

    /// Returns true if all files lie in one folder. The file `a.rs` belongs to the folder `a` too.
    fn share_a_folder(&self, circle: &[usize]) -> bool {
        let folders = |file: usize| {
            let name = self.files[file].trim_end_matches(".rs");
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            BTreeSet::from([folder.to_string(), name.to_string()])
        };
        let common = circle.iter().map(|file| folders(*file)).reduce(|common, next| &common & &next);
        common.is_some_and(|common| !common.is_empty())
    }

    /// Describes a shortest ring of a circle.
    pub fn describe(&self, circle: &[usize]) -> String {
        let ring = graph::shortest_ring(&self.neighbours(), circle);
        let steps = ring.iter().enumerate().map(|(index, from)| {
            let to = ring[(index + 1) % ring.len()];
            let names = self.imports.get(&(*from, to)).map_or(String::new(), |edge| names(edge, 3));
            format!("{} -> {} ({names})", self.files[*from], self.files[to])
        });
        format!("circle of {}: {}", circle.len(), steps.collect::<Vec<_>>().join(", "))
    }

    /// Returns what is imported from higher layers, without the exceptions; marks those as used.
    pub fn upward(&self, layers: &Layers, used: &mut HashSet<usize>) -> Vec<Upward<'_>> {
        let shown = self.imports.iter().map(|(ends, edge)| (*ends, edge, false));
        let hidden = self.hidden.iter().map(|(ends, edge)| (*ends, edge, true));
        let mut found = Vec::new();
        for ((from, to), edge, is_hidden) in shown.chain(hidden) {
            let is_upward = match (layers.of(&self.files[from]), layers.of(&self.files[to])) {
                (Some(lower), Some(upper)) => lower < upper,
                (_, _) => false,
            };
            let excepts = |name: &String| {
                let excepted = layers.exceptions.iter().find(|exception| exception.from == self.files[from] && exception.to == self.files[to] && exception.name == *name);
                excepted.is_some_and(|exception| {
                    used.insert(exception.line);
                    true
                })
            };
            if is_upward && !edge.names.iter().map(excepts).fold(true, |all, one| all && one) {
                found.push(Upward { from, to, edge, is_hidden });
            }
        }
        found
    }
}

/// The first `most` names of an edge.
pub fn names(edge: &Edge, most: usize) -> String {
    let shown: Vec<&str> = edge.names.iter().take(most).map(String::as_str).collect();
    let rest = if edge.names.len() > most { ", ..." } else { "" };
    format!("{}{rest}", shown.join(", "))
}

fn add(edges: &mut BTreeMap<(usize, usize), Edge>, from: usize, to: usize, line: usize, name: &str) {
    if from != to {
        let edge = edges.entry((from, to)).or_insert_with(|| Edge { line, ..Edge::default() });
        edge.names.insert(name.to_string());
    }
}

/// Methods of inherent impls that stand neither in the file of their type nor in a module below it,
/// with their files. A name that another type or a trait has too is left out: a call does not tell
/// which one it means.
fn methods_elsewhere(modules: &Modules, resolver: &Resolver) -> HashMap<String, usize> {
    let mut declared: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    let mut elsewhere = HashMap::new();
    for (index, module) in modules.modules.iter().enumerate() {
        for inherent in &module.impls {
            let Some(Target::Item(home)) = resolver.resolve(index, &inherent.of) else { continue };
            for method in &inherent.methods {
                declared.entry(method).or_default().insert(module.file);
                if !lies_below(modules, index, home) {
                    elsewhere.insert(method.clone(), module.file);
                }
            }
        }
    }
    elsewhere.retain(|name, _| declared.get(name.as_str()).is_some_and(|files| files.len() == 1) && !modules.trait_methods.contains(name));
    elsewhere
}

/// Returns true if `module` or one around it stands in the file `home`. The root does not count:
/// everything lies below it.
fn lies_below(modules: &Modules, mut module: usize, home: usize) -> bool {
    while modules.modules[module].file != home {
        match modules.modules[module].parent {
            Some(parent) if modules.modules[parent].parent.is_some() => module = parent,
            Some(_) | None => return false,
        }
    }
    true
}
