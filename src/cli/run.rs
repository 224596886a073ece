//! `ptx-isa run`: a kernel over a grid, with arguments from the command line and from files.

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::{Args, ValueEnum};
use ptx_isa::diagnostic::LineIndex;
use ptx_isa::run::text::{Array, Buffer, Element, arguments as given_arguments};
use ptx_isa::run::{Error, ErrorKind, Grid, Memory, Module, Options};
use ptx_isa::text::decode;
use serde_json::{Map, Value, json};

use super::progress::Progress;
use super::{Outcome, complain, npy, report};

#[derive(Args)]
pub(super) struct RunArguments {
    /// A PTX module
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Another module of the program, which defines what the first declares `.extern`
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// The kernel; needed where the module has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Blocks, by dimension; without it the kernels are listed
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape)]
    grid: Option<[u32; 3]>,
    /// Threads of a block, by dimension
    #[arg(long, requires = "grid", value_name = "X[,Y[,Z]]", value_parser = shape, default_value = "1")]
    block: [u32; 3],
    /// Blocks of a cluster, by dimension
    #[arg(long, requires = "grid", value_name = "X[,Y[,Z]]", value_parser = shape, default_value = "1")]
    cluster: [u32; 3],
    /// Bytes of dynamic shared memory
    #[arg(long, requires = "grid", value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// The value of a parameter, in order or as NAME=VALUE
    #[arg(long = "arg", requires = "grid", value_name = "VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Print an array after the launch, all or a part of it
    #[arg(long, requires = "grid", value_name = "NAME[A..B]")]
    print: Vec<String>,
    /// Save an array after the launch
    #[arg(long, requires = "grid", value_name = "NAME=FILE.npy")]
    save: Vec<String>,
    /// Threads of the host; 1 makes a launch deterministic
    #[arg(long, requires = "grid", value_name = "N")]
    threads: Option<usize>,
    /// The most instructions, counted once for each thread
    #[arg(long, requires = "grid", value_name = "INSTRUCTIONS")]
    limit: Option<u64>,
    /// Bytes of a thread's stack, for kernels that recurse, call by address or reserve stack memory
    #[arg(long, requires = "grid", value_name = "BYTES", default_value_t = Options::default().stack)]
    stack: u64,
    /// Maximum size in bytes of the heap of `malloc`
    #[arg(long, requires = "grid", value_name = "BYTES", default_value_t = Options::default().heap)]
    heap: u64,
    /// Keep asynchronous copies until a thread waits for them, in an order that follows from the seed: missing waits show
    #[arg(long, requires = "grid", value_name = "SEED")]
    delay: Option<u64>,
    /// Look for data races: accesses of several threads to the same bytes that nothing orders, of which one writes
    #[arg(long, requires = "grid")]
    races: bool,
    /// How to print what comes out
    #[arg(long, value_enum, default_value_t = RunFormat::Text)]
    format: RunFormat,
}

