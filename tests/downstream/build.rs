fn main() {
    let bits = isa_spec::Build::new().file("spec/bits.isa").with_scalar().with_ptx("crate::bits");
    bits.reference("bits_reference.rs").write("bits.rs");
    isa_spec::Build::new().file("spec/toy.isa").with_scalar().write("toy.rs");
    isa_spec::Build::new().prelude().file("spec/kernels.isa").write("kernels.rs");
    isa_spec::Build::new().prelude().file("spec/shapes.isa").with_scalar().write("shapes.rs");
}
