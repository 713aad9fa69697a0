//! Expansions of one PTX instruction to several of the text IR compute what the PTX ISA says, on
//! edges and drawn numbers; and one that the IR has, `redux`, comes through as it is.

use super::examples::simulated;
use warpscope_core::ptx::import;
use warpscope_core::text;
use warpscope_testkit::expansions::{self, THREADS, numbers};

/// Runs lines of PTX that set `%r4` from `%r1`, `%r2` and `%r3`, and compares each thread's result with the reference.
pub(super) fn check(lines: &str, reference: impl Fn(u32, u32, u32) -> u32) {
    check_on(&[numbers(1), numbers(2), numbers(3)], lines, reference);
}

/// Checks with these numbers.
pub(super) fn check_on(operands: &[Vec<u32>; 3], lines: &str, reference: impl Fn(u32, u32, u32) -> u32) {
    let found = results(lines, operands);
    for thread in 0..THREADS {
        let [a, b, c] = [0, 1, 2].map(|column: usize| operands[column][thread]);
        assert_eq!(found[thread], reference(a, b, c), "`{lines}` of {a:#x}, {b:#x}, {c:#x}");
    }
}

fn results(lines: &str, operands: &[Vec<u32>; 3]) -> Vec<u32> {
    let (found, messages) = results_and_messages(lines, operands);
    assert_eq!(messages, [] as [String; 0], "`{lines}`");
    found
}

/// Results that each thread stores, and the messages of loading.
pub(super) fn results_and_messages(lines: &str, operands: &[Vec<u32>; 3]) -> (Vec<u32>, Vec<String>) {
    let source = expansions::module([lines]);
    let imported = import(&source);
    let messages = imported.diagnostics.iter().map(|diagnostic| {
        assert!(!diagnostic.is_error(), "`{lines}`: {}", diagnostic.message);
        diagnostic.message.clone()
    });
    let messages = messages.collect();
    let launch = text::parse(&expansions::launch("k0", operands, "u32"));
    assert!(launch.diagnostics.is_empty(), "{:?}", launch.diagnostics);
    let memory = simulated(&imported.module, &launch.module.launches[0]);
    (memory[3].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(), messages)
}

/// Ones from bit 0 on; all where there are 32 or more.
pub(super) fn ones(count: u32) -> u32 {
    1_u64.checked_shl(count).map_or(u32::MAX, |end| end.wrapping_sub(1) as u32)
}

/// A shift that leaves nothing from 32 bits on.
fn shifted(value: u32, by: u32) -> u32 {
    value.checked_shl(by).unwrap_or(0)
}

#[test]
fn masks_and_extensions() {
    check("bmsk.clamp.b32 %r4, %r1, %r2;", |a, b, _| shifted(ones(b.min(32)), a));
    check("bmsk.wrap.b32 %r4, %r1, %r2;", |a, b, _| ones(b % 32) << (a % 32));
    let signed = |a: u32, bits: u32| match bits {
        0 => 0,
        bits => (a << (32 - bits)) as i32 >> (32 - bits),
    };
    check("szext.clamp.u32 %r4, %r1, %r2;", |a, b, _| a & ones(b.min(32)));
    check("szext.wrap.u32 %r4, %r1, %r2;", |a, b, _| a & ones(b % 32));
    check("szext.clamp.s32 %r4, %r1, %r2;", |a, b, _| signed(a, b.min(32)) as u32);
    check("szext.wrap.s32 %r4, %r1, %r2;", |a, b, _| signed(a, b % 32) as u32);
}

#[test]
fn bits_that_are_looked_for() {
    let highest = |a: u32| if a == 0 { u32::MAX } else { 31 - a.leading_zeros() };
    let unlike_sign = |a: u32| if (a as i32) < 0 { !a } else { a };
    let from_the_top = |place: u32| if place == u32::MAX { place } else { 31 - place };
    check("bfind.u32 %r4, %r1;", |a, _, _| highest(a));
    check("bfind.s32 %r4, %r1;", |a, _, _| highest(unlike_sign(a)));
    check("bfind.shiftamt.u32 %r4, %r1;", |a, _, _| from_the_top(highest(a)));
    check("bfind.shiftamt.s32 %r4, %r1;", |a, _, _| from_the_top(highest(unlike_sign(a))));
    check("cnot.b32 %r4, %r1;", |a, _, _| u32::from(a == 0));
}

