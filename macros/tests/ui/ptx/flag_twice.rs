use ptx_isa::construct::Reg;
use ptx_isa::types::{F32, Pred, S32, U32};
use ptx_isa_macros::ptx;

fn main() {
    let (p, q, c) = (Reg::<Pred>::new("p"), Reg::<Pred>::new("q"), Reg::<Pred>::new("c"));
    let (a, b, f, r) = (Reg::<S32>::new("a"), Reg::<S32>::new("b"), Reg::<F32>::new("f"), Reg::<U32>::new("r"));
    ptx!(set.lt.ftz.ftz.u32.f32);
    let _ = (p, q, c, a, b, f, r);
}
