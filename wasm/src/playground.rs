//! Answers about a whole module: findings, minimum versions, an inventory of each function, and a launch.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Diagnostic, LineIndex, Severity};
use ptx_isa::run::text::arguments;
use ptx_isa::run::{self, Grid, Memory};
use ptx_isa::text::Statement;
use ptx_isa::text::module::{Declaration, Function, Item, Options, Place, Proceed, Visitor, fix, needs, visit};
use serde::{Deserialize, Serialize};

/// Thread-instructions after which a launch ends, so that a page does not hang.
const LIMIT: u64 = 200_000_000;

/// Findings in an answer.
const MOST_FINDINGS: usize = 200;

/// A module, and what is asked about it.
#[derive(Deserialize)]
pub(crate) struct Request {
    text: String,
    /// Override the module's version and target, unless they are empty.
    #[serde(default)]
    ptx: String,
    #[serde(default)]
    target: String,
    /// A launch; only the module is judged if there is none.
    launch: Option<Launch>,
}

#[derive(Deserialize)]
struct Launch {
    kernel: String,
    blocks: [u32; 3],
    threads: [u32; 3],
    /// An argument for each parameter, as [`ptx_isa::run::text`] describes them.
    arguments: Vec<String>,
}

#[derive(Serialize, Default)]
pub(crate) struct Answer {
    findings: Vec<Finding>,
    /// The number of findings that are left out.
    more: usize,
    /// The text with all safe fixes, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<String>,
    functions: Vec<Inventory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<Minimum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<Launched>,
}

#[derive(Serialize)]
struct Finding {
    line: usize,
    column: usize,
    /// Range in UTF-16 units, as pages select text.
    range: (usize, usize),
    error: bool,
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Contents of a function.
#[derive(Serialize, Default)]
struct Inventory {
    name: String,
    kernel: bool,
    statements: usize,
    /// Number of registers by type, of bytes by state space, and of statements by mnemonic.
    registers: BTreeMap<&'static str, u64>,
    memory: BTreeMap<&'static str, u64>,
    mnemonics: BTreeMap<String, usize>,
    /// Effects on memory and other threads, each with the number of statements that have it.
    effects: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<Minimum>,
    /// Types of the parameters by name, in order; only of a kernel that can be launched.
    parameters: Vec<(String, String)>,
}

/// Minimum version and target.
#[derive(Serialize)]
struct Minimum {
    ptx: String,
    target: String,
    /// Parts of the text that require them: what they need, the line, and the text.
    because: Vec<(String, usize, String)>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Launched {
    Failed { message: String },
    Ended { instructions: u64, printed: String, arrays: Vec<Array> },
}

#[derive(Serialize)]
struct Array {
    name: String,
    element: &'static str,
    values: Vec<String>,
}

impl Answer {
    pub(crate) fn to(request: &Request) -> Answer {
        let text = request.text.as_str();
        let lines = LineIndex::new(text.as_bytes());
        let options = Options { ptx: request.ptx.parse().ok(), target: request.target.parse().ok() };
        let mut watcher = Watcher { text, lines: &lines, within: false, fixable: false, answer: Answer::default() };
        visit(&TABLE, text.as_bytes(), &options, &mut watcher);
        let mut answer = watcher.answer;
        answer.findings.sort_by_key(|finding| finding.range.0);
        // Findings that are left out may have fixes, too.
        if watcher.fixable || answer.more > 0 {
            let fixed = fix(&TABLE, text, &options, |_, fix| fix.safe);
            answer.fixed = (fixed.edits > 0).then(|| fixed.text.to_string());
        }
        let mut functions = answer.functions.iter_mut();
        for needs in needs(&TABLE, text.as_bytes()) {
            let minimum = needs.minimum().map(|minimum| Minimum::new(&minimum, text, &lines));
            match needs.function.and_then(|_| functions.next()) {
                Some(function) => function.floor = minimum,
                None => answer.floor = minimum,
            }
        }
        if answer.findings.iter().any(|finding| finding.error) {
            return answer;
        }
        let memory = Memory::new();
        match run::Module::load(text, &memory) {
            Ok(module) => {
                for kernel in module.kernels() {
                    let own = answer.functions.iter_mut().find(|function| function.name == kernel.name());
                    let ty = |parameter: &ptx_isa::text::resolved::Variable| match parameter.ty {
                        Some(ty) if parameter.elements == 1 => format!(".{}", TABLE.ty(ty).name),
                        _ => format!("{} bytes", parameter.size),
                    };
                    if let Some(own) = own {
                        own.parameters = kernel.parameters().map(|one| (one.name.clone(), ty(one))).collect();
                    }
                }
                answer.launch = request.launch.as_ref().map(|launch| {
                    let ran = launch.run(&module, &memory);
                    ran.unwrap_or_else(|message| Launched::Failed { message })
                });
            }
            Err(error) => {
                let failed = Launched::Failed { message: error.to_string() };
                answer.launch = request.launch.as_ref().map(|_| failed);
            }
        }
        answer
    }
}

impl Launch {
    fn run(&self, module: &run::Module, memory: &Memory) -> Result<Launched, String> {
        let told = |error: run::Error| error.to_string();
        let kernel = module.kernel(&self.kernel).map_err(told)?;
        let no_files = |_: &_| Err("a page has no files; write a list, `[1, 2, 3]:f32`, or `iota:f32[8]`".to_owned());
        let (given, buffers) = arguments(&self.arguments, &kernel, memory, &no_files)?;
        let printed = Arc::new(Mutex::new(String::new()));
        let sink = printed.clone();
        let options = run::Options {
            threads: Some(1),
            limit: LIMIT,
            print: Some(Arc::new(move |text| {
                sink.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push_str(text);
            })),
            ..run::Options::default()
        };
        let grid = Grid { blocks: self.blocks, threads: self.threads, cluster: [1; 3], shared: 0 };
        let report = kernel.launch_with(grid, &given, &options).map_err(told)?;
        let array = |buffer: &run::text::Buffer| {
            // The parameter's name: the first is that of the fill.
            let name = buffer.names.get(1).or(buffer.names.first()).cloned().unwrap_or_default();
            Ok(Array { name, element: buffer.element.name, values: buffer.elements(memory).map_err(told)? })
        };
        let arrays = buffers.iter().map(array).collect::<Result<_, String>>()?;
        let printed = printed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        Ok(Launched::Ended { instructions: report.instructions, printed, arrays })
    }
}

/// Collects an answer while a module is read.
struct Watcher<'t> {
    text: &'t str,
    lines: &'t LineIndex<'t>,
    /// True within a function.
    within: bool,
    /// True if a finding has a safe fix.
    fixable: bool,
    answer: Answer,
}

impl<'a> Visitor<'a> for Watcher<'_> {
    fn item(&mut self, item: Item<'_, 'a>, _: Range<usize>) {
        match item {
            Item::Function(Function { name, kernel, .. }) => {
                self.within = true;
                self.answer.functions.push(Inventory { name: name.to_owned(), kernel, ..Inventory::default() });
            }
            Item::End => self.within = false,
            Item::Declaration(declaration) if self.within => self.function(|function| function.declared(declaration)),
            Item::Statement(statement) if self.within => self.function(|function| function.has(statement)),
            _ => {}
        }
    }

