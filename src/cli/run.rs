//! `ptx-isa run`: a kernel over a grid, with arguments from the command line and from files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ptx_isa::run::{Argument, Error, ErrorKind, Grid, Kernel, Memory, Module, Options};
use ptx_isa::text::decode;
use serde_json::{Map, Value, json};

use super::{Outcome, complain, npy};

#[derive(Args)]
pub(super) struct RunArguments {
    /// A PTX module
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The kernel; needed where the module has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Blocks, by dimension; without it the kernels are listed
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape)]
    grid: Option<[u32; 3]>,
    /// Threads of a block, by dimension
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape, default_value = "1")]
    block: [u32; 3],
    /// Blocks of a cluster, by dimension
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape, default_value = "1")]
    cluster: [u32; 3],
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// The value of a parameter, in order or as NAME=VALUE
    #[arg(long = "arg", value_name = "VALUE", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Print an array after the launch, all or a part of it
    #[arg(long, value_name = "NAME[A..B]")]
    print: Vec<String>,
    /// Save an array after the launch
    #[arg(long, value_name = "NAME=FILE.npy")]
    save: Vec<String>,
    /// Threads of the host; 1 makes a launch deterministic
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The most instructions, counted once for each thread
    #[arg(long, value_name = "INSTRUCTIONS")]
    limit: Option<u64>,
    /// How to print what comes out
    #[arg(long, value_enum, default_value_t = RunFormat::Text)]
    format: RunFormat,
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

/// Types of elements: the name, NumPy's format, and bytes.
const TYPES: [(&str, &str, usize); 12] = [
    ("u8", "|u1", 1),
    ("s8", "|i1", 1),
    ("u16", "<u2", 2),
    ("s16", "<i2", 2),
    ("f16", "<f2", 2),
    ("u32", "<u4", 4),
    ("s32", "<i4", 4),
    ("f32", "<f4", 4),
    ("u64", "<u8", 8),
    ("s64", "<i8", 8),
    ("f64", "<f8", 8),
    ("b128", "|V16", 16),
];

type Element = (&'static str, &'static str, usize);

fn element(name: &str) -> Option<Element> {
    let name = name.strip_prefix('b').filter(|bits| *bits != "128").map_or(name.to_owned(), |bits| format!("u{bits}"));
    let name = name.strip_prefix('i').map_or(name.clone(), |bits| format!("s{bits}"));
    TYPES.into_iter().find(|(known, ..)| *known == name)
}

/// The bits of a number of a type.
fn number(text: &str, (name, _, bytes): Element) -> Option<Vec<u8>> {
    let negative = text.starts_with('-');
    let digits = text.trim_start_matches(['-', '+']);
    let integer = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => digits.parse::<u128>().ok(),
    };
    let bits = match (name.starts_with('f'), digits.starts_with("0x"), integer) {
        (true, false, _) if name == "f32" => u128::from(text.parse::<f32>().ok()?.to_bits()),
        (true, false, _) if name == "f64" => u128::from(text.parse::<f64>().ok()?.to_bits()),
        (true, false, _) => u128::from(half::f16::from_f64(text.parse().ok()?).to_bits()),
        (_, _, Some(value)) => {
            if negative {
                value.wrapping_neg()
            } else {
                value
            }
        }
        _ => return None,
    };
    Some(bits.to_le_bytes()[..bytes].to_vec())
}

/// The number that some bytes are.
fn shown(bytes: &[u8], (name, ..): Element) -> Value {
    let mut word = [0; 8];
    let count = bytes.len().min(8);
    word[..count].copy_from_slice(&bytes[..count]);
    let bits = u64::from_le_bytes(word);
    let float = |value: f64| if value.is_finite() { json!(value) } else { json!(value.to_string()) };
    match name {
        "f32" => {
            let value = f32::from_bits(bits as u32);
            // The shortest digits that give the number back.
            value.to_string().parse().map_or_else(|_| json!(value.to_string()), float)
        }
        "f64" => float(f64::from_bits(bits)),
        "f16" => float(half::f16::from_bits(bits as u16).to_f64()),
        name if name.starts_with('s') => {
            let above = 64 - 8 * count as u32;
            json!((bits << above) as i64 >> above)
        }
        _ => json!(bits),
    }
}

/// An array on the device.
struct Buffer {
    /// The number of its parameter, and what it is called.
    position: usize,
    names: Vec<String>,
    pointer: u64,
    element: Element,
    count: usize,
    /// Where it is written to in the end.
    back: Option<PathBuf>,
}

