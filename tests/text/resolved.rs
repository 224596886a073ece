//! Resolved modules: layouts, initial contents, directives, and what names denote.

use ptx_isa::TABLE;
use ptx_isa::text::resolved::{Bytes, Function, Linkage, Module, Parameter, Symbol, Value, Variable};

fn module(text: &str) -> Module {
    let text = format!(".version 8.6 .target sm_90 .address_size 64\n{text}");
    Module::read(&TABLE, &text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

/// The only variable of a module.
fn variable(text: &str) -> Variable {
    module(text).variables.pop().expect("a variable")
}

/// A kernel with this body.
fn kernel(body: &str) -> Function {
    module(&format!(".entry k() {{ .reg .b32 %r<4>; .reg .b64 a; .reg .pred p; {body} }}")).functions.remove(0)
}

#[test]
fn values_are_in_the_places_that_their_braces_give_them() {
    let bytes = |text: &str| variable(text).initial.into_iter().map(|one| (one.offset, one.bytes)).collect::<Vec<_>>();
    assert_eq!(bytes(".global .u16 x[2][3] = {{1}, {2, 3}};"), [(0, vec![1, 0, 0, 0, 0, 0, 2, 0, 3, 0])]);
    assert_eq!(bytes(".global .u8 x[] = {1, 0x22, 3};"), [(0, vec![1, 0x22, 3])]);
    assert_eq!(bytes(".const .align 8 .f32 x = 1.0;"), [(0, vec![0, 0, 0x80, 0x3f])]);
    assert_eq!(bytes(".global .v2 .u8 x[2][2] = {{{1, 2}}, {{3, 4}, {5, 6}}};"), [(0, vec![1, 2, 0, 0, 3, 4, 5, 6])]);
    // Rows of which nothing is given take no memory.
    let far = bytes(".global .u8 x[2][1000000000] = {{7}, {8, 9}};");
    assert_eq!(far, [(0, vec![7]), (1_000_000_000, vec![8, 9])]);
}

#[test]
fn float_constants_in_vectors_are_as_wide_as_the_operand() {
    let stored = |statement: &str| {
        let Value::List(values) = kernel(statement).instructions.remove(0).operands.remove(1).value else {
            panic!("{statement}");
        };
        let bits = |value: &Value| if let Value::Constant(bits) = value { *bits } else { panic!("{statement}") };
        values.iter().map(bits).collect::<Vec<_>>()
    };
    assert_eq!(stored("st.v2.f32 [a], {1.0, 0f40000000};"), [0x3f80_0000, 0x4000_0000]);
    assert_eq!(stored("st.v2.f64 [a], {1.0, 0f40000000};"), [1_f64.to_bits(), 2_f64.to_bits()]);
}

#[test]
fn addresses_are_relocations() {
    let module =
        module(".global .u32 x; .func f() { ret; } .global .u64 y[4] = {1, f, generic(x) + 8, 0xff00(x + 4)};");
    let y = &module.variables[1];
    assert_eq!(y.initial, [Bytes { offset: 0, bytes: [1, 0, 0, 0, 0, 0, 0, 0].to_vec() }]);
    let found: Vec<_> =
        y.relocations.iter().map(|one| (one.offset, one.symbol, one.generic, one.mask, one.addend)).collect();
    let x = Some(Symbol::Module(0));
    let expected =
        [(8, Some(Symbol::Function(0)), false, u64::MAX, 0), (16, x, true, u64::MAX, 8), (24, x, false, 0xff00, 4)];
    assert_eq!(found, expected);
}

#[test]
fn declarations_have_alignment_linkage_and_size() {
    let of = |text: &str| {
        let one = variable(text);
        (one.align, one.linkage, one.elements, one.size)
    };
    assert_eq!(of(".visible .global .align 16 .b8 x[24];"), (16, Some(Linkage::Visible), 24, 24));
    assert_eq!(of(".extern .shared .v2 .f32 x[];"), (8, Some(Linkage::Extern), 0, 0));
    assert_eq!(of(".global .u32 x[][2] = {{1}, {2}, {3}};"), (4, None, 6, 24));
    let module = module(".weak .func (.reg .b32 r) f(.param .align 8 .b8 s[12], .reg .pred q) { ret; }");
    let f = &module.functions[0];
    assert_eq!((f.linkage, f.results.len(), f.parameters.len()), (Some(Linkage::Weak), 1, 2));
    assert_eq!(f.parameter(&f.parameters[0]).map(|one| (one.align, one.size)), Some((8, 12)));
    assert!(matches!(f.parameters[1], Parameter::Register(_)));
    // The alignment behind `.ptr` is that of what the parameter points to.
    let kernel = &self::module(".entry k(.param .u32 n, .param .u64 .ptr .global .align 32 p) { ret; }").functions[0];
    assert_eq!(kernel.parameter(&kernel.parameters[1]).map(|one| (one.align, one.offset)), Some((8, 8)));
}

#[test]
fn directives_of_a_head_have_numbers() {
    let module = module(".visible .entry k() .maxntid 32, WARP_SZ .minnctapersm 0x2 { ret; }");
    let expected = [("maxntid".to_owned(), vec![32, 32]), ("minnctapersm".to_owned(), vec![2])];
    assert_eq!(module.functions[0].directives, expected);
}

#[test]
fn files_and_locations_are_those_of_their_directives() {
    let module = module(".file 3 \"a\\b.cu\"\n.entry k() {\n.loc 3 0x10 5\nret; }");
    assert_eq!(module.files, [(3, "a\\b.cu".to_owned())]);
    assert_eq!(module.functions[0].instructions[0].location, Some((3, 16, 5)));
}

#[test]
fn a_register_has_one_number_however_it_is_written() {
    let function =
        kernel(".reg .b32 %r; mov.b32 %r1, %r01; mov.b32 %r, %r3; { .reg .b32 %r1; mov.b32 %r1, %r2; } ret;");
    let names: Vec<&str> = function.registers.iter().map(|register| register.name.as_str()).collect();
    assert_eq!(names, ["%r1", "%r", "%r3", "%r1", "%r2"]);
    let [Value::Register(to), Value::Register(from)] =
        [0, 1].map(|operand| function.instructions[0].operands[operand].value.clone())
    else {
        panic!("{:?}", function.instructions[0]);
    };
    assert_eq!((to, from), (0, 0));
}

#[test]
fn the_innermost_declaration_of_a_target_counts() {
    let target = |body: &str| {
        let function = kernel(body);
        let branch = function.instructions.iter().find(|one| one.form.mnemonic() == "bra").expect("a branch");
        format!("{:?}", branch.operands[0].value)
    };
    assert_eq!(target("{ a: bra a; } ret;"), "Label(0)");
    assert_eq!(target("L: ret; { bra L; L: ret; }"), "Label(2)");
    assert_eq!(target("{ bra L; { L: ret; } } L: ret;"), "Label(2)");
}

#[test]
fn lists_and_prototypes_are_those_of_their_labels() {
    let function = kernel("bra L1; L0: ret; L1: list: .branchtargets L<2>, L1; brx.idx %r1, list;");
    let last = function.instructions.last().expect("an instruction");
    assert!(matches!(&last.operands[1].value, Value::Labels(labels) if *labels == [1, 2, 2]), "{last:?}");

    let function = kernel(
        ".param .b32 x, y; .param .align 8 .b8 s[16]; \
         P: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[16], .param .b32 _); call (x), a, (s, y), P; ret;",
    );
    let [prototype] = &function.prototypes[..] else { panic!("{:?}", function.prototypes) };
    assert_eq!((prototype.results.len(), prototype.parameters.len()), (1, 2));
    assert_eq!(prototype.variables.iter().map(|one| one.size).collect::<Vec<_>>(), [4, 16, 4]);
    let call = &function.instructions[0];
    assert!(call.operands.iter().any(|operand| matches!(operand.value, Value::Prototype(0))), "{call:?}");
}

/// A function that is declared within another is one of the module.
#[test]
fn functions_may_be_declared_within_others() {
    let module = module(".func f() { .extern .func g(.reg .b32 x); call g, (1); ret; }");
    let names: Vec<(&str, bool)> = module.functions.iter().map(|one| (one.name.as_str(), one.body)).collect();
    assert_eq!(names, [("f", true), ("g", false)]);
    let call = &module.functions[0].instructions[0];
    assert!(matches!(call.operands[0].value, Value::Address { symbol: Symbol::Function(1), .. }), "{call:?}");
}
