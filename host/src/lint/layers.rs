//! A crate's `layers.txt`: its layers from the ground up, each with the folders and files of `src`
//! that belong to it, and imports that are excepted.

/// A crate's layers.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Name of each layer and the paths that belong to it.
    layers: Vec<(String, Vec<String>)>,
    /// Excepted imports.
    pub exceptions: Vec<Exception>,
}

/// An import from a higher layer that is allowed for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Line in `layers.txt`, from 1.
    pub line: usize,
    /// File that imports.
    pub from: String,
    /// File that defines the name.
    pub to: String,
    /// The name.
    pub name: String,
}

impl Layers {
    /// Parses `layers.txt`; an error names the line.
    pub fn parse(text: &str) -> Result<Layers, String> {
        let mut layers = Layers::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                ["layer", name, ref paths @ ..] if !paths.is_empty() => {
                    layers.layers.push((name.to_string(), paths.iter().map(|path| path.to_string()).collect()));
                }
                ["except", from, "->", to, name] if to.ends_with(':') => {
                    let to = to.trim_end_matches(':').to_string();
                    layers.exceptions.push(Exception { line: index + 1, from: from.to_string(), to, name: name.to_string() });
                }
                _ => return Err(format!("{}: neither `layer NAME PATH...` nor `except FILE -> FILE: NAME`", index + 1)),
            }
        }
        Ok(layers)
    }

    /// Returns true if the crate has no `layers.txt`.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Returns the layer of a file of `src`, counted from the ground: the one with the longest path
    /// that fits.
    pub fn of(&self, file: &str) -> Option<usize> {
        let fit = |path: &&String| if path.ends_with('/') { file.starts_with(path.as_str()) } else { file == path.as_str() };
        let longest = |paths: &[String]| paths.iter().filter(fit).map(String::len).max();
        let lengths = self.layers.iter().enumerate().filter_map(|(layer, (_, paths))| Some((longest(paths)?, layer)));
        lengths.max().map(|(_, layer)| layer)
    }

    /// Name of a layer.
    pub fn name(&self, layer: usize) -> &str {
        self.layers.get(layer).map_or("", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_path_decides() {
        let layers = Layers::parse("layer low a/ # ground\nlayer high lib.rs a/b/ a.rs\n\nexcept a/x.rs -> lib.rs: run\n").unwrap();
        assert_eq!(["a/x.rs", "a/b/x.rs", "a.rs", "lib.rs", "c.rs"].map(|file| layers.of(file)), [Some(0), Some(1), Some(1), Some(1), None]);
        assert_eq!((layers.name(1), layers.exceptions.len(), layers.exceptions[0].line), ("high", 1, 4));
    }

    #[test]
    fn other_lines_are_refused() {
        for bad in ["layer", "layer x", "except a -> b c", "allow x"] {
            assert!(Layers::parse(bad).is_err(), "{bad}");
        }
    }
}
