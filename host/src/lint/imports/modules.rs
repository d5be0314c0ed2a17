//! Module tree of one crate: reads its files from the root, and collects for each module the names
//! that it defines and imports, the paths that it writes, its method calls and its inherent impls.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::tokens::{self, Scan, Segments};

/// Reads a file, named from the folder of its crate; `None` if it does not exist.
pub type Reader<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// Meaning of a name inside a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// The module defines the name.
    Item,
    /// The module imports the name from this path.
    Alias(Segments),
}

/// A path that code of a module writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Segments of the path.
    pub path: Segments,
    /// Line of the path, from 1.
    pub line: usize,
    /// Set if the path names a macro that is invoked.
    pub is_macro: bool,
}

/// An `impl` without a trait.
#[derive(Clone, Debug)]
pub struct InherentImpl {
    /// Path of the type.
    pub of: Segments,
    /// Methods that it declares.
    pub methods: Vec<String>,
}

/// One module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Index of the file that holds it.
    pub file: usize,
    /// The module that declares it; `None` for a root.
    pub parent: Option<usize>,
    /// Modules that it declares.
    pub children: HashMap<String, usize>,
    /// Names that it defines or imports.
    pub names: HashMap<String, Vec<Name>>,
    /// Paths of its glob imports.
    pub globs: Vec<Segments>,
    /// Paths that it uses.
    pub paths: Vec<Used>,
    /// Methods that it calls, each with its line.
    pub calls: Vec<(String, usize)>,
    /// Inherent impls of the module.
    pub impls: Vec<InherentImpl>,
}

/// Modules and files of a crate.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// Files, named from the folder of the crate.
    pub files: Vec<PathBuf>,
    /// Modules; those without a parent are roots.
    pub modules: Vec<Module>,
    /// Name of the library in paths, and its root module.
    pub library: Option<(String, usize)>,
    /// File of each macro that the crate defines.
    pub macros: HashMap<String, usize>,
    /// Methods of traits and of implementations of traits.
    pub trait_methods: HashSet<String>,
    /// Files that `syn` cannot parse, each with the error.
    pub errors: Vec<String>,
}

impl Modules {
    /// Reads the crate with the library name `name` through `reader`.
    pub fn read(name: &str, reader: Reader) -> Modules {
        let mut modules = Modules::default();
        for root in ["src/lib.rs", "src/main.rs"] {
            let Some(text) = reader(Path::new(root)) else { continue };
            let index = modules.add_file(Path::new(root), &text, None, true, reader);
            if root == "src/lib.rs" {
                modules.library = Some((name.replace('-', "_"), index));
            }
        }
        modules
    }

    /// Adds a file as a module. Files of its child modules stand beside it if `owns_folder`,
    /// else in the folder with its name.
    fn add_file(&mut self, path: &Path, text: &str, parent: Option<usize>, owns_folder: bool, reader: Reader) -> usize {
        let file = self.files.iter().position(|known| known == path).unwrap_or_else(|| {
            self.files.push(path.to_path_buf());
            self.files.len() - 1
        });
        let module = self.add_module(file, parent);
        match syn::parse_file(text) {
            Ok(parsed) if is_test(&parsed.attrs) => {}
            Ok(parsed) => {
                let folder = if owns_folder { path.with_file_name("") } else { path.with_extension("") };
                let mut collector = Collector { modules: self, module, source: path.with_file_name(""), folder, reader };
                collector.visit_file(&parsed);
            }
            Err(error) => self.errors.push(format!("{}: {error}", path.display())),
        }
        module
    }

    fn add_module(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module { file, parent, ..Module::default() });
        self.modules.len() - 1
    }
}

/// Visits one file.
struct Collector<'a> {
    modules: &'a mut Modules,
    /// Module whose items it visits.
    module: usize,
    /// Folder of the file: a `#[path]` starts there.
    source: PathBuf,
    /// Folder of the files of child modules.
    folder: PathBuf,
    reader: Reader<'a>,
}

