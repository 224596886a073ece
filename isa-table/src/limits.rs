//! Size limits of a table. The generator refuses specs that exceed them; readers reserve room for the maximum.

/// Forms of a table: an id has 16 bits, and one value is reserved for "none".
pub const FORMS: usize = u16::MAX as usize;

/// Members of a modifier slot: they form a bit set in one word, with one bit for "absent".
pub const MEMBERS: usize = 62;

/// Modifier slots of one opcode.
pub const SLOTS: usize = 32;

/// Types: they form a bit set in one word.
pub const TYPES: usize = 128;

/// Written operands of a form: `p|q` counts as one, and so does a vector.
pub const OPERANDS: usize = 12;

/// Elements of a vector.
pub const ELEMENTS: u32 = 128;

/// Thread states beside the registers, such as the carry flag.
pub const STATES: usize = 4;

/// Results of a form.
pub const OUTPUTS: usize = 4;

/// Bytes of a mnemonic.
pub const MNEMONIC: usize = 128;

/// Values of a program.
pub const VALUES: usize = 64;

/// Arguments of an operation and leaves of a truth table.
pub const ARGS: usize = 8;

/// Lanes of a packed value.
pub const LANES: u32 = 8;

/// Sources and destinations of a loop over lanes.
pub const PLACES: usize = 9;
