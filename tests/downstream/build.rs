fn main() {
    isa_spec::Build::new().file("spec/bits.isa").write("bits.rs");
    isa_spec::Build::new().file("spec/toy.isa").write("toy.rs");
    isa_spec::Build::new().prelude().file("spec/shapes.isa").write("shapes.rs");
}
