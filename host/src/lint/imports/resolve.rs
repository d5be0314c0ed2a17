//! Finds the file that defines a path: follows modules, imports, re-exports and glob imports.

use std::cell::RefCell;
use std::collections::HashMap;

use super::modules::{Module, Modules, Name, Used};

/// Target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A module of the crate.
    Module(usize),
    /// Something that this file defines.
    Item(usize),
}

/// Resolves paths of one crate.
pub struct Resolver<'a> {
    modules: &'a Modules,
    /// Names that were looked up before, by module and by whether `::` follows. A name that is
    /// being looked up counts as not found, since imports may name each other in a ring.
    known: RefCell<HashMap<(usize, String, bool), Option<Target>>>,
}

impl<'a> Resolver<'a> {
    /// Makes one that has looked up nothing.
    pub fn new(modules: &'a Modules) -> Resolver<'a> {
        Resolver { modules, known: RefCell::default() }
    }

    /// Returns the file that defines `used`, which code of `module` names.
    pub fn file_of(&self, module: usize, used: &Used) -> Option<usize> {
        match self.resolve(module, &used.path) {
            Some(Target::Item(file)) => Some(file),
            Some(Target::Module(_)) => None,
            None if used.is_macro && (used.path.len() == 1 || used.path[0] == "crate") => self.modules.macros.get(used.path.last()?).copied(),
            None => None,
        }
    }

    fn module(&self, module: usize) -> &Module {
        &self.modules.modules[module]
    }

    fn root_of(&self, mut module: usize) -> usize {
        while let Some(parent) = self.module(module).parent {
            module = parent;
        }
        module
    }

    /// Returns the target of `path`, seen from `module`; `None` for other crates.
    pub fn resolve(&self, module: usize, path: &[String]) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(self.root_of(module)),
            "self" => Target::Module(module),
            "super" => Target::Module(self.module(module).parent?),
            _ => match self.look_up(module, first, rest.is_empty()) {
                Some(target) => target,
                None => Target::Module(self.modules.library.as_ref().filter(|(name, _)| name == first)?.1),
            },
        };
        while let Some((next, behind)) = rest.split_first() {
            rest = behind;
            target = match target {
                Target::Item(file) => return Some(Target::Item(file)),
                Target::Module(module) if next == "super" => Target::Module(self.module(module).parent?),
                Target::Module(module) if next == "self" => Target::Module(module),
                Target::Module(module) => self.look_up(module, next, rest.is_empty())?,
            };
        }
        Some(target)
    }

    /// Looks a single name up in a module. A name in front of `::` is a module or a type.
    fn look_up(&self, module: usize, name: &str, is_last: bool) -> Option<Target> {
        let key = (module, name.to_string(), is_last);
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        self.known.borrow_mut().insert(key.clone(), None);
        let found = self.search(module, name, is_last);
        self.known.borrow_mut().insert(key, found);
        found
    }

    fn search(&self, module: usize, name: &str, is_last: bool) -> Option<Target> {
        let here = &self.module(module);
        let child = here.children.get(name).map(|child| Target::Module(*child));
        let own = || {
            here.names.get(name)?.iter().find_map(|meaning| match meaning {
                Name::Item => Some(Target::Item(here.file)),
                Name::Alias(path) => self.resolve(module, path),
            })
        };
        let found = if is_last { own().or(child) } else { child.or_else(own) };
        found.or_else(|| {
            here.globs.iter().find_map(|path| match self.resolve(module, path)? {
                Target::Module(other) if other != module => self.look_up(other, name, is_last),
                Target::Module(_) | Target::Item(_) => None,
            })
        })
    }
}