/// `f32[1000]`
fn array(text: &str) -> Option<(Element, usize)> {
    let (name, count) = text.strip_suffix(']')?.split_once('[')?;
    Some((element(name)?, count.parse().ok()?))
}

/// Reads the value of one parameter; what is an array is added to the buffers.
fn argument(
    text: &str,
    parameter: &ptx_isa::text::resolved::Variable,
    position: usize,
    memory: &Memory,
    buffers: &mut Vec<Buffer>,
) -> Result<Argument, String> {
    let table = &ptx_isa::TABLE;
    let own = parameter.ty.map(|ty| table.ty(ty).name).filter(|_| parameter.elements == 1);
    let of_size = |argument: Vec<u8>| match argument.len() as u64 == parameter.size {
        true => Ok(Argument::bytes(argument)),
        false => Err(format!("`{text}` has {} bytes, the parameter has {}", argument.len(), parameter.size)),
    };
    let mut buffer = |names: Vec<String>, element: Element, bytes: &[u8], back: Option<PathBuf>| {
        let pointer = memory.allocate(bytes.len());
        memory.write(pointer, bytes).expect("it was just allocated");
        let count = bytes.len() / element.2;
        let names = names.into_iter().chain([parameter.name.clone(), position.to_string()]).collect();
        buffers.push(Buffer { position, names, pointer, element, count, back });
        of_size(pointer.to_le_bytes()[..(parameter.size as usize).min(8)].to_vec())
    };
    let file = |path: &str| -> Result<(Element, Vec<u8>), String> {
        let npy::Array { format, bytes } = npy::read(Path::new(path))?;
        let element = TYPES.into_iter().find(|(_, known, _)| known[1..] == format[1..]);
        let element = element.ok_or_else(|| format!("{path}: elements of the format `{format}` are not known"))?;
        Ok((element, bytes))
    };
    if let Some(hex) = text.strip_prefix("bytes:") {
        let digit = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(digit).collect();
        return of_size(bytes.ok_or_else(|| format!("`{hex}` is not a whole number of bytes in hex"))?);
    }
    if let Some(path) = text.strip_prefix("inout:") {
        let (element, bytes) = file(path)?;
        return buffer(vec![stem(path)], element, &bytes, Some(path.into()));
    }
    if text.ends_with(".npy") {
        let (element, bytes) = file(text)?;
        return buffer(vec![stem(text)], element, &bytes, None);
    }
    if let Some((fill, rest)) = text.split_once(':')
        && let (what, seed) = rest.rsplit_once(':').unwrap_or((rest, "0"))
        && let Some((element, count)) = array(what)
    {
        let numbers = fill_with(fill, element, count, seed)?;
        return buffer(vec![fill.to_owned()], element, &numbers, None);
    }
    let (value, ty) = text.rsplit_once(':').unwrap_or((text, own.unwrap_or("u64")));
    let element = element(ty).ok_or_else(|| format!("there is no type `{ty}` of arguments"))?;
    of_size(number(value, element).ok_or_else(|| format!("`{value}` is not a number of the type `{ty}`"))?)
}

fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

fn fill_with(fill: &str, element: Element, count: usize, seed: &str) -> Result<Vec<u8>, String> {
    let of = |text: String| number(&text, element).unwrap_or_else(|| vec![0; element.2]);
    Ok(match fill {
        "out" | "zeros" => vec![0; count * element.2],
        "ones" => (0..count).flat_map(|_| of("1".to_owned())).collect(),
        "iota" => (0..count).flat_map(|index| of(index.to_string())).collect(),
        "random" => {
            let mut state: u64 = seed.parse().map_err(|_| format!("the seed `{seed}` is not a number"))?;
            let mut next = || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^ mixed >> 31
            };
            let float = element.0.starts_with('f');
            (0..count)
                .flat_map(|_| match float {
                    // From zero to one.
                    true => of(((next() >> 40) as f64 / (1_u64 << 24) as f64).to_string()),
                    false => next().to_le_bytes().into_iter().cycle().take(element.2).collect(),
                })
                .collect()
        }
        _ => return Err(format!("`{fill}` fills no array; `out`, `zeros`, `ones`, `iota` and `random` do")),
    })
}

