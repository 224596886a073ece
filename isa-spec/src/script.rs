//! Entry points: build scripts turn `.isa` files into Rust files in `OUT_DIR`; macros turn tokens into tokens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use isa_table::table::Table;
use proc_macro2::TokenStream;

use crate::check::unused_functions;
use crate::emit::{self, Context, Parts};
use crate::library::{self, PTX};
use crate::model::Function;
use crate::pages;
use crate::plan::{Plan, plan};
use crate::text::{Errors, Sources, beside};
use crate::{Checked, Model, Spec, check, parse, resolve};

/// Builder for use in a `build.rs`: from spec files to Rust files.
#[derive(Clone)]
pub struct Build {
    sources: Sources,
    support: String,
    bodies: String,
    loops: Option<String>,
    scalar: Option<String>,
    catalog: Option<String>,
    manual: Option<String>,
    reference: Option<String>,
    with_scalar: bool,
    with_ptx: Option<String>,
    failed: Option<String>,
    colour: bool,
}

impl Default for Build {
    fn default() -> Build {
        Build::new()
    }
}

/// A checked spec and what to generate from it.
struct Ready {
    checked: Checked,
    plan: Plan,
    sources: Sources,
    support: String,
    bodies: String,
}

impl Ready {
    fn context(&self) -> Context<'_> {
        Context {
            checked: &self.checked,
            plan: &self.plan,
            sources: &self.sources,
            support: &self.support,
            bodies: &self.bodies,
        }
    }
}

impl Build {
    /// Creates a build without sources; the generated code refers to the crate `ptx_isa`.
    pub fn new() -> Build {
        Build {
            sources: Sources::new(),
            support: "::ptx_isa".to_owned(),
            bodies: "::ptx_isa::eval".to_owned(),
            loops: None,
            scalar: None,
            catalog: None,
            manual: None,
            reference: None,
            with_scalar: false,
            with_ptx: None,
            failed: None,
            colour: false,
        }
    }

    /// Adds the prelude of `ptx-isa`: types, builtins and operators.
    #[must_use]
    pub fn prelude(mut self) -> Build {
        let (name, text) = PTX[0];
        self.sources.add(name, text);
        self
    }

    /// Adds the prelude and the full table of `ptx-isa`, to be generated again. In contrast, a spec with `use ptx;`
    /// extends the existing table, and only its own instructions are generated.
    #[must_use]
    pub fn ptx(mut self) -> Build {
        for &(name, text) in PTX {
            self.sources.add(name, text);
        }
        self
    }

