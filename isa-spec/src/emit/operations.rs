//! Dispatch function of the operations of programs, with an arm for each builtin and type.

use isa_table::program::{Linear, WARP};

use super::Context;
use super::code::Code;
use super::rust::{body, concrete, lane_type, operation_name, whole_type};
use crate::model::{Kind, Model, Param, TypeId};
use crate::plan::{Operation, each_lane};
use crate::program::Callee;

pub(super) fn emit(cx: &Context<'_>, code: &mut Code) {
    code.blank();
    code.docs("What programs on bits call, by number.");
    // One function per operation: as arms of a single function they take the compiler far longer.
    code.block("static OPERATIONS: &[fn(&[u128]) -> u128] = {", "};", |code| {
        code.line("#[allow(unused_imports, reason = \"a table need not use every kind of body\")]");
        code.line(format_args!("use {} as rt;", cx.bodies));
        code.line("#[allow(unused_imports, reason = \"a table may have no operations\")]");
        code.line(format_args!("use {}::eval::bits::{{self, Word}};", cx.support));
        code.block("&[", "]", |code| {
            for operation in &cx.plan.operations {
                let call = call(&cx.checked.model, cx.support, operation);
                code.line(format_args!("{{ fn operation(x: &[u128]) -> u128 {{ {call} }} operation }},"));
            }
        });
    });
    code.blank();
    code.docs("The names of these operations, each of its builtin, types and words.");
    code.block("static OPERATION_NAMES: &[&str] = &[", "];", |code| {
        code.list(
            cx.plan
                .operations
                .iter()
                .map(|operation| format!("{:?}", operation_name(&cx.checked.model, &operation.callee))),
        );
    });
    code.blank();
    code.docs("Computes an operation of words.");
    code.braces("fn operation(number: u16, x: &[u128]) -> u128", |code| {
        code.braces("match OPERATIONS.get(usize::from(number))", |code| {
            code.line("Some(operation) => operation(x),");
            code.line(format_args!("None => {}::eval::bits::unknown(number, x),", cx.support));
        });
    });
    code.blank();
    code.docs("Operations that keep values linear in the index of a thread.");
    code.block(format_args!("static LINEAR: &[(u16, {0}::table::program::Linear)] = &[", cx.support), "];", |code| {
        for (number, operation) in cx.plan.operations.iter().enumerate() {
            if let Some(linear) = linear(&cx.checked.model, &operation.callee) {
                code.line(format_args!("({number}, {}::table::program::Linear::{linear:?}),", cx.support));
            }
        }
    });
}

/// How an operation is linear; none of floats is.
fn linear(model: &Model, callee: &Callee) -> Option<Linear> {
    let kind = model.builtins[callee.builtin.0].linear?;
    let of = model.ty(callee.ty?);
    let integer = matches!(of.kind, Kind::Bits | Kind::Unsigned | Kind::Signed);
    integer.then(|| kind.of(of.bits as u8, of.kind == Kind::Signed))
}

fn call(model: &Model, support: &str, operation: &Operation) -> String {
    let Operation { callee, lanes } = operation;
    let signature = &model.builtins[callee.builtin.0].signature;
    let each = each_lane(model, callee.builtin);
    let of = |id: TypeId| if each { lane_type(model, id) } else { whole_type(model, id) };
    // Start of each argument's words: one word, or one for each thread.
    let mut next = 0;
    let args = signature.params.iter().zip(&signature.of_warp).map(|(param, of_warp)| {
        let (index, read) = (next, if *of_warp { "threads" } else { "arg" });
        next += if *of_warp { WARP } else { 1 };
        let ty = match (*param, lanes) {
            (Param::Pick(pick), _) => format!("{support}::selector::Lanes<{}, {}>", pick.lanes, pick.of),
            (Param::GenericLanes, Some(lanes)) => {
                format!("[{}; {lanes}]", lane_type(model, callee.ty.expect("it tells the parameter")))
            }
            (param, _) => of(concrete(param, callee).expect("a selector is handled above")),
        };
        format!("bits::{read}::<{ty}>(x, {index})")
    });
    format!("rt::{}({}).into_word()", body(model, callee), args.collect::<Vec<_>>().join(", "))
}
