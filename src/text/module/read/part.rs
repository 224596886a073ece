//! The parts of a module as they are written: what the reader makes of the text, before anything is judged.
//!
//! A part is passed on as soon as it is read. Lists without a limit, such as the names of a declaration or the values
//! of an array, are passed on one by one, so that the memory taken does not grow with them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::Linkage;
use crate::diagnostic::Diagnostic;
use crate::table::{Directive, Feature, Space, TypeId};
use crate::target::{Target, Version};
use crate::text::constant::Constant;

/// A part of a module. Offsets are bytes of the text.
pub(in crate::text) enum Part<'s, 'a> {
    /// Something is wrong with the text; reading goes on within the same part.
    Finding(Box<Diagnostic>),
    /// The rest of the part cannot be read: nothing but this is reported of it, or nothing if it follows from a finding.
    Unreadable(Option<Box<Diagnostic>>),
    /// Text that was skipped, and may hold declarations.
    Skipped(Range<usize>),
    /// Start of a declaration whose names could not be read.
    Nameless(usize),
    /// End of a directive that is complete: its name, without the dot, and its byte range.
    Directive(&'a str, Range<usize>),

    /// The number behind `.version`.
    Version(Version, Range<usize>),
    /// A target, and the version that it came with.
    Target(Target, Version, Range<usize>),
    /// An option behind a target.
    TargetOption(&'static Directive, Range<usize>),

    /// A keyword whose entry in the table may have a minimum version.
    Keyword(&'static Directive, Range<usize>),
    /// The use of something that has no keyword of its own, and how messages call it.
    Use(Feature, &'static str, Range<usize>),
    /// A string of `.pragma`.
    Pragma(Range<usize>, PragmaPlace),
    /// A line of debug information.
    DebugLine(usize),
    /// `.address_size`, in bits.
    AddressSize(u32),
    /// The number and the name of a `.file`.
    File(u32, &'a str, Range<usize>),
    /// The three numbers of a `.loc`.
    Location([u32; 3]),
    /// The location of the call that inlined code stems from, and the byte range of `inlined_at`.
    InlinedAt([u32; 3], Range<usize>),
    /// `.section`.
    Section,
    /// A label in a section.
    SectionLabel(&'a str),
    /// `.alias`: the alias, and the function that it stands for.
    Alias(&'a str, &'a str),

    /// The head of a function begins.
    Head { at: usize, kernel: bool, linkage: Option<Linkage> },
    /// The name of that function.
    HeadName(&'a str),
    /// A list of parameters begins.
    Parameters(Head),
    /// A parameter.
    Parameter(&'s Parameter<'a>),
    /// The list ends with a token; it follows the name of the function, or it has its results.
    ParametersEnd { behind_name: bool, token: Range<usize> },
    /// A directive of the head, and its numbers.
    HeadDirective(&'static Directive, &'s [u64], Range<usize>),
    /// The head cannot be read.
    HeadBroken(usize),
    /// The head is that of a body: byte ranges of its keyword and of all of it.
    Body { keyword: Range<usize>, span: Range<usize> },
    /// The head has no body.
    Prototype(Range<usize>),

    /// A block begins.
    Block(usize),
    /// A block ends.
    BlockEnds(usize),
    /// The blocks of a function have all ended. A label of it may not have been read.
    FunctionEnds { at: usize, lost_label: bool },
    /// The end of the body of a function.
    BodyEnds(&'a str, Range<usize>),
    /// The open function was ended by another one within it.
    FunctionCut { at: usize, blocks: usize, name: Option<&'a str> },

    /// A declaration begins: its first keyword, and the state space of variables.
    Declaration {
        begun: usize,
        keyword: Range<usize>,
        linkage: Option<Linkage>,
        space: Option<&'static Space>,
        site: Site,
    },
    /// What stands between the state space and the names.
    Attributes(&'s Attributes<'a>),
    /// A declared name; the number of registers of a family.
    Name { name: &'a str, count: Option<u64>, array: bool },
    /// The dimensions of the variable.
    Dimensions(&'s [u64]),
    /// A field of the initializer of an opaque variable, and its place.
    Field(&'a str, Range<usize>),
    /// A value of its initializer, and the index of the scalar that it is among all of the variable.
    Value(&'s Value<'a>, u64, Range<usize>),
    /// End of the initializer: number of dimensions, and of values if they give the array its length.
    ValuesEnd { dimensions: usize, length: Option<u64> },
    /// The dimensions or the initializer cannot be read.
    ContentsBroken(Box<Diagnostic>),
    /// End of what is said of that name.
    NameEnds(usize),

    /// A label. The name of a list, which follows, is no target of branches.
    Label { name: &'a str, list: bool },
    /// A label that lacks its colon.
    LabelAlone(&'a str),
    /// The list of a label begins: the label, and its keyword.
    List(&'a str, &'static Directive, Range<usize>),
    /// A name in it; a number of labels with this stem.
    ListName(&'a str, Option<u64>),
    /// The list ends; its byte range if it is complete.
    ListEnds(Option<Range<usize>>),
    /// An instruction that cannot be read, without its guard.
    Refused(Range<usize>),
    /// The text ends; `whole` is false if an error reaches to its end. `missing` is what it lacks if none does.
    TextEnds { length: usize, whole: bool, missing: Option<Box<Diagnostic>> },
}

/// Kind of the list in which parameters are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::text) enum Head {
    /// The head of a kernel.
    Kernel,
    /// The head of another function.
    Function,
    /// The prototype of an indirect call, whose parameters need no names.
    Prototype,
}

/// Place of a declaration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::text) enum Site {
    /// Outside of functions.
    Module,
    /// Among the statements of a function.
    Body,
    /// Among parameters; those of kernels and prototypes may be textures and the like.
    Parameters { opaques: bool },
}

/// Where a `.pragma` is.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::text) enum PragmaPlace {
    /// Outside of functions.
    Module,
    /// In the head of a kernel.
    Head,
    /// Among the statements of a function.
    Body,
}

/// The words between the state space and the name: `.align 16 .v4 .f32`.
#[derive(Clone)]
pub(in crate::text) struct Attributes<'a> {
    /// The type as it is written, without its dot, and the type of registers that it names.
    pub(in crate::text) word: &'a str,
    pub(in crate::text) ty: Option<TypeId>,
    pub(in crate::text) lanes: u8,
    /// The alignment that is written; 0 where none is.
    pub(in crate::text) align: u64,
    /// Byte range of the type, and of the token behind it.
    pub(in crate::text) span: Range<usize>,
    pub(in crate::text) behind: Range<usize>,
}

/// A parameter of a function.
pub(in crate::text) struct Parameter<'a> {
    pub(in crate::text) name: &'a str,
    /// The state space; `None` for a register.
    pub(in crate::text) space: Option<&'static Space>,
    pub(in crate::text) attributes: Attributes<'a>,
    pub(in crate::text) dimensions: Vec<u64>,
    /// Byte range up to its last dimension, without and with blanks behind it.
    pub(in crate::text) span: Range<usize>,
    pub(in crate::text) end: usize,
}

/// A value of an initializer.
pub(in crate::text) enum Value<'a> {
    Constant(Constant),
    Address {
        name: &'a str,
        /// True for `generic(x)`.
        generic: bool,
        /// The constant in `x+4`.
        addend: Option<u64>,
        /// The mask for a byte of the address, and its byte range: `0xff(x)`.
        byte: Option<(u64, Range<usize>)>,
    },
}
