//! The shape of an instruction table: what generated tables hold and the text layer reads.
//!
//! The types are defined in the crate `isa-table`, which the table generator shares; this module re-exports them,
//! together with the macros that generated code calls.
//!
//! ```
//! let table = &ptx_isa::TABLE;
//! let form = table.form("selp.b32").expect("selp.b32 is in the table");
//! assert_eq!(form.operands()[0].name, "d");
//! assert_eq!(table.ty(form.operands()[0].ty).bits, 32);
//! ```

pub use isa_table::table::*;
pub use isa_table::{matrix, program, selector, target};

/// The dense type of a table's own forms. Generated code calls this.
#[macro_export]
#[doc(hidden)]
macro_rules! forms {
    ($form:ident, $opcode:ident, $instruction:ident, $table:ident, $count:literal) => {
        /// A legal form of the table: an opcode with all its modifiers. It is a dense number; each instruction has its
        /// own forms as constants.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $form(u16);

        impl $form {
            /// Number of forms.
            pub const COUNT: usize = $count;

            /// Every form, in the order of their numbers.
            pub const ALL: &'static [$form; $count] = &{
                let mut all = [$form(0); $count];
                let mut index = 0;
                while index < $count {
                    all[index] = $form(index as u16);
                    index += 1;
                }
                all
            };

            #[doc(hidden)]
            pub const fn at(index: u16) -> $form {
                $form(index)
            }

            /// The form that these members of an instruction's slots spell. Apart from those who ask, as LLVM visits all that
            /// the table refers to for each function that names it: a third of the time that the library takes to build.
            #[inline(never)]
            fn select(instruction: usize, values: &[u8]) -> Result<$form, $crate::table::IllegalForm> {
                $table.select(instruction, values).map(|index| $form(index as u16))
            }

            /// The form's number, below [`COUNT`](Self::COUNT).
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The form with this number.
            pub fn from_index(index: usize) -> Option<$form> {
                $form::ALL.get(index).copied()
            }

            /// Everything the table knows of the form.
            pub fn info(self) -> $crate::table::FormInfo {
                $table.form_at(self.index()).expect("a form of the table")
            }

            /// The form that a table's entry is; `None` if it is another table's.
            pub fn of(info: $crate::table::FormInfo) -> Option<$form> {
                ::core::ptr::eq(info.table(), &$table).then(|| $form(info.index() as u16))
            }

            /// The canonical mnemonic.
            pub fn mnemonic(self) -> &'static str {
                self.info().mnemonic()
            }

            /// The operands in order of writing.
            pub fn operands(self) -> $crate::table::Operands {
                self.info().operands()
            }

            /// The first version of PTX that has the form, in its [canonical spelling]($crate::text::spelling::canonical).
            pub fn since(self) -> $crate::target::Version {
                $crate::text::spelling::since(self.info()).ptx
            }

            /// The lowest target that has the form, in its [canonical spelling]($crate::text::spelling::canonical).
            pub fn target(self) -> $crate::target::Target {
                $crate::text::spelling::since(self.info()).targets[0]
            }

            /// Returns true if the manual lists some spelling of the form for a version of PTX on a target.
            pub fn available(self, version: $crate::target::Version, target: $crate::target::Target) -> bool {
                $crate::text::spelling::is_listed(self.info(), version, target)
            }

            /// Returns true if the assembler accepts some spelling of the form for a version of PTX and a target, which it does
            /// with some below what the manual asks for.
            pub fn taken(self, version: $crate::target::Version, target: $crate::target::Target) -> bool {
                $crate::text::spelling::is_taken(self.info(), Some(version), Some(target))
            }

            /// The manual's section that describes the form.
            pub fn section(self) -> &'static str {
                self.info().section()
            }

            /// The opcode.
            pub fn opcode(self) -> $opcode {
                $opcode::ALL[self.info().instruction().index()]
            }

            /// The modifiers.
            pub fn instruction(self) -> $instruction {
                $instruction::from(self)
            }

            /// Bits in, bits out, as the newest targets compute it: see
            /// [`FormInfo::evaluate`]($crate::table::FormInfo::evaluate).
            ///
            /// # Panics
            ///
            /// If the form has no evaluator for this number of inputs.
            pub fn evaluate(self, inputs: &[u128]) -> $crate::table::Outputs {
                self.info().evaluate(u16::MAX, inputs)
            }
        }

        impl ::core::fmt::Display for $form {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.mnemonic())
            }
        }

        impl ::core::fmt::Debug for $form {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.mnemonic())
            }
        }

        impl ::core::str::FromStr for $form {
            type Err = $crate::table::UnknownMnemonic;

            fn from_str(mnemonic: &str) -> Result<$form, $crate::table::UnknownMnemonic> {
                if let Some(index) = $table.forms.index(mnemonic) {
                    return Ok($form(index as u16));
                }
                // With free modifiers, which few opcodes have: a mnemonic that is refused costs its reasons.
                let free = |one: &$crate::table::InstructionInfo| one.syntaxes().iter().any(|syntax| syntax.free);
                let resolved = $table.instruction_of(mnemonic).filter(free);
                let resolved = resolved.and_then(|_| $crate::text::mnemonic::resolve(&$table, mnemonic).ok());
                let spelt = resolved.filter(|found| found.form.mnemonic_with(&found.free) == mnemonic);
                let form = spelt.and_then(|found| $form::of(found.form));
                form.ok_or($crate::table::UnknownMnemonic)
            }
        }
    };
}

/// The ways from an instruction's modifiers to its form and to any instruction. Generated code calls this.
#[macro_export]
#[doc(hidden)]
macro_rules! instruction {
    ($name:ident, $form:ident, $instruction:ident) => {
        // `form` says the same on the instruction's own page; all of these on one would be half a megabyte.
        #[doc(hidden)]
        impl TryFrom<$name> for $form {
            type Error = $crate::table::IllegalForm;

            fn try_from(instruction: $name) -> Result<$form, $crate::table::IllegalForm> {
                instruction.form()
            }
        }

        impl From<$name> for $instruction {
            fn from(instruction: $name) -> $instruction {
                $instruction::$name(instruction)
            }
        }
    };
}
