//! Instructions built in Rust: what is legal prints as canonical PTX, what is not is refused in the reader's words.

use ptx_isa::construct::{Argument, Reg};
use ptx_isa::table::IllegalForm;
use ptx_isa::text::Statement;
use ptx_isa::types::{F32, Pred, S32, U32};
use ptx_isa::{BoolOp, CmpOp, Form, Instruction, ScalarType, Selp, Set, Setp, TABLE};

const P: Reg<'_, Pred> = Reg::new("%p1");
const Q: Reg<'_, Pred> = Reg::new("%p2");
const A: Reg<'_, S32> = Reg::new("%r1");
const R: Reg<'_, U32> = Reg::new("%r2");
const F: Reg<'_, F32> = Reg::new("%f1");

fn form(mnemonic: &str) -> Form {
    mnemonic.parse().unwrap()
}

#[test]
fn every_form_is_built_from_its_modifiers() {
    for &form in Form::ALL {
        // Modifiers do not tell forms apart that have vectors as operands.
        let built = Instruction::from(form).form().unwrap();
        assert!(built.info().shapes().any(|shape| shape == form.info()), "{form}");
    }
}

#[test]
fn what_is_built_is_what_is_read() {
    let built = [
        form("setp.lt.and.s32").statement(&[P.pair(Q), A.into(), 3.into(), (!Q).into()]).unwrap().guarded(!P),
        form("setp.lt.f32").statement(&[Argument::SINK.and(Q), F.into(), 1.5.into()]).unwrap(),
        form("setp.lt.f32").statement(&[Argument::from(P).and_sink(), F.into(), f32::MIN_POSITIVE.into()]).unwrap(),
        form("vset4.u32.u32.lt").statement(&[R.select("b20"), R.into(), R.select("b0123"), R.into()]).unwrap(),
        form("vset.u32.u32.lt").statement(&[R.into(), R.select("h1"), (-1).into()]).unwrap().guarded(P),
    ];
    let text = [
        "@!%p1 setp.lt.and.s32 %p1|%p2, %r1, 0x3, !%p2;",
        "setp.lt.f32 _|%p2, %f1, 0f3fc00000;",
        "setp.lt.f32 %p1|_, %f1, 0f00800000;",
        "vset4.u32.u32.lt %r2.b20, %r2, %r2.b0123, %r2;",
        "@%p1 vset.u32.u32.lt %r2, %r2.h1, 0xffffffff;",
    ];
    for (built, text) in built.iter().zip(text) {
        assert_eq!(built.to_string(), text);
        assert_eq!(*built, Statement::parse(&TABLE, text).unwrap());
    }
}

#[test]
fn an_illegal_choice_of_modifiers_is_refused_with_the_reason() {
    let refusal = |form: Result<Form, IllegalForm>| form.unwrap_err().to_string();
    let setp = |cmp_op, ty| Setp { cmp_op, bool_op: None, ftz: false, ty };
    assert_eq!(refusal(setp(CmpOp::Lo, ScalarType::S32).form()), "`.lo` is for unsigned integers");
    let flushed = Setp { ftz: true, ..setp(CmpOp::Lt, ScalarType::S32) };
    assert_eq!(refusal(flushed.form()), "`.ftz` needs `.type` to be `.f32`");
    let set = Set {
        cmp_op: CmpOp::Lt,
        bool_op: Some(BoolOp::And),
        ftz: false,
        dtype: Some(ScalarType::B8),
        stype: ScalarType::S32,
    };
    assert!(refusal(set.form()).starts_with("no syntax line of `set` has these modifiers"));
}

#[test]
fn an_operand_that_may_not_stand_there_is_refused_in_the_readers_words() {
    let selp = Selp { ty: ScalarType::S32 }.form().unwrap();
    let refusal = |form: Form, arguments: &[Argument<'_>]| form.statement(arguments).unwrap_err().to_string();
    assert_eq!(refusal(selp, &[A.into(), A.into(), A.into()]), "`selp.s32` takes 4 operands, not 3");
    assert_eq!(
        refusal(selp, &[Argument::SINK, A.into(), A.into(), P.into()]),
        "`_` cannot replace the operand `d` of `selp.s32`"
    );
    assert_eq!(
        refusal(selp, &[A.into(), F.into(), A.into(), P.into()]),
        "`a` is a `.s32` operand, not a `.f32` register: `%f1`"
    );
    assert_eq!(refusal(selp, &[A.into(), A.into(), A.into(), (!P).into()]), "the operand `c` cannot be negated");
    assert_eq!(refusal(selp, &[A.into(), 1.5.into(), A.into(), P.into()]), "`a` is a `.s32` operand, not a float");
    assert_eq!(
        refusal(selp, &[A.into(), A.into(), A.into(), 1.into()]),
        "the operand `c` is a constant in place of a predicate"
    );
    let video = form("vset4.u32.u32.lt");
    assert_eq!(
        refusal(video, &[R.into(), 1.into(), R.into(), R.into()]),
        "the operand `a` is a register, not a constant"
    );
    assert_eq!(
        refusal(video, &[R.into(), R.select("b9999"), R.into(), R.into()]),
        "`.b9999` is not a valid `.asel` of the operand `a`"
    );
}