    /// Adds a spec file and makes cargo rerun the build script when it changes.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>) -> Build {
        let path = path.as_ref();
        println!("cargo::rerun-if-changed={}", path.display());
        match fs::read_to_string(path) {
            Ok(text) => self.sources.add(path.display().to_string(), &text),
            Err(error) => self.fail(path, &error),
        }
        self
    }

    fn fail(&mut self, path: &Path, error: &io::Error) {
        let message = format!("cannot read {}: {error}\n", path.display());
        self.failed.get_or_insert(message);
    }

    /// Adds spec text under a name for reports.
    #[must_use]
    pub fn text(mut self, name: &str, text: &str) -> Build {
        self.sources.add(name, text);
        self
    }

    /// Colors reports, for terminals.
    #[must_use]
    pub fn colour(mut self) -> Build {
        self.colour = true;
        self
    }

    /// Sets the path of the crate `ptx-isa` in the generated code; default `::ptx_isa`.
    #[must_use]
    pub fn support(mut self, path: &str) -> Build {
        self.support = path.to_owned();
        self
    }

    /// Sets the path of the module with the builtins' bodies; default `::ptx_isa::eval`.
    #[must_use]
    pub fn bodies(mut self, path: &str) -> Build {
        self.bodies = path.to_owned();
        self
    }

    /// Adds a macro `ptx!` to the table's own file, equivalent to that of the crate `ptx-isa-macros`: it names and
    /// builds instructions of this table and of its base. `path` is the crate-wide path at which the file is included:
    /// `crate::mine`.
    #[must_use]
    pub fn with_ptx(mut self, path: &str) -> Build {
        self.with_ptx = Some(path.to_owned());
        self
    }

    /// Adds the module `scalar` to the table's own file, with a typed function for each form.
    #[must_use]
    pub fn with_scalar(mut self) -> Build {
        self.with_scalar = true;
        self
    }

    /// Makes [`write`](Build::write) also write this file with the loops over lanes, the items of a sibling module
    /// `loops`. By default the table's own file contains that module.
    #[must_use]
    pub fn loops(mut self, name: &str) -> Build {
        self.loops = Some(name.to_owned());
        self
    }

    /// Makes [`write`](Build::write) also write this file: the module `scalar`, with a typed function for each form.
    #[must_use]
    pub fn scalar(mut self, name: &str) -> Build {
        self.scalar = Some(name.to_owned());
        self
    }

    /// Makes [`write`](Build::write) also write this file: a call of a macro `functions!`, which the including code
    /// defines, with a line for each function of the module `scalar`: mnemonic, name, and `_` for each parameter.
    ///
    /// ```text
    /// functions! {
    ///     "set.lt.u32.f32" set_lt_u32_f32(_, _);
    /// }
    /// ```
    #[must_use]
    pub fn catalog(mut self, name: &str) -> Build {
        self.catalog = Some(name.to_owned());
        self
    }

    /// Makes [`write`](Build::write) also write this file: a module for each opcode, documented by its reference page.
    #[must_use]
    pub fn manual(mut self, name: &str) -> Build {
        self.manual = Some(name.to_owned());
        self
    }

    /// Makes [`write`](Build::write) also write this file: the pages as data, and the values of pseudo-code line by
    /// line.
    #[must_use]
    pub fn reference(mut self, name: &str) -> Build {
        self.reference = Some(name.to_owned());
        self
    }

    /// Returns the generated module as Rust.
    ///
    /// # Errors
    ///
    /// A report of every error of the first stage that fails.
    pub fn generate(&self) -> Result<String, String> {
        let ready = self.ready()?;
        Ok(self.table(&ready))
    }

    /// Checks the spec without generating code.
    ///
    /// # Errors
    ///
    /// A report of every error of the first stage that fails.
    pub fn check(&self) -> Result<(), String> {
        self.checked().map(drop)
    }

    /// Summarizes the plan of the table: shapes, loops, operations, and the reasons why forms have no loop over lanes.
    ///
    /// # Errors
    ///
    /// A report of every error of the first stage that fails.
    pub fn plan(&self) -> Result<String, String> {
        Ok(self.ready()?.plan.to_string())
    }

    /// Generates the table's own file.
    fn table(&self, ready: &Ready) -> String {
        let table = emit::table(&ready.context(), Parts { loops: self.loops.is_none(), typed: self.with_scalar });
        let ptx = self.with_ptx.as_ref().map(|path| emit::ptx(path, &ready.bodies, &self.sources));
        table + &ptx.unwrap_or_default()
    }

    /// Parses and resolves the spec with its libraries; returns the model and the sources that its spans refer to.
    fn model(&self) -> Result<(Model, Sources), String> {
        if let Some(message) = &self.failed {
            return Err(message.clone());
        }
        let spec = self.sources.tokens().and_then(parse).map_err(|errors| self.report(errors, &self.sources))?;
        let library = library::wanted(&spec, &self.sources).map_err(|errors| self.report(errors, &self.sources))?;
        let files = library.names().count();
        let sources = library.then(&self.sources);
        // Without a library the spec that was parsed is complete.
        let spec = if files == 0 { Ok(spec) } else { sources.tokens().and_then(parse) };
        let model = spec
            .map(|spec| spec.split(|span| sources.file_number(span) < files))
            .and_then(resolve)
            .map_err(|errors| self.report(errors, &sources))?;
        Ok((model, sources))
    }

    /// Renders errors.
    fn report(&self, errors: Errors, sources: &Sources) -> String {
        complete(errors, sources).render(sources, self.colour)
    }

    fn checked(&self) -> Result<(Checked, Sources), String> {
        let (model, sources) = self.model()?;
        let checked = check(model.own()).map_err(|errors| self.report(errors, &sources))?;
        // Functions of a library may be unused, unless the whole library is part of the spec.
        let whole = PTX.iter().all(|(name, _)| self.sources.has(name));
        let judged =
            |function: &Function| whole || PTX.iter().all(|(name, _)| *name != sources.place_of(function.span).file);
        unused_functions(&checked.model, judged).map_err(|errors| self.report(errors, &sources))?;
        Ok((checked, sources))
    }

    fn ready(&self) -> Result<Ready, String> {
        let (checked, sources) = self.checked()?;
        Ok(Ready::new(checked, sources, self))
    }

    /// Returns a generator of the functions of single forms.
    ///
    /// # Errors
    ///
    /// A report of every error of the first stage that fails.
    pub fn functions(&self) -> Result<Functions, String> {
        let (model, sources) = self.model()?;
        Ok(Functions { model, sources, build: self.clone(), ready: HashMap::new() })
    }

    /// Files to write, by name.
    fn files(&self, table: &str) -> Result<Vec<(String, String)>, String> {
        let ready = self.ready()?;
        let cx = ready.context();
        let mut files = vec![(table.to_owned(), self.table(&ready))];
        files.extend(self.loops.clone().map(|name| (name, emit::loops(&cx))));
        files.extend(self.scalar.clone().map(|name| (name, emit::typed(&cx))));
        files.extend(self.catalog.clone().map(|name| (name, emit::catalog(&cx))));
        if self.manual.is_some() || self.reference.is_some() {
            let pages = pages::pages(&ready.checked, &ready.sources);
            files.extend(self.manual.clone().map(|name| (name, emit::manual(&cx, &pages))));
            files.extend(self.reference.clone().map(|name| (name, emit::reference(&cx, &pages))));
        }
        Ok(files)
    }

    /// Writes the generated module to a file in `OUT_DIR`; on an error in the spec, reports it and ends the build.
    ///
    /// # Panics
    ///
    /// If `OUT_DIR` is not set or not writable, as outside of a build script.
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

