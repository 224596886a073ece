//! Functions of 16-bit floats in kernels, over all values of each argument.

use crate::machine::on_one_thread;
use ptx_isa::TABLE;
use ptx_isa::run::Grid;
use ptx_isa::table::{FormInfo, Kind, Operand, OperandKind, TypeId};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::spelling;

/// What the kernels are for.
const SM: u16 = 90;
const PTX: Version = Version { major: 9, minor: 0 };

const ALL: u32 = 1 << 16;

fn is_half(ty: TypeId) -> bool {
    let ty = TABLE.ty(ty);
    ty.kind == Kind::Float && ty.bits == 16
}

/// Forms with one 16-bit float as result, whose sources are such floats, too, and whose results are exact.
fn forms() -> impl Iterator<Item = FormInfo> {
    let half = |operand: &'static Operand| operand.kind == OperandKind::Scalar && is_half(operand.ty);
    let alone = |form: &FormInfo| form.states().is_empty() && form.selectors().next().is_none();
    let exact = TABLE.forms().filter(|form| form.has_evaluator() && form.bound().is_none() && !form.is_collective());
    exact
        .filter(move |form| form.operands().iter().all(half) && form.results().count() == 1)
        .filter(move |form| alone(form) && spelling::is_taken(*form, Some(PTX), Some(Target::sm(SM))))
}

/// A kernel in which argument `place` is the number of the thread, and the others are parameters.
fn kernel(form: FormInfo, place: usize) -> String {
    let names: Vec<String> = (0..form.sources().count()).map(|source| format!("%x{source}")).collect();
    let mnemonic = form.mnemonic_with(&spelling::canonical(form).expect("a spelling"));
    let register =
        if form.operands().get(0).is_some_and(|operand| operand.registers.has(b16())) { "b16" } else { "f16" };
    format!(
        ".version {PTX}\n.target sm_{SM}\n.address_size 64\n\
        .visible .entry k(.param .u64 out, .param .u16 one) {{\n\
        .reg .b64 %out; .reg .b32 %t, %b; .reg .b16 %n, %one; .reg .{register} %d, %x<4>;\n\
        ld.param.u64 %out, [out]; ld.param.u16 %one, [one];\n\
        mov.b16 %x0, %one; mov.b16 %x1, %one; mov.b16 %x2, %one;\n\
        mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %t, %b, 256, %t; cvt.u16.u32 %n, %t;\n\
        mov.b16 %x{place}, %n; mad.wide.u32 %out, %t, 2, %out;\n\
        {mnemonic} %d, {}; st.global.b16 [%out], %d; ret;\n}}\n",
        names.join(", ")
    )
}

fn b16() -> TypeId {
    TABLE.type_named("b16").expect("a type")
}

#[test]
fn all_values_of_an_argument() {
    let mut count = 0;
    for form in forms() {
        let sources = form.sources().count();
        let one = if TABLE.ty(form.operands()[0].ty).name == "bf16" { 0x3f80 } else { 0x3c00_u16 };
        for place in 0..sources {
            count += 1;
            on_one_thread(&kernel(form, place), |machine| {
                let out = machine.upload(&vec![0_u16; ALL as usize]);
                machine.run("k", Grid::new(ALL / 256, 256), &[out.into(), one.into()]);
                for (value, found) in machine.download::<u16>(out, ALL as usize).into_iter().enumerate().step_by(13) {
                    let mut inputs = vec![u128::from(one); sources];
                    inputs[place] = value as u128;
                    let expected = form.evaluate(SM, &inputs)[0];
                    assert_eq!(u128::from(found), expected, "{} of {inputs:x?}", form.name());
                }
            });
        }
    }
    assert!(count > 50, "{count} arguments are few");
}
