//! The command line: arguments, exit statuses and output. Each command is implemented in its own module.

mod batch;
mod check;
mod dataset;
#[cfg(feature = "docs")]
mod docs;
mod eval;
mod explain;
mod findings;
mod floor;
#[cfg(feature = "docs")]
mod folder;
#[cfg(feature = "lsp")]
mod lsp;
mod names;
mod npy;
mod ordered;
mod progress;
mod report;
mod run;
mod sarif;
mod shell;
mod table;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::Code;
use ptx_isa::table::{FormInfo, Free};
use ptx_isa::target::{Floor, Target, Version};
use ptx_isa::text::spelling;
use ptx_isa::text::statement::Need;

/// PTX instructions as one table: check modules, evaluate statements, look things up.
#[derive(Parser)]
#[command(name = "ptx-isa", version, arg_required_else_help = true)]
struct Arguments {
    /// When to write in color
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Suppress counts and progress
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Give the assembler's verdict on every statement of PTX modules
    #[command(after_help = include_str!("help/check.txt"))]
    Check(CheckArguments),

    /// Compute what a statement computes, bit by bit
    #[command(after_help = include_str!("help/eval.txt"))]
    Eval(EvalArguments),

    /// Explain a mnemonic, an opcode, a name of PTX or a finding; for an illegal mnemonic, give the reason and the nearest legal ones
    #[command(after_help = include_str!("help/explain.txt"))]
    Explain(ExplainArguments),

    /// Write the reference as a site of plain files
    #[cfg(feature = "docs")]
    #[command(after_help = include_str!("help/docs.txt"))]
    Docs(DocsArguments),

    /// Serve an editor that speaks the language server protocol over standard input and output
    #[cfg(feature = "lsp")]
    Lsp,

    /// Run a kernel on the CPU
    #[command(after_help = include_str!("help/run.txt"))]
    Run(run::RunArguments),

    /// List the legal forms
    #[command(after_help = include_str!("help/table.txt"))]
    Table(TableArguments),

    /// Generate a shell completion script
    #[command(after_help = include_str!("help/completions.txt"))]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Print this manual as a page for `man`
    #[command(after_help = include_str!("help/man.txt"))]
    Man,
}

#[derive(Args)]
struct CheckArguments {
    /// How to print what is found
    #[arg(long, value_enum, default_value_t = FindingsFormat::Text)]
    format: FindingsFormat,
    /// Treat as an error what the assembler takes although the manual does not list it
    #[arg(long)]
    strict: bool,
    /// Print the minimum PTX version and target of each kernel and each module, and what needs them, as text or JSON
    #[arg(long)]
    floor: bool,
    /// Rewrite the files with the edits that findings come with: those that keep the meaning, or all
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "safe")]
    fix: Option<Fixes>,
    /// Leave out the findings of a code, which `ptx-isa explain CODE` explains; may be given several times
    #[arg(long, value_name = "CODE", value_parser = names::known_code, value_delimiter = ',')]
    ignore: Vec<Code>,
    /// Maximum number of errors, and of warnings, to show for a file; 0 for no limit [default: 100, for tools no limit]
    #[arg(long, value_name = "N")]
    error_limit: Option<usize>,
    /// Check for this target, whatever the module says
    #[arg(long, value_name = "sm_XX", value_parser = names::known_target)]
    target: Option<Target>,
    /// Check for this PTX version, whatever the module says
    #[arg(long, value_name = "X.Y", value_parser = names::known_version)]
    ptx: Option<Version>,
    /// PTX modules; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args)]
struct EvalArguments {
    /// Compute as this target does; the newest if not given
    #[arg(long, value_name = "sm_XX", value_parser = names::known_target)]
    target: Option<Target>,
    /// Evaluate a warp with this mask of active threads, one bit each; all of them if not given and threads depend on others
    #[arg(long, value_name = "MASK", value_parser = names::mask)]
    active: Option<u32>,
    /// Read one JSON object a line and answer each with one; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["statement", "inputs"])]
    batch: Option<PathBuf>,
    /// A statement; the names of its registers are free
    #[arg(required_unless_present = "batch")]
    statement: Option<String>,
    /// The value of each register that is read, as NAME=VALUE
    #[arg(value_name = "NAME=VALUE")]
    inputs: Vec<String>,
}

#[derive(Args)]
struct ExplainArguments {
    #[command(flatten)]
    machine: Machine,
    /// A mnemonic like `setp.lt.ftz.f16`, an opcode, a pattern of either, in which `*` stands for any text, a special register, directive,
    /// state space or type (`%tid`, `.reg`), a function of CUDA C++, or the code of a finding
    mnemonic: String,
}

#[cfg(feature = "docs")]
#[derive(Args)]
struct DocsArguments {
    /// The folder to write to: a new or empty folder, or a folder that this command wrote earlier
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The evaluators as a module, for a site that computes
    #[arg(long, value_name = "FILE")]
    wasm: Option<PathBuf>,
    /// A site that evaluates nothing, where there is no such module
    #[arg(long = "static", conflicts_with = "wasm")]
    without: bool,
    /// Recorded results of machine code, for the word on how each form is known
    #[arg(long, value_name = "FILE")]
    recorded: Option<PathBuf>,
    /// Recorded machine code of forms
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
    /// Which forms tests hold to a reading of the manual of their own, for the same word
    #[arg(long, value_name = "FILE")]
    held: Option<PathBuf>,
    /// Where the site will be, for the addresses that search engines and previews read, and a map of the site
    #[arg(long, value_name = "URL")]
    address: Option<String>,
}