/// Each of the 256 functions of three bits, bit by bit.
#[test]
fn functions_of_three_words() {
    for table in 0..=255_u32 {
        check(&format!("lop3.b32 %r4, %r1, %r2, %r3, {table};"), |a, b, c| {
            let bit = |k: u32| {
                let place = (a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1;
                (table >> place & 1) << k
            };
            (0..32).map(bit).fold(0, |all, bit| all | bit)
        });
    }
}

#[test]
fn selections_and_distances() {
    check("slct.u32.s32 %r4, %r1, %r2, %r3;", |a, b, c| if c as i32 >= 0 { a } else { b });
    check("sad.u32 %r4, %r1, %r2, %r3;", |a, b, c| c.wrapping_add(a.abs_diff(b)));
    check("sad.s32 %r4, %r1, %r2, %r3;", |a, b, c| c.wrapping_add((a as i32).abs_diff(b as i32)));
    check("set.lt.u32.s32 %r4, %r1, %r2;", |a, b, _| if (a as i32) < b as i32 { u32::MAX } else { 0 });
    check("set.ge.f32.u32 %r4, %r1, %r2;", |a, b, _| if a >= b { 1.0_f32.to_bits() } else { 0 });
}

#[test]
fn products_of_parts_of_words() {
    let low = |a: u32| u64::from(a & 0x00ff_ffff);
    let signed = |a: u32| i64::from((a << 8) as i32 >> 8);
    check("mul24.lo.u32 %r4, %r1, %r2;", |a, b, _| (low(a) * low(b)) as u32);
    check("mul24.hi.u32 %r4, %r1, %r2;", |a, b, _| ((low(a) * low(b)) >> 16) as u32);
    check("mul24.lo.s32 %r4, %r1, %r2;", |a, b, _| (signed(a) * signed(b)) as u32);
    check("mul24.hi.s32 %r4, %r1, %r2;", |a, b, _| ((signed(a) * signed(b)) >> 16) as u32);
    check("mad24.lo.u32 %r4, %r1, %r2, %r3;", |a, b, c| ((low(a) * low(b)) as u32).wrapping_add(c));
    let bytes = |a: u32| a.to_le_bytes().map(i64::from);
    let signed_bytes = |a: u32| a.to_le_bytes().map(|byte| i64::from(byte as i8));
    let dot = |a: [i64; 4], b: [i64; 4], c: u32| {
        let sum: i64 = a.into_iter().zip(b).map(|(a, b)| a * b).sum();
        (sum as u32).wrapping_add(c)
    };
    check("dp4a.u32.u32 %r4, %r1, %r2, %r3;", |a, b, c| dot(bytes(a), bytes(b), c));
    check("dp4a.s32.s32 %r4, %r1, %r2, %r3;", |a, b, c| dot(signed_bytes(a), signed_bytes(b), c));
    check("dp4a.s32.u32 %r4, %r1, %r2, %r3;", |a, b, c| dot(signed_bytes(a), bytes(b), c));
}

/// A step that writes under a guard leaves the register as it was where the guard is false.
#[test]
fn guards_hold_for_whole_expansions() {
    let guarded = |line: &str| format!("mov.u32 %r4, 77;\nsetp.lt.u32 %p1, %r3, 100;\n@%p1 {line}");
    check(&guarded("bmsk.clamp.b32 %r4, %r1, %r2;"), |a, b, c| if c < 100 { shifted(ones(b.min(32)), a) } else { 77 });
    check(&guarded("cnot.b32 %r4, %r1;"), |a, _, c| if c < 100 { u32::from(a == 0) } else { 77 });
    check(&guarded("sad.u32 %r4, %r1, %r2, %r3;"), |a, b, c| if c < 100 { a.abs_diff(b).wrapping_add(c) } else { 77 });
}

#[test]
fn reductions_over_a_warp() {
    let operands = [numbers(1), numbers(2), numbers(3)];
    let check = |operation: &str, reduce: &dyn Fn(&[u32]) -> u32| {
        let found = results(&format!("redux.sync.{operation} %r4, %r1, 0xffffffff;"), &operands);
        for (warp, lanes) in found.chunks(32).zip(operands[0].chunks(32)) {
            assert_eq!(warp, [reduce(lanes); 32], "{operation}");
        }
    };
    let signed = |lanes: &[u32]| lanes.iter().map(|&lane| lane as i32).collect::<Vec<_>>();
    check("add.u32", &|lanes| lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane)));
    check("add.s32", &|lanes| lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane)));
    check("min.u32", &|lanes| lanes.iter().copied().min().unwrap_or(0));
    check("max.u32", &|lanes| lanes.iter().copied().max().unwrap_or(0));
    check("min.s32", &|lanes| signed(lanes).into_iter().min().unwrap_or(0) as u32);
    check("max.s32", &|lanes| signed(lanes).into_iter().max().unwrap_or(0) as u32);
    check("and.b32", &|lanes| lanes.iter().fold(u32::MAX, |all, lane| all & lane));
    check("or.b32", &|lanes| lanes.iter().fold(0, |all, lane| all | lane));
    check("xor.b32", &|lanes| lanes.iter().fold(0, |all, lane| all ^ lane));
}