impl Collector<'_> {
    fn here(&mut self) -> &mut Module {
        &mut self.modules.modules[self.module]
    }

    fn define(&mut self, name: String) {
        let names = self.here().names.entry(name).or_default();
        if !names.contains(&Name::Item) {
            names.push(Name::Item);
        }
    }

    fn use_path(&mut self, path: Segments, line: usize, is_macro: bool) {
        self.here().paths.push(Used { path, line, is_macro });
    }

    fn scan(&mut self, tokens: &TokenStream, scan: Scan) {
        for (path, line, is_macro) in tokens::paths(tokens, scan) {
            self.use_path(path, line, is_macro);
        }
        if scan == Scan::Everything {
            self.here().calls.extend(tokens::method_calls(tokens));
        }
    }

    fn add_use(&mut self, tree: &UseTree, mut path: Segments, line: usize, counts: bool) {
        let (path, alias) = match tree {
            UseTree::Path(next) => {
                path.push(next.ident.to_string());
                return self.add_use(&next.tree, path, line, counts);
            }
            UseTree::Group(group) => return group.items.iter().for_each(|item| self.add_use(item, path.clone(), line, counts)),
            UseTree::Glob(_) => {
                self.here().globs.push(path.clone());
                return self.use_path(path, line, false);
            }
            UseTree::Name(name) if name.ident == "self" => (path.clone(), path.last().cloned().unwrap_or_default()),
            UseTree::Rename(name) if name.ident == "self" => (path, name.rename.to_string()),
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                (path, name.ident.to_string())
            }
            UseTree::Rename(name) => {
                path.push(name.ident.to_string());
                (path, name.rename.to_string())
            }
        };
        if counts {
            self.use_path(path.clone(), line, false);
        }
        if alias != "_" {
            self.here().names.entry(alias).or_default().push(Name::Alias(path));
        }
    }

    /// Visits a module with a body in this file.
    fn inline_module(&mut self, name: &str, items: &[Item]) {
        let file = self.here().file;
        let inner = self.modules.add_module(file, Some(self.module));
        self.here().children.entry(name.to_string()).or_insert(inner);
        let (outer, folder) = (self.module, self.folder.clone());
        self.module = inner;
        self.folder.push(name);
        items.iter().for_each(|item| self.visit_item(item));
        (self.module, self.folder) = (outer, folder);
    }

    /// Adds the module whose body stands in a file of its own.
    fn file_module(&mut self, name: &str, attributes: &[Attribute]) {
        let beside = (self.folder.join(format!("{name}.rs")), false);
        let below = (self.folder.join(name).join("mod.rs"), true);
        let given: Vec<_> = path_attributes(attributes).into_iter().map(|path| (join(&self.source, &path), true)).collect();
        let candidates = if given.is_empty() { vec![beside, below] } else { given };
        for (path, owns_folder) in candidates {
            if let Some(text) = (self.reader)(&path) {
                let child = self.modules.add_file(&path, &text, Some(self.module), owns_folder, self.reader);
                self.here().children.entry(name.to_string()).or_insert(child);
                return;
            }
        }
    }

    fn macro_item(&mut self, item: &syn::ItemMacro) {
        match &item.ident {
            Some(name) => {
                let file = self.here().file;
                self.modules.macros.insert(name.to_string(), file);
                self.scan(&item.mac.tokens, Scan::CratePaths);
            }
            None => {
                tokens::definitions(&item.mac.tokens).into_iter().for_each(|name| self.define(name));
                self.visit_macro(&item.mac);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_item(&mut self, item: &'ast Item) {
        if is_test(attributes(item)) {
            return;
        }
        if let Some(name) = defined(item) {
            self.define(name);
        }
        match item {
            Item::Mod(child) => match &child.content {
                Some((_, items)) => self.inline_module(&child.ident.to_string(), items),
                None => self.file_module(&child.ident.to_string(), &child.attrs),
            },
            Item::Use(import) if import.leading_colon.is_none() => {
                let counts = matches!(import.vis, syn::Visibility::Inherited);
                self.add_use(&import.tree, Vec::new(), line(import.use_token.span), counts);
            }
            Item::Macro(item) => self.macro_item(item),
            Item::Trait(declared) => {
                let methods = declared.items.iter().filter_map(|item| if let syn::TraitItem::Fn(method) = item { Some(method.sig.ident.to_string()) } else { None });
                self.modules.trait_methods.extend(methods);
                visit::visit_item(self, item);
            }
            Item::ForeignMod(block) => {
                for item in &block.items {
                    match item {
                        syn::ForeignItem::Fn(function) => self.define(function.sig.ident.to_string()),
                        syn::ForeignItem::Static(value) => self.define(value.ident.to_string()),
                        _ => {}
                    }
                }
                visit::visit_item(self, item);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let methods: Vec<String> = item.items.iter().filter_map(|item| if let syn::ImplItem::Fn(method) = item { Some(method.sig.ident.to_string()) } else { None }).collect();
        match (&item.trait_, &*item.self_ty) {
            (Some(_), _) => self.modules.trait_methods.extend(methods),
            (None, syn::Type::Path(of)) => {
                let of = segments(&of.path);
                self.here().impls.push(InherentImpl { of, methods });
            }
            (None, _) => {}
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let at = path.segments.first().map_or(0, |segment| line(segment.ident.span()));
            self.use_path(segments(path), at, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        let at = invoked.path.segments.first().map_or(0, |segment| line(segment.ident.span()));
        self.use_path(segments(&invoked.path), at, true);
        self.scan(&invoked.tokens, Scan::Everything);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let (name, at) = (call.method.to_string(), line(call.method.span()));
        self.here().calls.push((name, at));
        visit::visit_expr_method_call(self, call);
    }
}

fn line(span: proc_macro2::Span) -> usize {
    span.start().line
}

fn segments(path: &syn::Path) -> Segments {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Returns true if an attribute says `cfg(test)`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// Paths of `#[path = "..."]` and `#[cfg_attr(..., path = "...")]`.
fn path_attributes(attributes: &[Attribute]) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in attributes {
        let tokens: Vec<TokenTree> = match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => {
                if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value {
                    found.push(text.value());
                }
                continue;
            }
            syn::Meta::List(list) if list.path.is_ident("cfg_attr") => list.tokens.clone().into_iter().collect(),
            _ => continue,
        };
        for three in tokens.windows(3) {
            if let [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)] = three
                && name == "path"
            {
                found.push(text.to_string().trim_matches('"').to_string());
            }
        }
    }
    found
}

/// Joins `inside` to `folder` and takes `..` away.
fn join(folder: &Path, inside: &str) -> PathBuf {
    let mut joined = folder.to_path_buf();
    for part in inside.split('/') {
        match part {
            ".." if joined.file_name().is_some() => {
                joined.pop();
            }
            _ => joined.push(part),
        }
    }
    joined
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}