    fn finding(&mut self, finding: Diagnostic) -> Proceed {
        self.fixable |= finding.fixes.iter().any(|fix| fix.safe);
        if self.answer.findings.len() >= MOST_FINDINGS {
            self.answer.more += 1;
            return Proceed::Count;
        }
        let position = self.lines.position(finding.span.start);
        let utf16 = |offset: usize| self.text[..offset].encode_utf16().count();
        let range = (utf16(finding.span.start), utf16(finding.span.end));
        self.answer.findings.push(Finding {
            line: position.line,
            column: position.column,
            range,
            error: finding.severity == Severity::Error,
            code: finding.code.as_str(),
            message: finding.message,
            help: finding.help,
            note: finding.note,
        });
        Proceed::Explain
    }
}

impl Watcher<'_> {
    fn function(&mut self, change: impl FnMut(&mut Inventory)) {
        self.answer.functions.last_mut().into_iter().for_each(change);
    }
}

impl Inventory {
    fn declared(&mut self, declaration: Declaration<'_>) {
        let ty = declaration.ty.map(|ty| TABLE.ty(ty));
        let lanes = u64::from(declaration.lanes);
        match declaration.place {
            Place::Registers(count) => {
                *self.registers.entry(ty.map_or("?", |ty| ty.name)).or_default() += lanes * count.unwrap_or(1);
            }
            Place::Memory { space, elements } => {
                let bytes = ty.map_or(0, |ty| u64::from(ty.bits) / 8) * lanes * elements;
                *self.memory.entry(space.name).or_default() += bytes;
            }
        }
    }

    fn has(&mut self, statement: &Statement<'_>) {
        self.statements += 1;
        *self.mnemonics.entry(statement.mnemonic().into_owned()).or_default() += 1;
        let effects = statement.effects();
        let accesses = effects.memory.iter().map(|access| {
            let verb = match (access.read, access.written) {
                (true, true) => "updates",
                (true, false) => "reads",
                _ => "writes",
            };
            let space = access.space.map_or("generic memory".to_owned(), |space| format!("`.{space}` memory"));
            let bytes = if access.bytes == 0 { String::new() } else { format!(", {} bytes", access.bytes) };
            format!("{verb} {space}{bytes}")
        });
        let waits = effects.synchronization.iter().map(|one| one.name().to_owned());
        let lacks = effects.lacks.iter().map(|why| format!("cannot be executed: {why}"));
        for effect in accesses.chain(waits).chain(lacks) {
            *self.effects.entry(effect).or_default() += 1;
        }
    }
}

impl Minimum {
    fn new(minimum: &ptx_isa::text::module::Minimum, text: &str, lines: &LineIndex<'_>) -> Minimum {
        let reason = |needs: String, span: &Range<usize>| {
            let part = text[span.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
            (needs, lines.position(span.start).line, part)
        };
        let version = minimum.version_reason.iter().map(|it| reason(format!("PTX {}", it.needs), &it.span));
        let targets = minimum.target_reasons.iter().map(|it| reason(it.needs.to_string(), &it.span));
        Minimum {
            ptx: minimum.ptx.to_string(),
            target: minimum.target.to_string(),
            because: version.chain(targets).collect(),
        }
    }
}
