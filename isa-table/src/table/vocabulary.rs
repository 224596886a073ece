//! Closed vocabularies of a table: kinds of types and operands, substitutes, deviations, features, and their properties.

use alloc::string::String;
use core::fmt;

use super::{Bound, Directive, Range, Space, Special, TypeInfo};
#[cfg(feature = "write")]
use super::{Name, TypeId, TypeSet};
use crate::constant::plain;

/// Kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A value: a register or a substitute for one.
    Scalar,
    /// A vector of the given number of elements: values in braces, or a register of such a vector type.
    Vector(u8),
    /// A memory address: a register, a variable or a constant, optionally with an offset.
    Address,
    /// A label.
    Label,
    /// A function, or a register that holds its address.
    Function,
    /// Arguments or results of a call: `(a, b)`.
    Arguments,
    /// Name of a list of branch targets.
    Branches,
    /// Name of a list of call targets or of a prototype.
    Targets,
}

impl OperandKind {
    /// Kinds that have a name in a spec.
    pub const NAMED: [(&'static str, OperandKind); 5] = [
        ("label", OperandKind::Label),
        ("function", OperandKind::Function),
        ("arguments", OperandKind::Arguments),
        ("branches", OperandKind::Branches),
        ("targets", OperandKind::Targets),
    ];

    /// Name in a spec; empty if it has none.
    pub fn name(self) -> &'static str {
        OperandKind::NAMED.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Returns true if it is written as values: alone or as a vector.
    pub const fn is_value(self) -> bool {
        matches!(self, OperandKind::Scalar | OperandKind::Vector(_))
    }
}

/// Kinds of constants accepted for a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constants {
    /// Integer expressions, truncated to the type's width.
    pub integer: bool,
    /// Float expressions: `1.0`, `0d` with 16 hexadecimal digits, and expressions of these.
    pub float: bool,
    /// Bits of a single-precision float: `0f` with 8 hexadecimal digits.
    pub single: bool,
}

impl Constants {
    /// Returns true if any kind is accepted.
    pub const fn any(self) -> bool {
        self.integer || self.float || self.single
    }
}

/// Interpretation of the bits of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A truth value.
    Predicate,
    /// Uninterpreted bits.
    Bits,
    /// An unsigned integer.
    Unsigned,
    /// A two's complement integer.
    Signed,
    /// A float.
    Float,
    /// A float that only conversions and matrix products take.
    Minifloat,
    /// Lanes of another type.
    Packed,
}

/// Special values of a floating-point format: infinities and NaNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NonFinite {
    /// Infinities and NaNs, with the greatest exponent.
    #[default]
    Infinity,
    /// One NaN, with all bits of exponent and fraction set.
    Nan,
    /// Neither.
    None,
}

plain! {
    Name = |name| alloc::format!("Name(*b\"{}\")", name.0.escape_ascii());
    TypeId = |ty| alloc::format!("TypeId({})", ty.0);
    TypeSet = |set| alloc::format!("TypeSet({:#x})", set.0);
    Kind = |kind| alloc::format!("Kind::{kind:?}");
    NonFinite = |beyond| alloc::format!("NonFinite::{beyond:?}");
    OperandKind = |kind| alloc::format!("OperandKind::{kind:?}");
    Constants = |constants| alloc::format!("{constants:?}");
}