/// Operations on two halves of words compute what the operations on each half do, which have tests of their own.
#[test]
fn operations_on_both_halves() {
    let operands = [numbers(4), numbers(5), numbers(6)];
    let halves = "{.reg .b16 %h<8>;\nmov.b32 {%h1, %h2}, %r1;\nmov.b32 {%h3, %h4}, %r2;\nmov.b32 {%h5, %h6}, %r3;\n";
    let check = |together: &str, low: &str, high: &str| {
        let found = results(together, &operands);
        let expected = results(&format!("{halves}{low}\n{high}\nmov.b32 %r4, {{%h1, %h2}};}}"), &operands);
        assert_eq!(found, expected, "`{together}`");
        assert!(found.iter().any(|result| *result != found[0]), "`{together}` computes something");
    };
    for operation in ["add", "add.rn.ftz", "add.sat", "sub.rn", "mul", "mul.ftz.sat", "min", "max.ftz"] {
        check(
            &format!("{operation}.f16x2 %r4, %r1, %r2;"),
            &format!("{operation}.f16 %h1, %h1, %h3;"),
            &format!("{operation}.f16 %h2, %h2, %h4;"),
        );
    }
    for operation in ["neg", "abs.ftz"] {
        check(
            &format!("{operation}.f16x2 %r4, %r1;"),
            &format!("{operation}.f16 %h1, %h1;"),
            &format!("{operation}.f16 %h2, %h2;"),
        );
    }
    check("fma.rn.f16x2 %r4, %r1, %r2, %r3;", "fma.rn.f16 %h1, %h1, %h3, %h5;", "fma.rn.f16 %h2, %h2, %h4, %h6;");
    // 0 in place of what is negative, and a NaN stays one.
    check(
        "fma.rn.relu.f16x2 %r4, %r1, %r2, %r3;",
        "fma.rn.f16 %h1, %h1, %h3, %h5;\nmov.b16 %h7, 0;\nsetp.gtu.f16 %p1, %h1, %h7;\n@!%p1 mov.b16 %h1, 0;",
        "fma.rn.f16 %h2, %h2, %h4, %h6;\nsetp.gtu.f16 %p1, %h2, %h7;\n@!%p1 mov.b16 %h2, 0;",
    );
    check(
        "{.reg .b16 %g<3>;\nmov.b32 {%g1, %g2}, %r1;\nfma.rn.relu.f16 %g1, %g1, %g1, %g2;\nmov.b32 %r4, {%g1, %g2};}",
        "fma.rn.f16 %h1, %h1, %h1, %h2;\nmov.b16 %h7, 0;\nsetp.gtu.f16 %p1, %h1, %h7;\n@!%p1 mov.b16 %h1, 0;",
        "",
    );
    for which in ["min", "max"] {
        let half = |own: &str, other: &str| {
            format!(
                "setp.nan.f16 %p1, {own}, {other};\n{which}.f16 {own}, {own}, {other};\n@%p1 mov.b16 {own}, 0x7fff;"
            )
        };
        check(&format!("{which}.NaN.f16x2 %r4, %r1, %r2;"), &half("%h1", "%h3"), &half("%h2", "%h4"));
    }
    for (result, yes) in [("f16x2", "0x3c00"), ("u32", "0xffff"), ("s32", "0xffff")] {
        check(
            &format!("set.lt.{result}.f16x2 %r4, %r1, %r2;"),
            &format!("setp.lt.f16 %p1, %h1, %h3;\nselp.b16 %h1, {yes}, 0, %p1;"),
            &format!("setp.lt.f16 %p1, %h2, %h4;\nselp.b16 %h2, {yes}, 0, %p1;"),
        );
    }
    // A constant has two halves as well: 2.0 above 1.0.
    check(
        "mul.f16x2 %r4, %r1, 0x40003c00;",
        "mov.b16 %h7, 0x3c00;\nmul.f16 %h1, %h1, %h7;",
        "mov.b16 %h7, 0x4000;\nmul.f16 %h2, %h2, %h7;",
    );
    check(
        "mov.b32 %r4, 9;\nsetp.gt.u32 %p1, %r3, 255;\n@%p1 add.f16x2 %r4, %r1, %r2;",
        "setp.gt.u32 %p1, %r3, 255;\nadd.f16 %h1, %h1, %h3;\nadd.f16 %h2, %h2, %h4;\n@!%p1 mov.b16 %h1, 9;",
        "@!%p1 mov.b16 %h2, 0;",
    );
    // What the source's halves were is read before either is written.
    check("add.f16x2 %r1, %r1, %r1;\nmov.b32 %r4, %r1;", "add.f16 %h1, %h1, %h1;", "add.f16 %h2, %h2, %h2;");
    check(
        "setp.lt.f16x2 %p1|%p2, %r1, %r2;\nselp.b32 %r5, 1, 0, %p1;\nselp.b32 %r6, 2, 0, %p2;\nadd.u32 %r4, %r5, %r6;",
        "setp.lt.f16 %p1, %h1, %h3;\nsetp.lt.f16 %p2, %h2, %h4;\nselp.b16 %h1, 1, 0, %p1;\nselp.b16 %h7, 2, 0, %p2;",
        "add.u16 %h1, %h1, %h7;\nmov.b16 %h2, 0;",
    );
    check(
        "setp.ne.u32 %p1, %r3, 0;\nsetp.neu.and.f16x2 _|%p1, %r1, %r2, !%p1;\nselp.b32 %r4, 1, 0, %p1;",
        "setp.ne.u32 %p1, %r3, 0;\nsetp.neu.and.f16 %p1, %h2, %h4, !%p1;\nselp.b16 %h1, 1, 0, %p1;",
        "mov.b16 %h2, 0;",
    );
    check("cvt.rn.f16x2.f32 %r4, %r1, %r2;", "cvt.rn.f16.f32 %h1, %r2;", "cvt.rn.f16.f32 %h2, %r1;");
}