#[derive(Args)]
struct TableArguments {
    /// How to print the forms
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,
    #[command(flatten)]
    machine: Machine,
    /// Pattern for the mnemonics to list; `*` matches any text
    pattern: Option<String>,
}

/// For what the assembler is asked.
#[derive(Args)]
struct Machine {
    /// Only what the assembler takes for this target
    #[arg(long, value_name = "sm_XX", value_parser = names::known_target)]
    target: Option<Target>,
    /// Only what the assembler takes with this PTX version; the newest if only a target is given
    #[arg(long, value_name = "X.Y", value_parser = names::known_version)]
    ptx: Option<Version>,
}

impl Machine {
    /// Returns true if the form exists for this version and target.
    fn has(&self, form: FormInfo) -> bool {
        spelling::is_taken(form, self.ptx, self.target)
    }

    /// Returns true if the form exists with these free modifiers for this version and target.
    fn has_with(&self, form: FormInfo, free: &Free) -> bool {
        spelling::is_taken_with(form, free, self.ptx, self.target)
    }

    /// Returns true if it has the form as lists spell it.
    fn has_listed(&self, form: FormInfo) -> bool {
        self.has_with(form, &spelling::needed(form))
    }

    /// Returns the form, with free modifiers unless it has the form as lists spell it; `None` if it does not have the form.
    fn row(&self, form: FormInfo) -> Option<(FormInfo, Option<Free>)> {
        match self.has_listed(form) {
            true => Some((form, None)),
            false => spelling::taken(form, self.ptx, self.target).map(|free| (form, Some(free))),
        }
    }

    /// Returns the requirements that this version and target do not meet.
    fn lacks<'n, 'a>(&self, needs: &'n [Need<'a>]) -> impl Iterator<Item = &'n Need<'a>> {
        needs.iter().filter(|need| !TABLE.has(need.floor, self.ptx, self.target))
    }

    /// Returns true if the version or the target is below a floor.
    fn is_below(&self, floor: &Floor) -> bool {
        let families = TABLE.families();
        self.ptx.is_some_and(|ptx| ptx < floor.ptx) || self.target.is_some_and(|target| !floor.takes(target, families))
    }

    /// It in words, if anything is asked: `PTX 7.0, sm_75`.
    fn in_words(&self) -> Option<String> {
        let (ptx, target) = (self.ptx.map(|ptx| format!("PTX {ptx}")), self.target.map(|target| target.to_string()));
        let asked: Vec<String> = ptx.into_iter().chain(target).collect();
        (!asked.is_empty()).then(|| asked.join(", "))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fixes {
    /// Those that keep the meaning of the text
    Safe,
    /// All: of a guess at what was meant the likeliest
    Unsafe,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FindingsFormat {
    /// For people
    Text,
    /// For tools: one object a line
    Json,
    /// For tools that collect findings: one SARIF 2.1.0 log
    Sarif,
    /// For GitHub's workflows: annotations of changed files
    Github,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    /// For people
    Text,
    /// For tools: one object a line
    Json,
    /// All that the table says, as one JSON document: see docs/dataset.md
    Dataset,
}

/// Outcome of a command, which determines the exit status.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Fine,
    InputErrors,
    Unusable,
}

/// Runs the command that the arguments name.
pub(crate) fn run() -> ExitCode {
    let Arguments { color, quiet, command } = Arguments::parse();
    match color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let (ptx, target) = match &command {
        Command::Check(arguments) => (arguments.ptx, arguments.target),
        Command::Explain(ExplainArguments { machine, .. }) | Command::Table(TableArguments { machine, .. }) => {
            (machine.ptx, machine.target)
        }
        _ => (None, None),
    };
    if let Err(problem) = names::known_pair(ptx, target) {
        complain(problem);
        return ExitCode::from(2);
    }
    let outcome = match command {
        Command::Check(arguments) => check::run(&arguments, quiet),
        Command::Eval(arguments) => eval::run(&arguments),
        #[cfg(feature = "docs")]
        Command::Docs(arguments) => docs::run(&arguments, quiet),
        Command::Explain(arguments) => explain::run(&arguments),
        #[cfg(feature = "lsp")]
        Command::Lsp => lsp::run(),
        Command::Run(arguments) => run::run(&arguments, quiet),
        Command::Table(arguments) => table::run(&arguments, quiet),
        Command::Completions { shell } => shell::completions::<Arguments>(shell),
        Command::Man => shell::man::<Arguments>(),
    };
    ExitCode::from(match outcome {
        Ok(Outcome::Fine) => 0,
        Ok(Outcome::InputErrors) => 1,
        Ok(Outcome::Unusable) => 2,
        // A reader that closes the pipe early is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            complain(error);
            2
        }
    })
}

/// Says on standard error what is wrong with the request itself.
fn complain(message: impl Display) {
    // Nothing is left to tell it to if standard error is closed.
    let _ = writeln!(anstream::stderr(), "error: {message}");
}
