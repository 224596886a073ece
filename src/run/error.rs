//! Errors that prevent or end a launch.

use std::prelude::rust_2024::*;

use std::fmt;

use ptx_isa::diagnostic::Diagnostic;
use ptx_isa::text::resolved::{Instruction, Module};

/// Kind of an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The module has errors.
    Module(Vec<Diagnostic>),
    /// The module has no such kernel.
    NoKernel,
    /// The kernel needs what this machine lacks.
    Unsupported,
    /// The arguments are not those of the kernel.
    Arguments,
    /// The grid, block, cluster or shared memory size is invalid, or contradicts the kernel's directives.
    Shape,
    /// An access outside of every allocation, or to tensor memory or a block that is not there.
    Access,
    /// An address, or the size of a bulk copy, that is not a multiple of what the instruction requires.
    Misaligned,
    /// Two threads access the same bytes, at least one of them writes, and nothing orders them:
    /// [`Options::races`](super::Options::races).
    Race,
    /// The kernel executed a trap.
    Trap,
    /// An assertion of the kernel failed.
    Assertion,
    /// Deadlock: all threads wait.
    Deadlock,
    /// The launch exceeded [`Options::limit`](super::Options::limit).
    Limit,
    /// The stack of a thread is exhausted.
    Stack,
    /// A call of an address that is not a function.
    Call,
    /// Lanes of a warp are missing that must execute a statement together.
    Convergence,
    /// An invalid tensor map, or one that an instruction cannot use.
    TensorMap,
    /// Memory of the host or tensor memory is exhausted, or two allocations have the same 32-bit pointer.
    Memory,
}

impl ErrorKind {
    /// A short name, in kebab case.
    pub fn name(&self) -> &'static str {
        match self {
            ErrorKind::Module(_) => "module",
            ErrorKind::NoKernel => "no-kernel",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Arguments => "arguments",
            ErrorKind::Shape => "shape",
            ErrorKind::Access => "access",
            ErrorKind::Misaligned => "misaligned",
            ErrorKind::Race => "race",
            ErrorKind::Trap => "trap",
            ErrorKind::Assertion => "assertion",
            ErrorKind::Deadlock => "deadlock",
            ErrorKind::Limit => "limit",
            ErrorKind::Stack => "stack",
            ErrorKind::Call => "call",
            ErrorKind::Convergence => "convergence",
            ErrorKind::TensorMap => "tensor-map",
            ErrorKind::Memory => "memory",
        }
    }
}

/// Error of a module or a launch, with its location as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// Description of the error.
    pub message: String,
    /// Name of the kernel.
    pub kernel: Option<String>,
    /// The statement, as written in the module.
    pub statement: Option<String>,
    /// Index of the linked module that contains the statement, if there are several.
    pub module: Option<usize>,
    /// The statement's line in the module, counted from one.
    pub line: Option<usize>,
    /// The column of its first character, counted from one.
    pub column: Option<usize>,
    /// File, line and column of the source, as the module's `.loc` says.
    pub source: Option<(String, u64, u64)>,
    /// Index of the block: x, y, z.
    pub block: Option<[u32; 3]>,
    /// Index of the thread in its block: x, y, z.
    pub thread: Option<[u32; 3]>,
    /// The address of an access.
    pub address: Option<u64>,
    /// The other access of a race, where it was: it has no kernel and no address.
    pub other: Option<Box<Error>>,
}

impl Error {
    /// An error about something that cannot be executed.
    pub(super) fn unsupported(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// An error that is about no place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            kernel: None,
            statement: None,
            module: None,
            line: None,
            column: None,
            source: None,
            block: None,
            thread: None,
            address: None,
            other: None,
        }
    }

    /// The error at an instruction of a module.
    pub(super) fn at(self, module: &Module, instruction: &Instruction) -> Error {
        let (at, location) = (instruction.at.clone(), instruction.location);
        Error {
            line: Some(module.line(at.start)),
            column: Some(module.column(at.start)),
            module: (module.parts.len() > 1).then(|| module.part(at.start)),
            statement: Some(module.text[at].split_whitespace().collect::<Vec<_>>().join(" ")),
            source: location.and_then(|(file, line, column)| Some((module.file(file)?.to_owned(), line, column))),
            ..self
        }
    }

    /// The error as text, with the name of the file of its module.
    pub fn in_file<'e>(&'e self, file: &'e str) -> impl fmt::Display + 'e {
        fmt::from_fn(move |f| self.write(f, Some(file)))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, file: Option<&str>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(kernel) = &self.kernel {
            write!(f, "\n  in kernel `{kernel}`")?;
        }
        if let (Some(statement), Some(line)) = (&self.statement, self.line) {
            match (file, self.module) {
                (Some(file), _) => write!(f, "\n  at {file}:{line}:{}: {statement}", self.column.unwrap_or(1))?,
                (None, Some(module)) => write!(f, "\n  at line {line} of module {}: {statement}", module + 1)?,
                (None, None) => write!(f, "\n  at line {line}: {statement}")?,
            }
        }
        if let Some((file, line, column)) = &self.source {
            write!(f, "\n  from {file}:{line}:{column}")?;
        }
        if let (Some(block), Some(thread)) = (self.block, self.thread) {
            write!(f, "\n  block {block:?}, thread {thread:?}")?;
        }
        if let Some(other) = &self.other {
            f.write_str("\n")?;
            other.write(f, file)?;
        }
        if let ErrorKind::Module(diagnostics) = &self.kind {
            diagnostics.iter().try_for_each(|diagnostic| write!(f, "\n  {}", diagnostic.message))?;
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

impl std::error::Error for Error {}