/// `saxpy(.param .u32 n, …)`
fn signature(kernel: &Kernel) -> String {
    let parameters = kernel.parameters().map(|parameter| {
        let ty = parameter.ty.map_or("b8", |ty| ptx_isa::TABLE.ty(ty).name);
        match parameter.elements {
            1 => format!(".{ty} {}", parameter.name),
            count => format!(".{ty} {}[{count}]", parameter.name),
        }
    });
    format!("{}({})", kernel.name(), parameters.collect::<Vec<_>>().join(", "))
}

pub(super) fn run(arguments: &RunArguments, quiet: bool) -> io::Result<Outcome> {
    let text = match fs::read(&arguments.file) {
        Ok(text) => String::from_utf8_lossy(&decode(&text)).into_owned(),
        Err(error) => {
            complain(format!("{}: {error}", arguments.file.display()));
            return Ok(Outcome::Unusable);
        }
    };
    let memory = Memory::new();
    let module = match Module::load(&text, &memory) {
        Ok(module) => module,
        Err(error) => {
            failed(arguments, &error)?;
            return Ok(Outcome::Unusable);
        }
    };
    let Some(grid) = arguments.grid else { return list(arguments, &module) };
    let kernel = match &arguments.kernel {
        Some(name) => module.kernel(name),
        None => {
            let mut kernels = module.kernels();
            match (kernels.next(), kernels.next()) {
                (Some(kernel), None) => Ok(kernel),
                (None, _) => Err(Error::new(ErrorKind::NoKernel, "the module has no kernel")),
                (Some(_), Some(_)) => {
                    Err(Error::new(ErrorKind::NoKernel, "the module has several kernels: name one with `--kernel`"))
                }
            }
        }
    };
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(error) => {
            failed(arguments, &error)?;
            return Ok(Outcome::Unusable);
        }
    };
    let (given, buffers) = match given(arguments, &kernel, &memory) {
        Ok(given) => given,
        Err(message) => {
            let message = format!("{message}\n  the kernel is {}", signature(&kernel));
            failed(arguments, &Error::new(ErrorKind::Arguments, message))?;
            return Ok(Outcome::Unusable);
        }
    };
    let options = Options { threads: arguments.threads, ..Options::default() };
    let options = Options { limit: arguments.limit.unwrap_or(options.limit), ..options };
    let shape = Grid { blocks: grid, threads: arguments.block, cluster: arguments.cluster, shared: arguments.shared };
    let report = match kernel.launch_with(shape, &given, &options) {
        Ok(report) => report,
        Err(error) => {
            failed(arguments, &error)?;
            let usage = matches!(error.kind, ErrorKind::Arguments | ErrorKind::Shape | ErrorKind::NoKernel);
            return Ok(if usage { Outcome::Unusable } else { Outcome::InputErrors });
        }
    };
    io::stdout().flush()?;
    match outputs(arguments, &buffers, &memory) {
        Err(message) => {
            complain(message);
            Ok(Outcome::Unusable)
        }
        Ok(outputs) => {
            let seconds = report.time.as_secs_f64();
            if arguments.format == RunFormat::Json {
                let object = json!({
                    "kernel": kernel.name(), "grid": grid, "block": arguments.block,
                    "instructions": report.instructions, "seconds": seconds, "outputs": outputs,
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

fn given(arguments: &RunArguments, kernel: &Kernel, memory: &Memory) -> Result<(Vec<Argument>, Vec<Buffer>), String> {
    let parameters: Vec<_> = kernel.parameters().collect();
    let mut texts: Vec<Option<&str>> = vec![None; parameters.len()];
    let mut next = 0;
    for text in &arguments.arguments {
        let named = text
            .split_once('=')
            .and_then(|(name, value)| Some((parameters.iter().position(|parameter| parameter.name == name)?, value)));
        let (place, value) = match named {
            Some(named) => named,
            None => {
                while texts.get(next).is_some_and(Option::is_some) {
                    next += 1;
                }
                (next, text.as_str())
            }
        };
        let count = arguments.arguments.len();
        let place = texts
            .get_mut(place)
            .ok_or_else(|| format!("the kernel has {} parameters, and here are {count} arguments", parameters.len()))?;
        if place.replace(value).is_some() {
            return Err(format!("`{text}` gives a parameter a second value"));
        }
    }
    let (mut given, mut buffers) = (Vec::new(), Vec::new());
    for (position, (parameter, text)) in parameters.iter().zip(texts).enumerate() {
        let text = text.ok_or_else(|| format!("the parameter `{}` has no value", parameter.name))?;
        let argument = argument(text, parameter, position, memory, &mut buffers);
        given.push(argument.map_err(|message| format!("the parameter `{}`: {message}", parameter.name))?);
    }
    Ok((given, buffers))
}

/// What is printed after a launch, by name; arrays are saved on the way.
fn outputs(arguments: &RunArguments, buffers: &[Buffer], memory: &Memory) -> Result<Map<String, Value>, String> {
    let find = |name: &str| {
        buffers.iter().find(|buffer| buffer.names.iter().any(|known| known == name)).ok_or_else(|| {
            let names: Vec<String> = buffers.iter().map(|buffer| format!("`{}`", buffer.names.join("`, `"))).collect();
            format!("there is no array `{name}`; there are {}", names.join("; "))
        })
    };
    let bytes = |buffer: &Buffer| {
        let mut bytes = vec![0; buffer.count * buffer.element.2];
        memory.read(buffer.pointer, &mut bytes).map_err(|error| error.to_string())?;
        Ok::<_, String>(bytes)
    };
    let mut found = Map::new();
    for asked in &arguments.print {
        let (name, range) = asked.strip_suffix(']').and_then(|asked| asked.split_once('[')).unwrap_or((asked, ".."));
        let buffer = find(name)?;
        let (from, to) = range.split_once("..").ok_or_else(|| format!("`{range}` is not a range like `0..8`"))?;
        let at = |text: &str, usual: usize| match text {
            "" => Ok(usual),
            text => text.parse().map_err(|_| format!("`{text}` is not a number")),
        };
        let (from, to) = (at(from, 0)?, at(to, buffer.count)?.min(buffer.count));
        let bytes = bytes(buffer)?;
        let values = bytes.chunks_exact(buffer.element.2).take(to).skip(from).map(|one| shown(one, buffer.element));
        found.insert(name.to_owned(), values.collect());
    }
    for asked in &arguments.save {
        let (name, path) = asked.split_once('=').ok_or_else(|| format!("`{asked}` is not NAME=FILE.npy"))?;
        let buffer = find(name)?;
        npy::write(Path::new(path), buffer.element.1, buffer.count, &bytes(buffer)?)?;
    }
    for buffer in buffers {
        if let Some(path) = &buffer.back {
            npy::write(path, buffer.element.1, buffer.count, &bytes(buffer)?)?;
        }
        debug_assert!(buffer.names.contains(&buffer.position.to_string()));
    }
    Ok(found)
}

/// Tells of an error in the format that is asked for.
fn failed(arguments: &RunArguments, error: &Error) -> io::Result<()> {
    if arguments.format == RunFormat::Text {
        complain(error);
        return Ok(());
    }
    let file = error.source.as_ref().map(|(file, ..)| file.as_str());
    let object = json!({ "error": {
        "kind": error.kind.name(), "message": error.message, "file": arguments.file.display().to_string(),
        "line": error.line, "column": error.line.map(|_| 1), "statement": error.statement,
        "source": error.source.as_ref().map(|(_, line, column)| json!({ "file": file, "line": line, "column": column })),
        "block": error.block, "thread": error.thread, "address": error.address,
    }});
    writeln!(anstream::stdout(), "{object}")
}

/// The kernels of a module, and what a launch of each needs.
fn list(arguments: &RunArguments, module: &Module) -> io::Result<Outcome> {
    let mut out = anstream::stdout().lock();
    for kernel in module.kernels() {
        if arguments.kernel.as_ref().is_some_and(|name| name != kernel.name()) {
            continue;
        }
        let bounds: Vec<String> = ["reqntid", "maxntid", "reqnctapercluster", "minnctapersm"]
            .into_iter()
            .filter_map(|name| {
                let numbers: Vec<String> = kernel.directive(name)?.iter().map(u64::to_string).collect();
                Some(format!(".{name} {}", numbers.join(", ")))
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
            let object = json!({ "kernel": kernel.name(), "parameters": parameters, "bounds": bounds });
            writeln!(out, "{object}")?;
        } else {
            writeln!(out, "{}", signature(&kernel))?;
            bounds.iter().try_for_each(|bound| writeln!(out, "    {bound}"))?;
            if let Err(error) = kernel.prepare() {
                writeln!(out, "    cannot be run: {error}")?;
            }
        }
    }
    Ok(Outcome::Fine)
}