impl RunArguments {
    /// The files of all modules.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.file).chain(&self.link)
    }

    /// The file that an error is about.
    fn file_of(&self, error: &Error) -> String {
        self.files().nth(error.module.unwrap_or(0)).unwrap_or(&self.file).display().to_string()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunFormat {
    /// For people
    Text,
    /// For tools: one object
    Json,
}

fn shape(text: &str) -> Result<[u32; 3], String> {
    let axes: Vec<u32> = text
        .split(',')
        .map(|axis| axis.trim().parse().map_err(|_| format!("`{axis}` is not a number")))
        .collect::<Result<_, _>>()?;
    match axes.len() {
        1..=3 => Ok(std::array::from_fn(|axis| axes.get(axis).copied().unwrap_or(1))),
        count => Err(format!("a shape has one to three dimensions, not {count}")),
    }
}

pub(super) fn run(arguments: &RunArguments, quiet: bool) -> io::Result<Outcome> {
    let mut texts = Vec::new();
    for file in arguments.files() {
        match fs::read(file) {
            Ok(text) => texts.push(String::from_utf8_lossy(&decode(&text)).into_owned()),
            Err(error) => {
                complain(format!("{}: {error}", file.display()));
                return Ok(Outcome::Unusable);
            }
        }
    }
    let memory = Memory::new();
    let module = match Module::link(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &memory) {
        Ok(module) => module,
        Err(error) => {
            unreadable(arguments, &texts[error.module.unwrap_or(0)], &error)?;
            return Ok(Outcome::Unusable);
        }
    };
    let Some(grid) = arguments.grid else { return list(arguments, &module) };
    let kernel = match &arguments.kernel {
        Some(name) => module.kernel(name),
        None => module.only_kernel(),
    };
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(error) => {
            failed(arguments, &error)?;
            return Ok(Outcome::Unusable);
        }
    };
    let (given, buffers) = match given_arguments(&arguments.arguments, &kernel, &memory, &npy::read) {
        Ok(given) => given,
        Err(message) => {
            let message = format!("{message}\n  the kernel is {}", kernel.signature());
            failed(arguments, &Error::new(ErrorKind::Arguments, message))?;
            return Ok(Outcome::Unusable);
        }
    };
    let wanted = match Wanted::of(arguments, &buffers) {
        Ok(wanted) => wanted,
        Err(message) => {
            failed(arguments, &Error::new(ErrorKind::Arguments, message))?;
            return Ok(Outcome::Unusable);
        }
    };
    // Standard output has one object in JSON, with the text that the kernel prints.
    let printed = (arguments.format == RunFormat::Json).then(|| Arc::new(Mutex::new(String::new())));
    let print = printed.clone().map(|printed| -> Arc<dyn Fn(&str) + Send + Sync> {
        Arc::new(move |text| printed.lock().expect("nothing panics while it is held").push_str(text))
    });
    let progress = Arc::new(Progress::new("blocks", quiet));
    let blocks = progress.clone();
    let options = Options {
        threads: arguments.threads,
        limit: arguments.limit.unwrap_or(Options::default().limit),
        stack: arguments.stack,
        heap: arguments.heap,
        delay: arguments.delay,
        races: arguments.races,
        print,
        progress: Some(Arc::new(move |ended, all| blocks.show(ended, all))),
        ..Options::default()
    };
    let shape = Grid { blocks: grid, threads: arguments.block, cluster: arguments.cluster, shared: arguments.shared };
    let ran = kernel.launch_with(shape, &given, &options);
    progress.finish();
    let printed = || printed.as_ref().map(|printed| printed.lock().expect("the launch has ended").clone());
    let report = match ran {
        Ok(report) => report,
        Err(error) => {
            failed_after(arguments, &error, printed().as_deref())?;
            let usage = matches!(error.kind, ErrorKind::Arguments | ErrorKind::Shape | ErrorKind::NoKernel);
            return Ok(if usage { Outcome::Unusable } else { Outcome::InputErrors });
        }
    };
    io::stdout().flush()?;
    match outputs(&wanted, &buffers, &memory) {
        Err(message) => {
            complain(message);
            Ok(Outcome::Unusable)
        }
        Ok(outputs) => {
            let seconds = report.time.as_secs_f64();
            if arguments.format == RunFormat::Json {
                let object = json!({
                    "kernel": kernel.name(), "grid": grid, "block": arguments.block,
                    "instructions": report.instructions, "seconds": seconds, "outputs": outputs, "printed": printed(),
                });
                writeln!(anstream::stdout(), "{object}")?;
            } else {
                let mut out = anstream::stdout().lock();
                for (name, values) in &outputs {
                    let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
                    let values: Vec<String> = values
                        .iter()
                        .map(|value| match value {
                            Value::String(text) => text.clone(),
                            value => value.to_string(),
                        })
                        .collect();
                    writeln!(out, "{name} = [{}]", values.join(", "))?;
                }
                drop(out);
                if !quiet {
                    let message = format!("{} instructions in {seconds:.6} s", report.instructions);
                    writeln!(anstream::stderr(), "{}: {message}", kernel.name())?;
                }
            }
            Ok(Outcome::Fine)
        }
    }
}

