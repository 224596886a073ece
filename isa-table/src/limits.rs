//! How much of anything a table may hold. The generator refuses more; whoever reads a table makes room for as much.

/// Forms of one table: their ids have sixteen bits, and one value of them says "none".
pub const FORMS: usize = u16::MAX as usize;

/// Members of a place for a modifier: they are sets in one word, with a bit for "absent".
pub const MEMBERS: usize = 62;

/// Places for modifiers in the syntax lines of one opcode.
pub const SLOTS: usize = 32;

/// Types: they are sets in one word.
pub const TYPES: usize = 128;

/// Operands of a form as they are written: `p|q` is one, and so is a vector.
pub const OPERANDS: usize = 12;

/// Elements of a vector.
pub const ELEMENTS: u32 = 128;

/// What a thread holds beside its registers.
pub const STATES: usize = 4;

/// Values that a form gives.
pub const OUTPUTS: usize = 4;

/// Bytes of a mnemonic.
pub const MNEMONIC: usize = 128;

/// Values of a program.
pub const VALUES: usize = 64;

/// Arguments of an operation, and leaves of a truth table.
pub const ARGS: usize = 8;

/// Lanes of a packed value.
pub const LANES: u32 = 8;

/// Sources and destinations of a loop over lanes.
pub const PLACES: usize = 9;