#[test]
fn kinds_of_floats() {
    let check = |what: &str, is_so: fn(f32) -> bool| {
        let lines = format!("{{.reg .f32 %f;\nmov.b32 %f, %r1;\ntestp.{what}.f32 %p1, %f;\nselp.u32 %r4, 1, 0, %p1;}}");
        check(&lines, |a, _, _| u32::from(is_so(f32::from_bits(a))));
    };
    check("finite", f32::is_finite);
    check("infinite", f32::is_infinite);
    check("number", |a| !a.is_nan());
    check("notanumber", f32::is_nan);
    check("normal", |a| a.is_normal() || a == 0.0);
    check("subnormal", f32::is_subnormal);
    // Of doubles, each number stands above the other in one word.
    let check = |what: &str, is_so: fn(f64) -> bool| {
        let lines =
            format!("{{.reg .f64 %f;\nmov.b64 %f, %rd3;\ntestp.{what}.f64 %p1, %f;\nselp.u32 %r4, 1, 0, %p1;}}");
        self::check(&lines, |a, b, _| u32::from(is_so(f64::from_bits(u64::from(b) << 32 | u64::from(a)))));
    };
    check("normal", |a| a.is_normal() || a == 0.0);
    check("subnormal", f64::is_subnormal);
}

/// `printf` and `assert`, as nvcc writes them: what the driver would do is not done, and the rest of the kernel is.
#[test]
fn what_the_driver_defines_is_left_out() {
    let operands = [numbers(1), numbers(2), numbers(3)];
    let printing = "{ .param .b64 param0;\nst.param.b64 [param0+0], %rd9;\n.param .b64 param1;\n\
                    st.param.b64 [param1+0], %rd9;\n.param .b32 retval0;\n\
                    call.uni (retval0), vprintf, (param0, param1);\nld.param.b32 %r5, [retval0+0]; }";
    let (found, messages) = results_and_messages(&format!("{printing}\nadd.u32 %r4, %r1, %r5;"), &operands);
    assert_eq!(messages, ["`printf` is dropped: its output is not shown"]);
    assert_eq!(found, operands[0]);
    let guarded = printing.replace("call.uni", "@%p1 call.uni").replace("ld.param", "@%p1 ld.param");
    let source = format!("mov.u32 %r5, 3;\nsetp.lt.u32 %p1, %r2, 9;\n{guarded}\nmov.u32 %r4, %r5;");
    let (found, _) = results_and_messages(&source, &operands);
    assert_eq!(found, operands[1].iter().map(|&b| if b < 9 { 0 } else { 3 }).collect::<Vec<_>>());
    let failing = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra HOLDS;\n{ .param .b64 param0;\nst.param.b64 [param0+0], %rd9;\n\
                   call.uni __assertfail, (param0); }\nHOLDS: mov.u32 %r4, 7;";
    let (found, messages) = results_and_messages(failing, &operands);
    assert_eq!(messages, ["a failing assertion only ends its thread in the simulator"]);
    assert_eq!(found, operands[0].iter().map(|&a| if a < 32 { 7 } else { 0 }).collect::<Vec<_>>());
}

