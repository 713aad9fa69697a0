//! Integers that go through float registers come out as they went in: every one from -8388607 to -1 is a NaN's bits.

use super::examples::simulated;
use super::expansions::check;
use warpscope_core::ptx::import;
use warpscope_core::text;

/// Is it the bits of no number?
fn is_nan(bits: u32) -> bool {
    f32::from_bits(bits).is_nan()
}

#[test]
fn moves_keep_bits() {
    let floats = "{.reg .f32 %f<4>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n";
    let end = "mov.b32 %r4, %f1;}";
    check(&format!("{floats}{end}"), |a, _, _| a);
    check(&format!("{floats}mov.f32 %f1, %f2;\n{end}"), |_, b, _| b);
    check(&format!("{floats}setp.lt.u32 %p1, %r3, 100;\nselp.f32 %f1, %f1, %f2, %p1;\n{end}"), |a, b, c| {
        if c < 100 { a } else { b }
    });
    check(
        &format!("{floats}setp.lt.u32 %p1, %r3, 100;\n@%p1 mov.f32 %f1, %f2;\n{end}"),
        |a, b, c| {
            if c < 100 { b } else { a }
        },
    );
    check(&format!("{floats}slct.f32.s32 %f1, %f1, %f2, %r3;\n{end}"), |a, b, c| if c as i32 >= 0 { a } else { b });
    check(&format!("{floats}shfl.sync.bfly.b32 %f1, %f1, 0, 31, -1;\n{end}"), |a, _, _| a);
    check(&format!("{floats}mov.b32 %f1, 0fFF812345;\n{end}"), |_, _, _| 0xff81_2345);
    check("{.reg .f64 %d<3>;\nmov.b64 %d1, {%r1, %r2};\nmov.f64 %d2, %d1;\nmov.b64 {%r5, %r4}, %d2;}", |_, b, _| b);
    check(
        "{.reg .b16 %h<3>;\n.reg .f16 %x<3>;\nmov.b32 {%h1, %h2}, %r1;\nmov.b16 %x1, %h1;\nmov.b16 %x2, %h2;\n\
         mov.b32 %r4, {%x1, %x2};}",
        |a, _, _| a,
    );
}

#[test]
fn arithmetic_yields_one_nan() {
    let floats = "{.reg .f32 %f<4>;\n.reg .f64 %fd<2>;\nmov.b32 %f1, %r1;\n";
    let end = "mov.b32 %r4, %f1;}";
    let one = |a: u32, other: u32| if is_nan(a) { 0x7fff_ffff } else { other };
    check(&format!("{floats}neg.f32 %f1, %f1;\n{end}"), |a, _, _| one(a, a ^ 1 << 31));
    check(&format!("{floats}abs.f32 %f1, %f1;\n{end}"), |a, _, _| one(a, a & 0x7fff_ffff));
    check(&format!("{floats}min.f32 %f1, %f1, %f1;\n{end}"), |a, _, _| one(a, a));
    check(&format!("{floats}mul.rn.f32 %f1, %f1, 0f3F800000;\n{end}"), |a, _, _| one(a, a));
    check(&format!("{floats}cvt.f64.f32 %fd1, %f1;\ncvt.rn.f32.f64 %f1, %fd1;\n{end}"), |a, _, _| one(a, a));
}

/// A copy of memory by floats, one or four at a time, with a stop in shared memory, and by doubles.
#[test]
fn copies_by_floats_copy_integers() {
    let bodies = [
        "ld.global.f32 f, [p];\nst.global.f32 [q], f;",
        "@t0 ld.global.v4.f32 {f, g, h, i}, [p];\n@t0 st.global.v4.f32 [q], {f, g, h, i};",
        "@even ld.global.f64 x, [p];\n@even st.global.f64 [q], x;",
        "ld.global.f32 f, [p];\nst.shared.f32 [s], f;\nld.shared.b32 f, [s];\nst.global.b32 [q], f;",
    ];
    for body in bodies {
        let source = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x0, .param .u64 o0)\n{{\n\
             .reg .b64 p, q, d;\n.reg .b32 t, s, u;\n.reg .f32 f, g, h, i;\n.reg .f64 x;\n.reg .pred t0, even;\n\
             .shared .align 4 .b8 place[16];\n\
             ld.param.u64 p, [x0];\nld.param.u64 q, [o0];\nmov.u32 t, %tid.x;\nmul.wide.u32 d, t, 4;\nadd.s64 p, p, \
             d;\n\
             add.s64 q, q, d;\nmov.u32 s, place;\nmad.lo.u32 s, t, 4, s;\nsetp.eq.u32 t0, t, 0;\nand.b32 u, t, 1;\n\
             setp.eq.u32 even, u, 0;\n{body}\nret;\n}}\n"
        );
        let imported = import(&source);
        assert!(imported.diagnostics.is_empty(), "{body}: {:?}", imported.diagnostics);
        let launch = text::parse(
            "launch k {\n    block 4\n    x0 = buffer s32[4] { -1, 5, -1000, -8388607 }\n    o0 = buffer s32[4] const \
             0\n}\n",
        );
        let memory = simulated(&imported.module, &launch.module.launches[0]);
        let copied = memory[1].as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes));
        assert_eq!(copied.collect::<Vec<_>>(), [-1, 5, -1000, -8_388_607], "{body}");
    }
}
