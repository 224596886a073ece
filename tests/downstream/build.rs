fn main() {
    isa_spec::Build::new().file("spec/bits.isa").write("bits.rs");
    isa_spec::Build::new().file("spec/toy.isa").write("toy.rs");
}