/// Generator of the functions of single forms, as `ptx!` expands to. An opcode is checked when one of its forms is
/// requested.
pub struct Functions {
    model: Model,
    sources: Sources,
    build: Build,
    ready: HashMap<String, Ready>,
}

impl Functions {
    /// Returns the table of the spec's own instructions on top of a base table; it contains data but no code.
    ///
    /// # Errors
    ///
    /// A report of every error.
    pub fn table(&self, base: &'static Table) -> Result<&'static Table, String> {
        let checked = check(self.model.clone().own()).map_err(|errors| errors.render(&self.sources, false))?;
        Ok(emit::leaked(&Ready::new(checked, self.sources.clone(), &self.build).context(), base))
    }

    /// Generates the function of the form with this name under another name; `None` if the form does not exist or has
    /// no evaluator.
    pub fn function(&mut self, form: &str, name: &str) -> Option<String> {
        let opcode = form.split('.').next()?;
        if !self.ready.contains_key(opcode) {
            let checked = check(self.model.only(opcode)).ok()?;
            self.ready.insert(opcode.to_owned(), Ready::new(checked, self.sources.clone(), &self.build));
        }
        emit::function(&self.ready.get(opcode)?.context(), form, name)
    }
}

/// Adds help to errors that a missing prelude explains.
fn complete(errors: Errors, sources: &Sources) -> Errors {
    if sources.has(PTX[0].0) { errors } else { library::forgotten(errors) }
}

impl Ready {
    fn new(checked: Checked, sources: Sources, build: &Build) -> Ready {
        let own = checked.model.bodies.as_ref().map(|path| path.to_string().replace(' ', ""));
        let plan = plan(&checked);
        let (support, bodies) = (build.support.clone(), own.unwrap_or_else(|| build.bodies.clone()));
        Ready { checked, plan, sources, support, bodies }
    }
}

/// Generates the module of a spec given as tokens, for a macro: spans and errors refer to the tokens.
///
/// # Errors
///
/// Every error of the first stage that fails.
pub fn expand(tokens: TokenStream) -> Result<TokenStream, Errors> {
    let mut spec = parse(tokens)?;
    let sources = library::wanted(&spec, &Sources::new())?;
    let library = sources.tokens_beside()?;
    spec.library = beside(|| parse(library))?.items;
    spec.beside = true;
    let own: Vec<String> = spec.items.iter().flat_map(|(_, item)| item.names()).map(ToString::to_string).collect();
    let checked = resolve(spec).map(Model::own).and_then(check).map_err(|errors| complete(errors, &sources))?;
    unused_functions(&checked.model, |function| own.contains(&function.signature.name))?;
    let ready = Ready::new(checked, sources, &Build::new());
    let text = emit::table(&ready.context(), Parts { loops: true, typed: true });
    Ok(text.parse().expect("generated code lexes"))
}

/// Runs every stage up to the checked model. Libraries named by `use` must be among the sources.
///
/// # Errors
///
/// Every error of the first stage that fails.
pub fn compile(sources: &Sources) -> Result<Checked, Errors> {
    sources.tokens().and_then(parse).and_then(resolve).and_then(check)
}

impl Spec {
    /// Separates the items of libraries from the spec's own by their position.
    fn split(mut self, is_library: impl Fn(proc_macro2::Span) -> bool) -> Spec {
        let (library, items) = self.items.into_iter().partition(|(start, _)| is_library(*start));
        self.items = items;
        self.library = library;
        self
    }
}