/// All that are compared on a GPU are read without an error, and are computed.
#[test]
fn all_that_are_listed_load() {
    let operands = [numbers(1), numbers(2), numbers(3)];
    for expansion in expansions::all() {
        results_and_messages(&expansion.lines, &operands);
    }
}

#[test]
fn products_of_halves_of_words_and_bytes() {
    let halves = |a: u32, is_signed: bool| {
        [a as u16, (a >> 16) as u16].map(|half| if is_signed { i64::from(half as i16) } else { half.into() })
    };
    let bytes = |a: u32, is_signed: bool| {
        a.to_le_bytes().map(|byte| if is_signed { i64::from(byte as i8) } else { byte.into() })
    };
    for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
        let types = [first, second].map(|is_signed| if is_signed { "s32" } else { "u32" }).join(".");
        for (half, from) in [("lo", 0), ("hi", 2)] {
            check(&format!("dp2a.{half}.{types} %r4, %r1, %r2, %r3;"), |a, b, c| {
                let (a, b) = (halves(a, first), &bytes(b, second)[from..]);
                ((a[0] * b[0] + a[1] * b[1]) as u32).wrapping_add(c)
            });
        }
    }
}

#[test]
fn numbers_that_are_made_to_fit() {
    let nearest = |a: u32, least: i32, most: i32| (a as i32).clamp(least, most) as u32;
    check("cvt.pack.sat.s16.s32 %r4, %r1, %r2;", |a, b, _| {
        nearest(a, -0x8000, 0x7fff) << 16 | nearest(b, -0x8000, 0x7fff) & 0xffff
    });
    check("cvt.pack.sat.u16.s32 %r4, %r1, %r2;", |a, b, _| nearest(a, 0, 0xffff) << 16 | nearest(b, 0, 0xffff));
    check("cvt.pack.sat.s8.s32.b32 %r4, %r1, %r2, %r3;", |a, b, c| {
        c << 16 | (nearest(a, -0x80, 0x7f) & 0xff) << 8 | nearest(b, -0x80, 0x7f) & 0xff
    });
    check("cvt.pack.sat.u8.s32.b32 %r4, %r1, %r2, %r3;", |a, b, c| {
        c << 16 | nearest(a, 0, 0xff) << 8 | nearest(b, 0, 0xff)
    });
    check("min.s32.relu %r4, %r1, %r2;", |a, b, _| (a as i32).min(b as i32).max(0) as u32);
    check("max.s32.relu %r4, %r1, %r2;", |a, b, _| (a as i32).max(b as i32).max(0) as u32);
    let floats = "{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n";
    check(&format!("{floats}min.NaN.f32 %f1, %f1, %f2;\nmov.b32 %r4, %f1;}}"), |a, b, _| {
        let [a, b] = [a, b].map(f32::from_bits);
        // Of two zeros the one with a sign is less.
        let least = if a < b || a == b && a.is_sign_negative() { a } else { b };
        if a.is_nan() || b.is_nan() { 0x7fff_ffff } else { least.to_bits() }
    });
}

