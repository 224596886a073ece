//! Lists the accesses of each kernel to shared memory: position, size in bytes, and element type.
//!
//! ```sh
//! cargo run --example shared_accesses -- FILE.ptx…
//! ```

use std::error::Error;
use std::fmt::Write;

use ptx_isa::TABLE;
use ptx_isa::text::effects::Access;
use ptx_isa::text::resolved::{Function, Module, Symbol, Value};

/// Description of an address, as far as the instruction alone tells.
fn address(module: &Module, function: &Function, value: &Value) -> String {
    let offset = |addend: u64| if addend == 0 { String::new() } else { format!("{:+}", addend as i64) };
    match value {
        Value::Address { symbol, addend } => {
            let name = match symbol {
                Symbol::Module(number) => &module.variables[*number].name,
                Symbol::Local(number) => &function.variables[*number].name,
                Symbol::Function(number) => &module.functions[*number].name,
            };
            format!("{name}{}", offset(*addend))
        }
        Value::Register(register) => function.registers[*register].name.clone(),
        Value::Offset { register, addend } => format!("{}{}", function.registers[*register].name, offset(*addend)),
        Value::Constant(bits) => format!("{bits:#x}"),
        _ => "?".to_owned(),
    }
}

/// Returns true if an access is to shared memory, or to a generic address, which may be in it.
fn is_shared(access: &Access) -> bool {
    access.space.is_none_or(|space| TABLE.space(space).is_some_and(|space| space.name == "shared"))
}

/// A line for each access to shared memory of the kernels of a module.
pub(crate) fn report(text: &str) -> Result<String, Box<dyn Error>> {
    let module = Module::read(&TABLE, text).map_err(|errors| errors[0].to_string())?;
    let mut out = String::new();
    for kernel in module.functions.iter().filter(|function| function.kernel && function.body) {
        writeln!(out, "{}", kernel.name)?;
        for instruction in &kernel.instructions {
            let effects = instruction.effects();
            for access in effects.memory.iter().filter(|access| is_shared(access)) {
                let what = match (access.read, access.written) {
                    (true, true) => "updates",
                    (true, false) => "reads",
                    _ => "writes",
                };
                let (line, bytes) = (module.line(instruction.at.start), access.bytes);
                let at = address(&module, kernel, &instruction.operands[access.operand].value);
                let generic = if access.space.is_none() { " (a generic address)" } else { "" };
                writeln!(out, "  line {line}: {what} {bytes} bytes at {at}{generic}")?;
            }
            if let Some(reason) = effects.lacks {
                writeln!(out, "  line {}: not known: {reason}", module.line(instruction.at.start))?;
            }
        }
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    for file in std::env::args().skip(1) {
        print!("{}", report(&std::fs::read_to_string(file)?)?);
    }
    Ok(())
}
