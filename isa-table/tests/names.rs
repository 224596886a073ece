//! Names of generated items.

use isa_table::names::{camel, constant, marker, snake};

#[test]
fn names_are_identifiers_whatever_they_come_from() {
    assert_eq!([snake("type"), snake("match"), snake("immLut")], ["ty", "r#match", "imm_lut"]);
    assert_eq!([snake("self"), snake("_"), snake("2d")], ["self_", "__", "_2d"]);
    assert_eq!([camel("sp::2:4"), camel("2d"), camel("self")], ["Sp24", "D2", "Self_"]);
    assert_eq!([constant("exit"), constant("tex.2d.v4.f32.s32")], ["FORM", "_2D_V4_F32_S32"]);
    assert_eq!((snake("NaN"), snake("CmpOp")), ("nan".to_owned(), "cmp_op".to_owned()));
    assert_eq!(marker("u32", None), "U32");
    assert_eq!(marker("u32", Some(&["b32", "s32"])), "U32FromB32S32");
    assert_eq!(marker("u32", Some(&[])), "U32Constant");
}
