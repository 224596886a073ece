//! Every effect of the spec is executed by a test: by those of compiled kernels, or by a kernel here.

use std::collections::BTreeSet;

use crate::machine::on_one_thread;
use ptx_isa::TABLE;
use ptx_isa::run::Grid;
use ptx_isa::table::EffectKind;
use ptx_isa::text::resolved;

/// Code that computes `%r1` in each thread, and the expected value as a function of the thread's number `%t`.
#[allow(clippy::type_complexity, reason = "a list of pairs")]
const KERNELS: [(&str, fn(u32) -> u32); 10] = [
    (
        "stacksave.u64 %a; alloca.u64 %b, 16; st.local.u32 [%b+4], %t; ld.local.u32 %r1, [%b+4];
        stackrestore.u64 %a; alloca.u64 %a, 16; sub.u64 %a, %a, %b; cvt.u32.u64 %r2, %a; add.u32 %r1, %r1, %r2;",
        |t| t,
    ),
    (
        "mov.u64 %a, x; cvta.shared.u64 %a, %a; isspacep.shared %p, %a; isspacep.global %q, %out;
        isspacep.local %s, %a; selp.u32 %r1, 1, 0, %p; @%q add.u32 %r1, %r1, 2; @%s add.u32 %r1, %r1, 4;
        cvta.to.shared.u64 %b, %a; st.shared.u32 [%b], 8; ld.u32 %r2, [%a]; add.u32 %r1, %r1, %r2;",
        |_| 11,
    ),
    (
        "createpolicy.fractional.L2::evict_last.b64 %a, 1.0; prefetch.global.L2 [%out];
        ld.global.L2::cache_hint.u32 %r1, [%out], %a; nanosleep.u32 10; pmevent 1;",
        |_| 0,
    ),
    (
        "setp.lt.u32 %p, %t, 5; barrier.red.popc.u32 %r1, 0, %p; barrier.red.and.pred %q, 1, %p;
        barrier.red.or.pred %s, 2, %p; @%q add.u32 %r1, %r1, 100; @%s add.u32 %r1, %r1, 1000;",
        |_| 1005,
    ),
    (
        "and.b32 %r2, %t, 1; TS: .branchtargets EVEN, ODD; brx.idx %r2, TS;
        EVEN: mov.u32 %r1, 10; bra END; ODD: mov.u32 %r1, 20; END:",
        |t| 10 + 10 * (t & 1),
    ),
    (
        "mov.u64 %a, x; cvta.shared.u64 %a, %a; mov.u32 %r2, 0; mapa.u64 %b, %a, %r2; st.u32 [%b], 7;
        ld.shared.u32 %r1, [x]; getctarank.u64 %r2, %b; add.u32 %r1, %r1, %r2;
        isspacep.shared::cluster %p, %b; @%p add.u32 %r1, %r1, 20;
        barrier.cluster.arrive; barrier.cluster.wait;",
        |_| 27,
    ),
    (
        "setp.ge.u32 %p, %t, 8; @%p bra REST; bar.arrive 3, 32; mov.u32 %r1, 1; bra END; REST: bar.sync 3, 32;
        mov.u32 %r1, 2; END: fence.acq_rel.gpu;",
        |t| 1 + u32::from(t >= 8),
    ),
    ("mov.u32 %r1, 3; st.global.u32 [%out], %r1; setp.lt.u32 %p, %t, 9; @%p exit; mov.u32 %r1, 4;", |t| {
        3 + u32::from(t >= 9)
    }),
    (
        ".reg .v2 .b32 %v, %w; mov.u32 %v.x, %t; mov.u32 %v.y, 5; mov.v2.u32 %w, %v; add.u32 %r1, %w.x, %w.y;
        and.b64 %a, %out, -16; cp.async.bulk.prefetch.L2.global [%a], 16;",
        |t| t + 5,
    ),
    (
        ".shared .align 16 .b8 rows[128]; mov.u32 %r2, rows; and.b32 %r3, %t, 7; mad.lo.u32 %r3, %r3, 16, %r2;
        stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%t}; bar.warp.sync -1;
        shl.b32 %r3, %t, 2; add.u32 %r3, %r3, %r2; ld.shared.u32 %r1, [%r3];",
        |t| t,
    ),
];

fn text(body: &str) -> String {
    format!(
        ".version 8.0 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out) {{
            .shared .align 8 .b32 x; .reg .pred %p, %q, %s; .reg .b32 %t, %r<4>; .reg .b64 %a, %b, %out;
            ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;
            {body}
            st.global.u32 [%out], %r1; ret;
        }}"
    )
}

#[test]
fn effects_do_what_they_say() {
    for (body, expected) in KERNELS {
        on_one_thread(&text(body), |machine| {
            let out = machine.upload(&[0_u32; 32]);
            let ran = machine.try_run("k", Grid::new(1, 32), &[out.into()]);
            ran.unwrap_or_else(|error| panic!("{error}\n{body}"));
            assert_eq!(machine.download::<u32>(out, 32), (0..32).map(expected).collect::<Vec<_>>(), "{body}");
        });
    }
}

#[test]
fn every_effect_has_a_test() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let compiled = files.filter(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    let texts = compiled.map(|path| std::fs::read_to_string(path).unwrap()).chain(KERNELS.map(|(body, _)| text(body)));
    let mut executed = BTreeSet::new();
    for text in texts {
        let module = resolved::Module::read(&TABLE, &text).unwrap();
        for instruction in module.functions.iter().flat_map(|function| &function.instructions) {
            executed.extend(instruction.form.effects_with(&instruction.free).map(|effect| effect.kind.name()));
        }
    }
    let missing: Vec<&str> =
        EffectKind::ALL.iter().map(|kind| kind.name()).filter(|name| !executed.contains(name)).collect();
    // Kernels in the text of `tensor.rs` copy to tensor memory; `matrix/sparse.rs` computes the sparse products without a
    // kernel. No kernel stores a matrix by columns. What is not modeled is refused before a launch.
    let elsewhere = ["multiply_sparse", "multiply_sparse_scaled", "copy_to_tensor", "unmodeled", "write_columns"];
    assert_eq!(missing, elsewhere);
}
