//! Lists the resources that each kernel of a module needs, and the statements that keep it from an older target.
//!
//! ```sh
//! cargo run --example inventory -- FILE.ptx…
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::ops::Range;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::LineIndex;
use ptx_isa::table::OperandKind;
use ptx_isa::text::module::{Declaration, Function, Item, Minimum, Options, Place, needs, read};
use ptx_isa::text::statement::{Statement, Value};

/// Resources of a function.
#[derive(Default)]
struct Inventory<'a> {
    name: &'a str,
    kernel: bool,
    /// Registers by type.
    registers: BTreeMap<&'static str, u64>,
    /// Bytes of shared memory whose size the text says.
    shared: u64,
    calls: Vec<&'a str>,
    statements: usize,
    /// The version and the target that it asks for.
    minimum: Option<Minimum>,
}

impl<'a> Inventory<'a> {
    fn declared(&mut self, declaration: Declaration<'a>) {
        let ty = declaration.ty.map(|ty| TABLE.ty(ty));
        let lanes = u64::from(declaration.lanes);
        match declaration.place {
            Place::Registers(count) => {
                *self.registers.entry(ty.map_or("?", |ty| ty.name)).or_default() += lanes * count.unwrap_or(1);
            }
            Place::Memory { space, elements } if space.name == "shared" => {
                self.shared += ty.map_or(0, |ty| u64::from(ty.bits) / 8) * lanes * elements;
            }
            Place::Memory { .. } => {}
        }
    }

    fn statement(&mut self, statement: &Statement<'a>) {
        self.statements += 1;
        for (info, operand) in statement.operands_with_info() {
            if let (OperandKind::Function, Value::Name(name)) = (info.kind, operand.value) {
                self.calls.push(name);
            }
        }
    }

    fn print(&self, text: &str) {
        let lines = LineIndex::new(text.as_bytes());
        let told = |span: &Range<usize>| {
            let line = lines.position(span.start).line;
            format!("line {line}: {}", text[span.clone()].split_whitespace().collect::<Vec<_>>().join(" "))
        };
        println!("{} {}: {} statements", if self.kernel { "kernel" } else { "function" }, self.name, self.statements);
        let registers: Vec<String> = self.registers.iter().map(|(ty, count)| format!("{count} .{ty}")).collect();
        println!("  registers  {}", registers.join(", "));
        println!("  shared     {} bytes", self.shared);
        if !self.calls.is_empty() {
            println!("  calls      {}", self.calls.join(", "));
        }
        let Some(minimum) = &self.minimum else { return println!("  no PTX version and target have all of it") };
        println!("  needs      PTX {}, {}", minimum.ptx, minimum.target);
        if let Some(reason) = &minimum.version_reason {
            println!("  PTX {:<6} {}", reason.needs.to_string(), told(&reason.span));
        }
        for reason in &minimum.target_reasons {
            println!("  {:<10} {}", reason.needs.to_string(), told(&reason.span));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let paths = if paths.is_empty() { vec!["examples/sort_warps.ptx".to_owned()] } else { paths };
    for path in paths {
        let text = std::fs::read_to_string(&path)?;
        let mut functions: Vec<Inventory<'_>> = Vec::new();
        // Shared memory outside of functions is any function's.
        let mut outside = Inventory { name: "(outside of functions)", ..Inventory::default() };
        let mut within = false;
        let report = read(&TABLE, text.as_bytes(), &Options::default(), |item, _| match item {
            Item::Function(Function { name, kernel, .. }) => {
                functions.push(Inventory { name, kernel, ..Inventory::default() });
                within = true;
            }
            Item::End => within = false,
            Item::Declaration(declaration) => match functions.last_mut().filter(|_| within) {
                Some(function) => function.declared(declaration),
                None => outside.declared(declaration),
            },
            Item::Statement(statement) => {
                if let Some(function) = functions.last_mut() {
                    function.statement(statement);
                }
            }
            Item::Prototype(_) | Item::Parameter(_) | Item::Label(_) | Item::Directive(_) | Item::Refused(_) => {}
        });
        for (function, needs) in functions.iter_mut().zip(needs(&TABLE, text.as_bytes())) {
            function.minimum = needs.minimum();
        }
        println!("{path}: {} errors; {} bytes of shared memory outside of functions", report.errors(), outside.shared);
        functions.iter().for_each(|function| function.print(&text));
    }
    Ok(())
}