#[test]
fn approximate_functions() {
    let operands = [numbers(1), numbers(2), numbers(3)];
    let as_float = |bits: u32| f64::from(f32::from_bits(bits));
    // From 2^-32 to 2^32 in size, and any float at all.
    for (before, number) in [
        ("cvt.rn.f32.s32 %f1, %r1;", &|a: u32| f64::from(a as i32)),
        ("cvt.rn.f32.s32 %f1, %r1;\nmul.rn.f32 %f1, %f1, 0f2F800000;", &|a: u32| {
            f64::from(a as i32) * 2.0_f64.powi(-32)
        }),
        ("mov.b32 %f1, %r1;", &as_float),
    ] as [(&str, &dyn Fn(u32) -> f64); 3]
    {
        let lines = format!("{{.reg .f32 %f<3>;\n{before}\ntanh.approx.f32 %f2, %f1;\nmov.b32 %r4, %f2;}}");
        for (&operand, found) in operands[0].iter().zip(results(&lines, &operands)) {
            let (exact, found) = (number(operand).tanh(), as_float(found));
            // A float may be rounded on the way to where it is given, and below the least normal one.
            let error = exact.abs() * 2.0_f64.powi(-15) + f64::from(f32::MIN_POSITIVE);
            assert!(
                (found - exact).abs() <= error || found.is_nan() && exact.is_nan(),
                "{before} {operand:#x}: {found}"
            );
        }
    }
    // Of halves: of all numbers within what the tested ones have, the nearest to what floats give.
    for (function, of_floats) in [("ex2", "ex2.approx.f32"), ("tanh", "tanh.approx.f32")] {
        let found = results(&format!("{function}.approx.f16x2 %r4, %r1;"), &operands);
        let each = format!(
            "{{.reg .b16 %h<3>;\n.reg .f32 %f<3>;\nmov.b32 {{%h1, %h2}}, %r1;\ncvt.f32.f16 %f1, %h1;\n\
             cvt.f32.f16 %f2, %h2;\n{of_floats} %f1, %f1;\n{of_floats} %f2, %f2;\ncvt.rn.f16.f32 %h1, %f1;\n\
             cvt.rn.f16.f32 %h2, %f2;\nmov.b32 %r4, {{%h1, %h2}};}}"
        );
        assert_eq!(found, results(&each, &operands), "{function}");
    }
}

