//! Small crates as strings, and the tree itself.

use std::collections::HashSet;
use std::path::Path;

use super::edges::Graph;
use super::modules::Modules;
use crate::lint::layers::Layers;

/// Draws the graph of a crate whose files are given by name, `lib.rs` among them.
fn graph(files: &[(&str, &str)]) -> Graph {
    let reader = |path: &Path| {
        let name = path.strip_prefix("src").ok()?.to_str()?;
        files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.to_string())
    };
    let modules = Modules::read("nacre-small", &reader);
    assert_eq!(modules.errors, Vec::<String>::new());
    Graph::of(&modules)
}

/// Imports as `FROM TO: NAMES`.
fn edges(graph: &Graph, are_hidden: bool) -> Vec<String> {
    let edges = if are_hidden { &graph.hidden } else { &graph.imports };
    let mut lines: Vec<String> = edges.iter().map(|((from, to), edge)| format!("{} {}: {}", graph.files[*from], graph.files[*to], super::names(edge, 9))).collect();
    lines.sort();
    lines
}

#[test]
fn a_re_export_is_followed_to_its_end() {
    let graph = graph(&[
        ("lib.rs", "mod face; mod user;"),
        ("face.rs", "mod inner; mod other; pub use inner::Thing; pub(crate) use other as renamed;"),
        ("face/inner.rs", "pub struct Thing;"),
        ("face/other.rs", "pub fn run() {}"),
        ("user.rs", "use crate::face::Thing; fn f(_: Thing) { crate::face::renamed::run() }"),
    ]);
    assert_eq!(edges(&graph, false), ["user.rs face/inner.rs: Thing", "user.rs face/other.rs: run"]);
}

#[test]
fn nested_imports_and_inline_modules() {
    let graph = graph(&[
        ("lib.rs", "mod a { pub mod b; pub mod c; pub const HERE: u8 = 1; } mod d;"),
        ("a/b.rs", "pub struct One; pub enum Two { Three }"),
        ("a/c.rs", "use super::{HERE, b::{self, One}}; fn f(_: One) -> u8 { let _ = b::Two::Three; HERE }"),
        ("d.rs", "use crate::a::*; fn f() -> u8 { HERE } #[cfg(test)] mod tests { use crate::a::b::One; }"),
    ]);
    assert_eq!(edges(&graph, false), ["a/c.rs a/b.rs: One, Three", "a/c.rs lib.rs: HERE", "d.rs lib.rs: HERE"]);
}

#[test]
fn an_alias_and_a_path_attribute() {
    let graph = graph(&[
        ("lib.rs", "#[cfg_attr(unix, path = \"deep/real.rs\")] mod arch; mod a;"),
        ("deep/real.rs", "mod beside; pub fn run() { beside::help() }"),
        ("deep/beside.rs", "pub fn help() { crate::a::f() }"),
        ("a.rs", "use crate::arch as machine; pub fn f() { machine::run(); std::mem::drop(1) }"),
    ]);
    assert_eq!(edges(&graph, false), ["a.rs deep/real.rs: run", "deep/beside.rs a.rs: f", "deep/real.rs deep/beside.rs: help"]);
    assert_eq!(graph.circles(), [(vec![1, 2, 3], false)].map(|(circle, allowed)| (circle, allowed)));
}

#[test]
fn macros_count_by_their_paths() {
    let graph = graph(&[
        ("lib.rs", "#[macro_use] mod rules; mod a; mod b;"),
        ("rules.rs", "macro_rules! call { ($name:ident) => { $crate::a::run($name); other::thing() } }"),
        ("a.rs", "pub fn run(_: u8) {} pub const NUMBER: u8 = 1;"),
        ("b.rs", "fn f(n: u8) { call!(n); assert_eq!(crate::a::NUMBER, n.NUMBER); }"),
    ]);
    assert_eq!(edges(&graph, false), ["b.rs a.rs: NUMBER", "b.rs rules.rs: call", "rules.rs a.rs: run"]);
}

#[test]
fn a_method_that_stands_elsewhere_is_a_hidden_edge() {
    let graph = graph(&[
        ("lib.rs", "mod thing; mod calls; mod user;"),
        ("thing.rs", "mod more; pub struct Thing; impl Thing { pub fn own(&self) {} }"),
        ("thing/more.rs", "impl super::Thing { pub fn below(&self) {} }"),
        ("calls.rs", "use crate::thing::Thing; impl Thing { pub fn open(&self) {} pub fn own(&self, _: u8) {} }"),
        ("user.rs", "fn f(t: &crate::thing::Thing) { t.open(); t.own(); t.below(); }"),
    ]);
    assert_eq!(edges(&graph, true), ["user.rs calls.rs: open"]);
}

#[test]
fn circles_of_more_than_three_files_or_across_folders_are_refused() {
    let three = [("lib.rs", "mod a; mod b; mod c;"), ("a.rs", "use crate::b::B; pub struct A(B);"), ("b.rs", "use crate::c::C; pub struct B(C);"), ("c.rs", "pub struct C(*const crate::a::A);")];
    assert_eq!(graph(&three).circles(), [(vec![1, 2, 3], true)]);
    assert_eq!(graph(&three).describe(&[1, 2, 3]), "circle of 3: a.rs -> b.rs (B), b.rs -> c.rs (C), c.rs -> a.rs (A)");
    let four = [("lib.rs", "mod a; mod b; mod c; mod d;"), three[1], three[2], ("c.rs", "pub struct C(*const crate::d::D);"), ("d.rs", "pub struct D(crate::a::A);")];
    assert_eq!(graph(&four).circles(), [(vec![1, 2, 3, 4], false)]);
    let face = [("lib.rs", "mod a;"), ("a.rs", "mod b; pub struct A(b::B);"), ("a/b.rs", "pub struct B(*const super::A);")];
    assert_eq!(graph(&face).circles(), [(vec![1, 2], true)]);
    let across = [("lib.rs", "mod a; mod d { pub mod b; }"), ("a.rs", "pub struct A(crate::d::b::B);"), ("d/b.rs", "pub struct B(*const crate::a::A);")];
    assert_eq!(graph(&across).circles(), [(vec![1, 2], false)]);
}

#[test]
fn an_import_from_a_higher_layer_is_refused() {
    let graph = graph(&[
        ("lib.rs", "mod low { pub mod a; } mod high { pub mod b; }"),
        ("low/a.rs", "use crate::high::b::run; fn f() { run(); crate::high::b::stop() }"),
        ("high/b.rs", "pub fn run() {} pub fn stop() {} use crate::low::a as _;"),
    ]);
    let upward = |text: &str| {
        let mut used = HashSet::new();
        let found = graph.upward(&Layers::parse(text).unwrap(), &mut used).len();
        (found, used.len())
    };
    let layers = "layer low low/\nlayer high high/ lib.rs\n";
    assert_eq!(upward(layers), (1, 0));
    assert_eq!(upward(&format!("{layers}except low/a.rs -> high/b.rs: run\n")), (1, 1));
    let both = format!("{layers}except low/a.rs -> high/b.rs: run\nexcept low/a.rs -> high/b.rs: stop\nexcept low/a.rs -> lib.rs: x\n");
    assert_eq!(upward(&both), (0, 2));
}

#[test]
fn the_tree_has_no_circle_that_is_not_recorded() {
    let tree = crate::tree::Tree::find().unwrap();
    let crates = crate::lint::walk::crates(&tree).unwrap();
    assert_eq!(super::check(&tree, &crates, None).unwrap(), Vec::<String>::new());
}
