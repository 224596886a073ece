use ptx_isa_macros::ptx;

fn main() {
    let p = 0_u64;
    let _ = ptx!(ld.global.u32 r, [p]);
    let _ = ptx!(bra done);
}