/// `set` of every destination type, with each of its comparisons: all ones, or 1.0 in the format of a float.
#[test]
fn set_writes_every_destination_type() {
    type Order = fn(i32, i32) -> bool;
    let orders: [(&str, Order); 6] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ];
    let results = [
        ("u32", "mov.b32 %r4, %d32;", u32::MAX),
        ("s32", "mov.b32 %r4, %d32;", u32::MAX),
        ("f32", "mov.b32 %r4, %d32;", 1.0_f32.to_bits()),
        ("f16", "cvt.u32.u16 %r4, %d16;", 0x3C00),
        ("bf16", "cvt.u32.u16 %r4, %d16;", 0x3F80),
    ];
    for (result, convert, yes) in results {
        let dst = if convert.contains("%d16") { "%d16" } else { "%d32" };
        for (cmp, holds) in orders {
            let lines =
                format!("{{ .reg .b16 %d16; .reg .b32 %d32;\nset.{cmp}.{result}.s32 {dst}, %r1, %r2;\n{convert} }}");
            check(&lines, |a, b, _| if holds(a as i32, b as i32) { yes } else { 0 });
        }
    }
    // Halves compare in all fourteen ways, and give 16-bit results too.
    let halves = [("u16", 0xFFFF), ("s16", 0xFFFF), ("f16", 0x3C00), ("u32", u32::MAX), ("s32", u32::MAX)];
    for cmp in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
        for (result, yes) in halves {
            let (dst, convert) = if result.ends_with("16") {
                ("%d16", "cvt.u32.u16 %r4, %d16;")
            } else {
                ("%d32", "mov.b32 %r4, %d32;")
            };
            let lines = format!(
                "{{ .reg .b16 %d16, %a, %b; .reg .b32 %d32;\ncvt.u16.u32 %a, %r1;\ncvt.u16.u32 %b, %r2;\n\
                 set.{cmp}.{result}.f16 {dst}, %a, %b;\n{convert} }}"
            );
            check(&lines, |a, b, _| {
                let (a, b) = (half(a as u16), half(b as u16));
                let is_unordered = a.is_nan() || b.is_nan();
                let holds = match cmp.trim_end_matches('u') {
                    "eq" => a == b,
                    "ne" => !is_unordered && a != b,
                    "lt" => a < b,
                    "le" => a <= b,
                    "gt" => a > b,
                    "ge" => a >= b,
                    "num" | "n" => !is_unordered,
                    _ => is_unordered,
                };
                if holds || cmp.ends_with('u') && is_unordered { yes } else { 0 }
            });
        }
    }
}

/// The value of a half.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

/// Choices, differences, negations and bit positions in every width of their destination.
#[test]
fn expansions_write_every_width() {
    let widened = |ty: &str| match &ty[1..] {
        "16" => ("%x16", "cvt.u16.u32", "cvt.u32.u16 %r4, %x16;"),
        "64" => ("%x64", "cvt.u64.u32", "cvt.u32.u64 %r4, %x64;"),
        _ => ("%x32", "mov.b32", "mov.b32 %r4, %x32;"),
    };
    let check_in = |ty: &str, instruction: &str, reference: &dyn Fn(u32, u32, u32) -> u32| {
        let (dst, widen, narrow) = widened(ty);
        let letter = &dst[1..];
        let operands: String = (1..=3).map(|k| format!("{widen} %{letter}_{k}, %r{k};\n")).collect::<String>();
        let names: String = (1..=3).map(|k| format!(", %{letter}_{k}")).collect();
        let bits = &ty[1..];
        let instruction = instruction.replace('D', dst).replace('A', &format!("%{letter}_1"));
        let instruction = instruction.replace('B', &format!("%{letter}_2")).replace('C', &format!("%{letter}_3"));
        let lines = format!("{{ .reg .b{bits} {dst}{names};\n{operands}{instruction}\n{narrow} }}");
        check(&lines, reference);
    };
    let mask = |bits: &str| if bits == "16" { 0xFFFF } else { u32::MAX };
    for ty in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        let own = mask(&ty[1..]);
        check_in(ty, &format!("slct.{ty}.s32 D, A, B, %r3;"), &|a, b, c| if c as i32 >= 0 { a & own } else { b & own });
        check_in(ty, &format!("slct.{ty}.f32 D, A, B, %r3;"), &|a, b, c| {
            if f32::from_bits(c) >= 0.0 { a & own } else { b & own }
        });
    }
    for ty in ["b16", "b32", "b64"] {
        let own = mask(&ty[1..]);
        check_in(ty, &format!("cnot.{ty} D, A;"), &|a, _, _| u32::from(a & own == 0));
    }
    check_in("u16", "sad.u16 D, A, B, C;", &|a, b, c| u32::from((a as u16).abs_diff(b as u16).wrapping_add(c as u16)));
    check_in("s16", "sad.s16 D, A, B, C;", &|a, b, c| u32::from((a as i16).abs_diff(b as i16).wrapping_add(c as u16)));
    for ty in ["u32", "u64"] {
        check_in(ty, &format!("sad.{ty} D, A, B, C;"), &|a, b, c| a.abs_diff(b).wrapping_add(c));
    }
    check_in("s32", "sad.s32 D, A, B, C;", &|a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c));
}