/// The arrays, or parts of them, that are printed and saved after a launch.
struct Wanted<'b> {
    print: Vec<(String, &'b Buffer, Range<usize>)>,
    save: Vec<(&'b Buffer, PathBuf)>,
}

impl<'b> Wanted<'b> {
    fn of(arguments: &RunArguments, buffers: &'b [Buffer]) -> Result<Wanted<'b>, String> {
        let find = |name: &str| {
            // Names and places of parameters are unique and take precedence; arrays may share the others.
            if let Some(buffer) = buffers.iter().find(|buffer| buffer.names.iter().skip(1).any(|known| known == name)) {
                return Ok(buffer);
            }
            let mut named = buffers.iter().filter(|buffer| buffer.names.first().is_some_and(|known| known == name));
            match (named.next(), named.next()) {
                (Some(buffer), None) => Ok(buffer),
                (found, _) => {
                    let names = buffers.iter().map(|buffer| format!("`{}`", buffer.names.join("` = `")));
                    let names = names.collect::<Vec<_>>().join(", ");
                    let problem = if found.is_some() { "several arrays are called" } else { "there is no array" };
                    Err(format!("{problem} `{name}`; the arrays are {names}"))
                }
            }
        };
        let printed = |asked: &String| {
            let (name, range) =
                asked.strip_suffix(']').and_then(|asked| asked.split_once('[')).unwrap_or((asked, ".."));
            let buffer = find(name)?;
            let (from, to) = range.split_once("..").ok_or_else(|| format!("`{range}` is not a range like `0..8`"))?;
            let at = |text: &str, usual: usize| match text {
                "" => Ok(usual),
                text => text.parse().map_err(|_| format!("`{text}` is not a number")),
            };
            let (from, to) = (at(from, 0)?, at(to, buffer.count)?);
            if from > to || to > buffer.count {
                return Err(format!("`{name}` has {} elements, and `{range}` is not a range of them", buffer.count));
            }
            Ok((name.to_owned(), buffer, from..to))
        };
        let saved = |asked: &String| {
            let (name, path) = asked.split_once('=').ok_or_else(|| format!("`{asked}` is not NAME=FILE.npy"))?;
            Ok::<_, String>((find(name)?, PathBuf::from(path)))
        };
        let print = arguments.print.iter().map(printed).collect::<Result<_, String>>()?;
        Ok(Wanted { print, save: arguments.save.iter().map(saved).collect::<Result<_, String>>()? })
    }
}

/// Returns the values to print after a launch, by name, and saves arrays to their files.
fn outputs(wanted: &Wanted<'_>, buffers: &[Buffer], memory: &Memory) -> Result<Map<String, Value>, String> {
    let bytes = |buffer: &Buffer| buffer.bytes(memory).map_err(|error| error.to_string());
    let save = |buffer: &Buffer, path: &Path| {
        let (format, shape) = (buffer.format.clone(), buffer.shape.clone());
        npy::write(path, &Array { format, shape, bytes: bytes(buffer)? })
    };
    let mut found = Map::new();
    for (name, buffer, range) in &wanted.print {
        let bytes = bytes(buffer)?;
        let values = bytes.chunks_exact(buffer.element.bytes).take(range.end).skip(range.start);
        // Parts of one array are told apart by their ranges.
        let parts = wanted.print.iter().filter(|(other, ..)| other == name).count();
        let key = match parts {
            1 => name.clone(),
            _ => format!("{name}[{}..{}]", range.start, range.end),
        };
        found.insert(key, values.map(|one| number(buffer.element, one)).collect());
    }
    wanted.save.iter().try_for_each(|(buffer, path)| save(buffer, path))?;
    let mut back = buffers.iter().filter_map(|buffer| Some((buffer, buffer.back.as_ref()?)));
    back.try_for_each(|(buffer, path)| save(buffer, path))?;
    Ok(found)
}

/// An element as a number of JSON, or as text if there is none: infinities, NaNs and `.b128`.
fn number(element: Element, bytes: &[u8]) -> Value {
    let text = element.shown(bytes);
    let float = || text.parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number);
    let number = if element.is_float() { float() } else { serde_json::from_str(&text).ok() };
    number.unwrap_or(Value::String(text))
}

/// Tells of an error in the format that is asked for.
fn failed(arguments: &RunArguments, error: &Error) -> io::Result<()> {
    failed_after(arguments, error, None)
}

/// Tells of an error of a launch that has printed a text.
fn failed_after(arguments: &RunArguments, error: &Error, printed: Option<&str>) -> io::Result<()> {
    if arguments.format == RunFormat::Text {
        complain(error.in_file(&arguments.file_of(error)));
        return Ok(());
    }
    writeln!(anstream::stdout(), "{}", json!({ "error": object(arguments, error), "printed": printed }))
}

/// An error as an object of JSON; that of a race has the other access.
fn object(arguments: &RunArguments, error: &Error) -> Value {
    let file = error.source.as_ref().map(|(file, ..)| file.as_str());
    let mut object = json!({
        "kind": error.kind.name(), "message": error.message, "file": arguments.file_of(error),
        "kernel": error.kernel, "line": error.line, "column": error.column, "statement": error.statement,
        "source": error.source.as_ref().map(|(_, line, column)| json!({ "file": file, "line": line, "column": column })),
        "block": error.block, "thread": error.thread, "address": error.address,
    });
    if let Some(other) = &error.other {
        object["other"] = self::object(arguments, other);
    }
    object
}

/// Tells of a module that is none: as `check` does, or as one error.
fn unreadable(arguments: &RunArguments, text: &str, error: &Error) -> io::Result<()> {
    let ErrorKind::Module(findings) = &error.kind else { return failed(arguments, error) };
    if findings.is_empty() {
        return failed(arguments, error);
    }
    let lines = LineIndex::new(text.as_bytes());
    if arguments.format == RunFormat::Json {
        let first = findings.first();
        let place = first.map(|finding| lines.position(finding.span.start));
        let error = Error {
            message: first.map_or_else(|| error.message.clone(), |finding| finding.message.clone()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            ..error.clone()
        };
        return failed(arguments, &error);
    }
    let (mut out, file) = (anstream::stderr().lock(), arguments.file_of(error));
    findings.iter().try_for_each(|finding| report::write(&mut out, &file, text.as_bytes(), &lines, finding))?;
    drop(out);
    complain(&error.message);
    Ok(())
}

/// The kernels of a module, and what a launch of each needs.
fn list(arguments: &RunArguments, module: &Module) -> io::Result<Outcome> {
    let mut out = anstream::stdout().lock();
    for kernel in module.kernels() {
        if arguments.kernel.as_ref().is_some_and(|name| name != kernel.name()) {
            continue;
        }
        let bounds: Vec<String> = ["reqntid", "maxntid", "reqnctapercluster", "blocksareclusters", "minnctapersm"]
            .into_iter()
            .filter_map(|name| {
                let numbers: Vec<String> = kernel.directive(name)?.iter().map(u64::to_string).collect();
                Some(format!(".{name} {}", numbers.join(", ")).trim_end().to_owned())
            })
            .collect();
        if arguments.format == RunFormat::Json {
            let parameters: Vec<Value> = kernel
                .parameters()
                .map(|parameter| {
                    let ty = parameter.ty.map(|ty| ptx_isa::TABLE.ty(ty).name);
                    json!({ "name": parameter.name, "type": ty, "bytes": parameter.size, "align": parameter.align })
                })
                .collect();
            let object = json!({
                "kernel": kernel.name(), "parameters": parameters, "bounds": bounds, "shared": kernel.shared().ok(),
            });
            writeln!(out, "{object}")?;
        } else {
            writeln!(out, "{}", kernel.signature())?;
            bounds.iter().try_for_each(|bound| writeln!(out, "    {bound}"))?;
            match kernel.shared() {
                Ok(0) => {}
                Ok(bytes) => writeln!(out, "    {bytes} bytes of shared memory")?,
                Err(error) => writeln!(out, "    cannot be run: {error}")?,
            }
        }
    }
    Ok(Outcome::Fine)
}