/// Declares an enum whose variants have names in a spec.
macro_rules! named {
    ($(#[$docs:meta])* $name:ident { $($(#[$variant_docs:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_docs])* $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// Name in a spec.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

named! {
    /// A deviation that the assembler may accept in any statement beyond the manual.
    Lenient {
        /// Modifiers in an order that differs from the manual's.
        ModifierOrder = "modifier_order",
        /// Blanks before a modifier or selector.
        BlankBeforeModifier = "blank_before_modifier",
        /// The same predicate as both destinations.
        RepeatedDestination = "repeated_destination",
        /// A constant as a predicate operand.
        ConstantPredicate = "constant_predicate",
        /// A register or variable plus a constant as a source.
        RegisterPlusConstant = "register_plus_constant",
        /// Leading zeros in the number of a register.
        LeadingZeros = "leading_zeros",
        /// Function name as a source.
        FunctionAsSource = "function_as_source",
        /// Variable as an element of a vector.
        VariableAsElement = "variable_as_element",
        /// Register of another width beside untyped registers in a vector.
        RegisterBesideBits = "register_beside_bits",
        /// Bar and sink after a destination that has no second one.
        SinkBehindDestination = "sink_behind_destination",
        /// Constant beside registers in a vector, of a kind that the element type does not accept.
        ConstantBesideBits = "constant_beside_bits",
        /// Special register as an element of a vector.
        SpecialAsElement = "special_as_element",
    }
}

named! {
    /// Substitutes: operands accepted in place of a register.
    Substitute {
        /// Constants.
        Constants = "constants",
        /// A register or variable plus a constant.
        Sums = "sums",
        /// Elements of vectors.
        Elements = "elements",
        /// Names of functions.
        Functions = "functions",
        /// Special registers.
        Specials = "specials",
        /// Names of variables, for their addresses.
        Addresses = "addresses",
        /// For an element of a vector: a register of another kind than the other elements, neither being untyped bits.
        Mixtures = "mixtures",
        /// For a vector of constants alone: integers and floats that are not written as 32 bits, `0f…`.
        Numbers = "numbers",
        /// For a vector: a single register without braces.
        Bare = "bare",
        /// For a vector of two or four elements: accepted in place of a shorter one.
        Longer = "longer",
    }
}

named! {
    /// Measure of the error of a result.
    Measure {
        /// In units in the last place (ULP) of the exact result, rounded to nearest.
        Ulp = "ulps",
        /// Absolute error.
        Absolute = "absolute",
        /// Relative error.
        Relative = "relative",
    }
}

plain! {
    Measure = |measure| alloc::format!("Measure::{measure:?}");
}

impl Measure {
    /// An amount in words: `2 units in the last place`.
    pub fn of(self, value: &str) -> String {
        match self {
            Measure::Ulp if value == "1" => "1 unit in the last place".into(),
            Measure::Ulp => alloc::format!("{value} units in the last place"),
            Measure::Absolute => alloc::format!("an absolute error of {value}"),
            Measure::Relative => alloc::format!("a relative error of {value}"),
        }
    }
}

impl fmt::Display for Bound {
    /// `2 units in the last place`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.measure.of(self.value))
    }
}

impl Substitute {
    /// Returns true if it is accepted for a source by default.
    pub const fn is_usual(self) -> bool {
        !matches!(self, Substitute::Specials | Substitute::Addresses | Substitute::Bare | Substitute::Longer)
    }
}

impl Range {
    /// Returns true if the range contains a constant.
    pub const fn has(&self, bits: u64) -> bool {
        let value = bits as i64;
        self.least <= value && value <= self.most && value.unsigned_abs().is_multiple_of(self.step)
    }

    /// Describes the constants: `128`, `0 to 15`, `a multiple of 8 from 24 to 256`.
    pub fn in_words(&self, kind: Kind, bits: u32) -> String {
        let value = |value: i64| match kind {
            Kind::Float if bits == 32 => alloc::format!("{:e}", f32::from_bits(value as u32)),
            _ => alloc::format!("{value}"),
        };
        match self.least == self.most {
            true => value(self.least),
            false if self.step == 1 => alloc::format!("{} to {}", value(self.least), value(self.most)),
            false => alloc::format!("a multiple of {} from {} to {}", self.step, self.least, self.most),
        }
    }
}

impl TypeInfo {
    /// Returns true if its values are untyped bits or integers.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Bits | Kind::Unsigned | Kind::Signed)
    }

    /// Size of a value in memory, in bytes; a predicate counts as one.
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8).into()
    }

    /// Width in bits that a lane takes in a packed value: a power of two, of which a narrow float is the low bits.
    pub fn lane_bits(&self) -> u32 {
        (u32::from(self.bits) / u32::from(self.lanes)).next_power_of_two()
    }

    /// Returns true if a register of this type is accepted where a vector or a call expects the other type: both have
    /// the same width, and are the same type, both integers, or one of them is untyped bits.
    pub fn goes_with(&self, other: &TypeInfo) -> bool {
        let bits = self.kind == Kind::Bits || other.kind == Kind::Bits;
        self.bits == other.bits && (bits || self.name == other.name || self.is_word() && other.is_word())
    }
}

named! {
    /// A part of declarations or directives that is not introduced by a word.
    Feature {
        /// Registers outside of functions.
        ModuleRegisters = "module_registers",
        /// Parameters of kernels.
        KernelParameters = "kernel_parameters",
        /// Total size of a kernel's parameters in bytes.
        KernelParameterBytes = "kernel_parameter_bytes",
        /// Parameters and results of functions in memory.
        MemoryParameters = "memory_parameters",
        /// Variables of function bodies that hold arguments.
        ArgumentVariables = "argument_variables",
        /// Alignment in bytes of function parameters.
        ParameterAlignment = "parameter_alignment",
        /// Last parameter that is an array of unspecified length.
        OpenParameters = "open_parameters",
        /// Pointer annotations of parameters: `.ptr`.
        Pointers = "pointers",
        /// Kernels without a body.
        KernelPrototypes = "kernel_prototypes",
        /// Addresses of variables in initializers.
        AddressValues = "address_values",
        /// Generic addresses in initializers: `generic(x)`.
        GenericAddressValues = "generic_address_values",
        /// Bytes of addresses in initializers: `0xff(x)`.
        AddressByteValues = "address_byte_values",
        /// Addresses of functions in initializers.
        FunctionValues = "function_values",
        /// Addresses of kernels in initializers.
        KernelValues = "kernel_values",
        /// Labels in sections.
        SectionLabels = "section_labels",
        /// Negative numbers in sections.
        NegativeSectionValues = "negative_section_values",
        /// Pointer annotations of parameters that point to textures, samplers and surfaces.
        OpaquePointers = "opaque_pointers",
        /// Timestamp and size of a source file: `.file 1 "name", 5, 6`.
        FileTimes = "file_times",
        /// Inlined call sites: `.loc 1 2 3, function_name f, inlined_at 1 2 3`.
        InlinedLocations = "inlined_locations",
        /// Numbered banks of a state space: `.const[2]`.
        Banks = "banks",
        /// Lines of debug information: `@@DWARF …`.
        DwarfLines = "dwarf_lines",
    }
}

impl Directive {
    /// Returns true if it follows a label in a function body, which names what it lists.
    pub fn is_labeled(&self) -> bool {
        self.branches || self.targets || self.prototype
    }

    /// Returns true if it excludes the other directive in the same header.
    pub fn goes_without(&self, other: &Directive) -> bool {
        self.without.contains(&other.name) || other.without.contains(&self.name)
    }
}

impl PartialEq for Space {
    fn eq(&self, other: &Space) -> bool {
        self.name == other.name
    }
}

impl Eq for Space {}

impl Special {
    /// Returns true if a name refers to this register.
    pub fn is_called(&self, name: &str) -> bool {
        let Some(number) = name.strip_prefix(self.name) else { return false };
        match self.count {
            0 => number.is_empty(),
            count => number.parse().is_ok_and(|found: u8| found < count) && (number == "0" || !number.starts_with('0')),
        }
    }
}