/// The flag that a subtraction leaves is the carry of a + ~b + 1 where an addition reads it, and a
/// subtraction reads the carry of an addition so: expectations from the sums that hardware makes.
#[test]
fn carries_between_subtractions_and_additions() {
    let sum = |a: u32, b: u32, carry: bool| u64::from(a) + u64::from(b) + u64::from(carry);
    let carries = |a, b, carry| sum(a, b, carry) > u64::from(u32::MAX);
    check("sub.cc.u32 %r5, %r1, %r2;\naddc.u32 %r4, %r3, 0;", |a, b, c| c.wrapping_add(carries(a, !b, true).into()));
    check("add.cc.u32 %r5, %r1, %r2;\nsubc.u32 %r4, %r3, 0;", |a, b, c| sum(c, !0, carries(a, b, false)) as u32);
    check("sub.cc.u32 %r5, %r1, %r2;\nmadc.lo.u32 %r4, %r3, 3, %r1;", |a, b, c| {
        c.wrapping_mul(3).wrapping_add(a).wrapping_add(carries(a, !b, true).into())
    });
    // A chain through both kinds.
    check(
        "add.cc.u32 %r5, %r1, %r2;\nsubc.cc.u32 %r5, %r2, %r3;\naddc.cc.u32 %r5, %r1, %r3;\nsubc.u32 %r4, 9, 2;",
        |a, b, c| {
            let first = carries(a, b, false);
            let second = carries(b, !c, first);
            let third = carries(a, c, second);
            sum(9, !2, third) as u32
        },
    );
    // The flag is what the path or the lane has left in it.
    let on_a_path =
        "setp.lt.u32 %p1, %r3, 256;\nadd.cc.u32 %r5, %r1, %r2;\n@%p1 bra $L1;\nsub.cc.u32 %r5, %r1, %r2;\n$L1:\n";
    let by_lane = "setp.lt.u32 %p1, %r3, 256;\nsub.cc.u32 %r5, %r1, %r2;\n@%p1 add.cc.u32 %r5, %r1, %r2;\n";
    for flag in [on_a_path, by_lane] {
        let left = |a, b: u32, c| if c < 256 { carries(a, b, false) } else { carries(a, !b, true) };
        check(&format!("{flag}addc.u32 %r4, 0, 0;"), |a, b, c| left(a, b, c).into());
        check(&format!("{flag}subc.u32 %r4, 0, 0;"), |a, b, c| sum(0, !0, left(a, b, c)) as u32);
    }
    // Chains of one kind are what they were.
    check("sub.cc.u32 %r5, %r1, %r2;\nsubc.u32 %r4, %r3, 0;", |a, b, c| c.wrapping_sub(u32::from(a < b)));
    check("add.cc.u32 %r5, %r1, %r2;\naddc.u32 %r4, %r3, 0;", |a, b, c| c.wrapping_add(carries(a, b, false).into()));
}
