//! For build scripts: `.isa` files in, a Rust file in `OUT_DIR` out.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::diagnostic::Errors;
use crate::emit::{Options, emit};
use crate::library::{self, PTX};
use crate::print::print;
use crate::source::Sources;
use crate::{Checked, check, parse, reference, resolve};

/// The way from spec files to a Rust file, for a `build.rs`.
pub struct Build {
    sources: Sources,
    options: Options,
    manual: Option<String>,
    reference: Option<String>,
    failed: Option<(PathBuf, io::Error)>,
}

impl Default for Build {
    fn default() -> Build {
        Build::new()
    }
}

impl Build {
    /// No sources yet; the generated code relies on the crate `ptx_isa`.
    pub fn new() -> Build {
        let path = |text| syn::parse_str(text).expect("a path");
        let options = Options { support: path("::ptx_isa"), bodies: path("::ptx_isa::eval") };
        Build { sources: Sources::new(), options, manual: None, reference: None, failed: None }
    }

    /// Adds the prelude of `ptx-isa`: its types, builtins and operators.
    #[must_use]
    pub fn prelude(mut self) -> Build {
        let (name, text) = PTX[0];
        self.sources.add(name, text);
        self
    }

    /// Adds the prelude and the whole table of `ptx-isa`.
    #[must_use]
    pub fn ptx(mut self) -> Build {
        for (name, text) in PTX {
            self.sources.add(name, text);
        }
        self
    }

    /// Adds a spec file; cargo runs the build script again when it changes.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>) -> Build {
        let path = path.as_ref();
        println!("cargo::rerun-if-changed={}", path.display());
        match fs::read_to_string(path) {
            Ok(text) => self.sources.add(path.display().to_string(), &text),
            Err(error) => self.failed = self.failed.or(Some((path.to_owned(), error))),
        }
        self
    }

    /// Adds spec text under a name for reports.
    #[must_use]
    pub fn text(mut self, name: &str, text: &str) -> Build {
        self.sources.add(name, text);
        self
    }

    /// The path of the crate `ptx-isa` as the generated code sees it; `::ptx_isa` if not said.
    ///
    /// # Panics
    ///
    /// If it is no path.
    #[must_use]
    pub fn support(mut self, path: &str) -> Build {
        self.options.support = syn::parse_str(path).expect("the support crate is named by a path");
        self
    }

    /// The path of the module with the builtins' bodies; `::ptx_isa::eval` if not said.
    ///
    /// # Panics
    ///
    /// If it is no path.
    #[must_use]
    pub fn bodies(mut self, path: &str) -> Build {
        self.options.bodies = syn::parse_str(path).expect("the bodies' module is named by a path");
        self
    }

    /// [`write`](Build::write) also writes this file: a module for each opcode whose documentation is its page.
    #[must_use]
    pub fn manual(mut self, name: &str) -> Build {
        self.manual = Some(name.to_owned());
        self
    }

    /// [`write`](Build::write) also writes this file: the pages as data, and the values of pseudo-code line by line.
    #[must_use]
    pub fn reference(mut self, name: &str) -> Build {
        self.reference = Some(name.to_owned());
        self
    }

    /// The generated module as formatted Rust.
    ///
    /// # Errors
    ///
    /// The report of every mistake of the first stage that found one.
    pub fn generate(&self) -> Result<String, String> {
        self.tokens().map(print)
    }

    /// The generated module as tokens, unformatted: what `isa!` expands to for the same spec.
    ///
    /// # Errors
    ///
    /// The report of every mistake of the first stage that found one.
    pub fn tokens(&self) -> Result<TokenStream, String> {
        self.checked().map(|(checked, sources)| emit(&checked, &sources, &self.options))
    }

    fn checked(&self) -> Result<(Checked, Sources), String> {
        if let Some((path, error)) = &self.failed {
            return Err(format!("cannot read {}: {error}\n", path.display()));
        }
        let render = |errors: Errors, sources: &Sources| errors.render(sources, false);
        let spec = self.sources.tokens().and_then(parse).map_err(|errors| render(errors, &self.sources))?;
        let more = library::wanted(&spec, &self.sources).map_err(|errors| render(errors, &self.sources))?;
        let sources = more.then(&self.sources);
        let checked = compile(&sources).map_err(|errors| render(errors, &sources))?;
        Ok((checked, sources))
    }

    /// The files to write, by name.
    fn files(&self, table: &str) -> Result<Vec<(String, String)>, String> {
        let (checked, sources) = self.checked()?;
        let mut files = vec![(table.to_owned(), print(emit(&checked, &sources, &self.options)))];
        if self.manual.is_some() || self.reference.is_some() {
            let pages = reference::pages(&checked, &sources);
            let support = self.options.support.to_token_stream().to_string().replace(' ', "");
            let manual =
                self.manual.clone().map(|name| (name, reference::manual(&pages, support.trim_start_matches(':'))));
            let data = self
                .reference
                .clone()
                .map(|name| (name, print(crate::emit::reference(&checked, &sources, &self.options, &pages))));
            files.extend(manual.into_iter().chain(data));
        }
        Ok(files)
    }

    /// Writes the generated module to a file in `OUT_DIR`; on a mistake in the spec, reports it and ends the build.
    ///
    /// # Panics
    ///
    /// If `OUT_DIR` is not set or cannot be written: outside a build script, that is.
    pub fn write(&self, name: &str) {
        match self.files(name) {
            Ok(files) => {
                let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
                for (name, text) in files {
                    fs::write(out.join(name), text).expect("OUT_DIR can be written");
                }
            }
            Err(report) => {
                for line in report.lines() {
                    println!("cargo::error={line}");
                }
                std::process::exit(1);
            }
        }
    }
}

/// The generated module of a spec given as tokens, for a macro: spans and errors point into the tokens.
///
/// # Errors
///
/// Every mistake of the first stage that found one.
pub fn expand(tokens: TokenStream) -> Result<TokenStream, Errors> {
    let mut spec = parse(tokens)?;
    let sources = library::wanted(&spec, &Sources::new())?;
    let mut items = parse(sources.tokens_beside()?)?.items;
    items.append(&mut spec.items);
    spec.items = items;
    let checked = resolve(spec).and_then(check)?;
    Ok(emit(&checked, &sources, &Build::new().options))
}

/// Runs every stage up to the checked model. What `use` names must be among the sources.
///
/// # Errors
///
/// Every mistake of the first stage that found one.
pub fn compile(sources: &Sources) -> Result<Checked, Errors> {
    sources.tokens().and_then(parse).and_then(resolve).and_then(check)
}
