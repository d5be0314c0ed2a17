//! Builds the programs: all of a kind are one file, in which the first word names the one that
//! runs, so that they take little room in an image.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::sources::{Kind, Test, folder};
use crate::builds::run_quietly;
use crate::failure::{Class, Context, Outcome};
use crate::tree::Tree;

/// Compilers that run at once.
const COMPILERS: usize = 2;

/// The programs, built.
pub struct Programs {
    folder: PathBuf,
}

/// A file to be compiled.
struct Job {
    compiler: &'static str,
    source: PathBuf,
    object: PathBuf,
    /// Name of its `main`.
    main: String,
}

impl Programs {
    /// Compiles what is older than its source, and links.
    pub fn build(tree: &Tree, tests: &[Test]) -> Outcome<Programs> {
        let programs = Programs { folder: tree.target("linux-tests") };
        let sources = folder(tree);
        for folder in ["gcc", "musl-gcc"] {
            let path = programs.folder.join(folder);
            fs::create_dir_all(&path).context(Class::File, || format!("cannot make {}", path.display()))?;
        }
        let jobs = programs.jobs(&sources, tests);
        compile_stale(&jobs, &[sources.join("check.h")])?;
        for kind in Kind::ALL {
            programs.link(kind, &sources, tests)?;
        }
        Ok(programs)
    }

    /// The file that holds all programs of a kind.
    pub fn file(&self, kind: Kind) -> PathBuf {
        self.folder.join(kind.name())
    }

    fn object(&self, compiler: &str, name: &str) -> PathBuf {
        self.folder.join(compiler).join(format!("{name}.o"))
    }

    fn jobs(&self, sources: &Path, tests: &[Test]) -> Vec<Job> {
        let job = |compiler: &'static str, name: &str, main: String| Job {
            compiler,
            source: sources.join(format!("{name}.c")),
            object: self.object(compiler, name),
            main,
        };
        let of = |compiler: &'static str, kind: Kind| {
            let own = tests.iter().filter(move |test| test.kinds.contains(&kind));
            own.map(move |test| job(compiler, &test.name, function(&test.name))).chain([job(compiler, "common", "main".to_string())])
        };
        of("gcc", Kind::Glibc).chain(of("musl-gcc", Kind::Musl)).collect()
    }

    fn link(&self, kind: Kind, sources: &Path, tests: &[Test]) -> Outcome<()> {
        let compiler = if kind == Kind::Musl { "musl-gcc" } else { "gcc" };
        let own: Vec<&Test> = tests.iter().filter(|test| test.kinds.contains(&kind)).collect();
        let list = self.folder.join(format!("{}.c", kind.name()));
        fs::write(&list, listing(&own)).context(Class::File, || format!("cannot write {}", list.display()))?;
        let mut command = Command::new(compiler);
        if kind != Kind::Dynamic {
            command.arg("-static");
        }
        command.arg("-I").arg(sources).arg("-o").arg(self.file(kind)).arg(&list).arg(self.object(compiler, "common"));
        command.args(own.iter().map(|test| self.object(compiler, &test.name))).args(["-lm", "-lpthread", "-lrt"]);
        run_quietly(command, kind.name())
    }
}

/// Returns the name that a program's `main` gets as one of many.
fn function(name: &str) -> String {
    format!("test_{}", name.replace('-', "_"))
}

/// The list by which `common.c` finds programs.
fn listing(tests: &[&Test]) -> String {
    let mut text = String::from("struct program { const char *name; int (*main)(); };\n");
    tests.iter().for_each(|test| text.push_str(&format!("int {}();\n", function(&test.name))));
    text.push_str("const struct program programs[] = {\n");
    tests.iter().for_each(|test| text.push_str(&format!("{{\"{}\", {}}},\n", test.name, function(&test.name))));
    text.push_str("{0, 0}};\n");
    text
}

/// Compiles what is older than its source or one of the headers.
fn compile_stale(jobs: &[Job], headers: &[PathBuf]) -> Outcome<()> {
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let is_stale = |job: &&Job| {
        let built = modified(&job.object);
        built.is_none() || [&job.source].into_iter().chain(headers).any(|source| modified(source) > built)
    };
    let stale: Vec<&Job> = jobs.iter().filter(is_stale).collect();
    if stale.len() > 100 {
        eprintln!("nacre: compiling {} programs (once)", stale.len());
    }
    let (next, result) = (AtomicUsize::new(0), Mutex::new(Ok(())));
    std::thread::scope(|scope| {
        for _ in 0..COMPILERS {
            scope.spawn(|| {
                while let Some(job) = stale.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let (Err(failure), Ok(mut result)) = (compile(job), result.lock()) {
                        *result = Err(failure);
                    }
                }
            });
        }
    });
    result.into_inner().unwrap_or(Ok(()))
}

/// Warnings are off: the programs do what compilers warn of.
fn compile(job: &Job) -> Outcome<()> {
    let mut command = Command::new(job.compiler);
    command.args(["-O1", "-w", "-c", "-o"]).arg(&job.object).arg(&job.source);
    if job.main != "main" {
        command.arg(format!("-Dmain={}", job.main));
    }
    run_quietly(command, &job.source.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_program() {
        let test = Test { name: "a-b".into(), calls: vec![], covers: String::new(), kinds: vec![Kind::Glibc] };
        let text = listing(&[&test]);
        assert!(text.contains("int test_a_b();") && text.contains("{\"a-b\", test_a_b},"));
    }
}
