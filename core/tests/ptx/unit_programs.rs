//! One instruction, its inputs and the output that the PTX ISA says: what was refused once, and what was kept aside.

use super::examples::simulated;
use super::expansions::{check, check_on, results_and_messages};
use warpscope_core::ir::{Launch, Module, Op};
use warpscope_core::load::{Dialect, load};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::ptx::{export, import};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{ErrorKind, Settings, Simulation};
use warpscope_core::text;
use warpscope_testkit::expansions::{THREADS, numbers};

/// The one NaN of `f32`.
const NAN: u32 = 0x7fff_ffff;

/// Floats at which conversions and sums change what they do.
fn floats(column: usize) -> Vec<u32> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        447.9,
        448.0,
        464.0,
        480.1,
        57344.0,
        61440.0,
        65519.0,
        65520.0,
        1e30,
        -1e30,
        0.015625,
        0.013671875,
        0.0009765625,
        0.001953125,
        0.0029296875,
        -0.0029296875,
        1.0625,
        1.1875,
        6.1035156e-5,
        7.6e-6,
        2.2e-5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
    ];
    let drawn = numbers(column as u64 + 7);
    (0..THREADS)
        .map(|thread| match thread % 2 {
            0 => f32::to_bits(edges[(thread / 2 + 5 * column) % edges.len()]),
            // Around 1, with every exponent that matters to 8 bits.
            _ => drawn[thread] & 0x807f_ffff | (100 + drawn[thread] % 50) << 23,
        })
        .collect()
}

fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

pub(super) fn module(body: &str) -> Module {
    let source = format!(".version 8.6\n.target sm_100a\n.address_size 64\n{body}");
    let parsed = import(&source);
    let errors: Vec<_> = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{body}");
    parsed.module
}

pub(super) fn launch(text: &str) -> Launch {
    let parsed = text::parse(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.module.launches[0].clone()
}

/// The words of the only buffer after a launch of `k` with 32 threads.
pub(super) fn words(module: &Module, count: usize) -> Vec<u32> {
    let launch = launch(&format!("launch k {{\n    block 32\n    #0 = buffer u32[{count}] iota\n}}\n"));
    simulated(module, &launch)[0].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// Why a launch of `k` with one thread ends.
pub(super) fn failure(module: &Module) -> (ErrorKind, String) {
    let launch = launch("launch k {\n    #0 = buffer u32[4] iota\n}\n");
    let kernel = module.func_by_name("k").expect("the kernel");
    let run: Result<Simulation, _> = Simulation::new(module, kernel, &launch, &Settings::default(), Machine::Ampere);
    let error = match run {
        Ok(mut run) => run.run(1000).expect_err("a launch that fails"),
        Err(error) => error,
    };
    (error.kind, error.message)
}

#[test]
fn constant_expressions_follow_c() {
    let expressions: [(&str, u32); 14] = [
        ("(3+4*2)<<1", 22),
        ("0xF0 & ~0x30", 0xc0),
        ("5 > 3 ? 10 : 20", 10),
        ("5 < 3 ? 10 : 4 == 4 ? 7 : 8", 7),
        ("-7 / 2", (-3_i32) as u32),
        ("-7 % 3", (-1_i32) as u32),
        ("(1 << 40) >> 38", 4),
        ("(.u64)-1 > 0", 1),
        ("-1 > 0", 0),
        ("0xFFFFFFFFFFFFFFFFU / 2 >> 32", 0x7fff_ffff),
        ("1 | 6 ^ 2 & 3", 5),
        ("!0 + !5", 1),
        ("2 && 0 || 3", 1),
        ("10 - 2 - 3", 5),
    ];
    for (text, value) in expressions {
        check(&format!("mov.u32 %r4, {text};"), |_, _, _| value);
    }
    check("add.u32 %r4, %r1, 2*3;", |a, _, _| a.wrapping_add(6));
}

#[test]
fn lop3_tests_its_result() {
    check(
        "setp.lt.u32 %p1, %r3, 100;\nlop3.or.b32 %r5|%p2, %r1, %r2, %r3, 0x80, %p1;\nselp.u32 %r4, 1, 0, %p2;",
        |a, b, c| u32::from(a & b & c != 0 || c < 100),
    );
    check(
        "setp.lt.u32 %p1, %r3, 100;\nlop3.and.b32 %r5|%p1, %r1, %r2, %r3, 0x96, %p1;\nselp.u32 %r4, %r5, 7, %p1;",
        |a, b, c| {
            if a ^ b ^ c != 0 && c < 100 { a ^ b ^ c } else { 7 }
        },
    );
    check(
        "setp.lt.u32 %p1, %r3, 100;\nlop3.and.b32 _|%p2, %r1, %r2, %r3, 0x1b, !%p1;\nselp.u32 %r4, 1, 0, %p2;",
        |a, b, c| {
            let word = (!a & !b & !c) | (!a & !b & c) | (!a & b & c) | (a & !b & !c);
            u32::from(word != 0 && c >= 100)
        },
    );
}

#[test]
fn mad24_takes_the_high_bits() {
    let low = |a: u32| u64::from(a & 0x00ff_ffff);
    let signed = |a: u32| i64::from((a << 8) as i32 >> 8);
    check("mad24.hi.u32 %r4, %r1, %r2, %r3;", |a, b, c| (((low(a) * low(b)) >> 16) as u32).wrapping_add(c));
    check("mad24.hi.s32 %r4, %r1, %r2, %r3;", |a, b, c| (((signed(a) * signed(b)) >> 16) as u32).wrapping_add(c));
    check("mad24.hi.sat.s32 %r4, %r1, %r2, %r3;", |a, b, c| {
        ((signed(a) * signed(b)) >> 16).saturating_add(i64::from(c as i32)).clamp(i32::MIN.into(), i32::MAX.into())
            as u32
    });
}

#[test]
fn pairs_of_floats_are_computed_one_by_one() {
    let operands = [floats(0), floats(1), floats(2)];
    let low = "mov.b64 {%r4, %r5}, %rd5;";
    let high = "mov.b64 {%r5, %r4}, %rd5;";
    let float = f32::from_bits;
    let check = |lines: &str, reference: &dyn Fn(u32, u32, u32) -> u32| check_on(&operands, lines, reference);
    for (op, of) in [("add", (|a, b| a + b) as fn(f32, f32) -> f32), ("sub", |a, b| a - b), ("mul", |a, b| a * b)] {
        check(&format!("{op}.rn.f32x2 %rd5, %rd3, %rd4;\n{low}"), &|a, b, _| canonical(of(float(a), float(b))));
        check(&format!("{op}.rn.f32x2 %rd5, %rd3, %rd4;\n{high}"), &|_, b, c| canonical(of(float(b), float(c))));
    }
    check(&format!("fma.rn.f32x2 %rd5, %rd3, %rd4, %rd3;\n{low}"), &|a, b, _| {
        canonical(float(a).mul_add(float(b), float(a)))
    });
    check(&format!("mov.b64 %rd5, %rd3;\nadd.rn.f32x2 %rd5, %rd5, %rd5;\n{high}"), &|_, b, _| {
        canonical(float(b) + float(b))
    });
}

#[test]
fn minimum_and_maximum_of_three() {
    let operands = [floats(0), floats(1), floats(2)];
    let names = "{.reg .f32 %f<5>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmov.b32 %f3, %r3;\n";
    let numbers = |values: [u32; 3]| values.map(f32::from_bits).into_iter().filter(|value| !value.is_nan());
    // Of the zeros -0 is the lesser one.
    let order = |value: &f32| (value.to_bits() as i32 >> 31) as u32 >> 1 ^ value.to_bits();
    check_on(&operands, &format!("{names}max.f32 %f4, %f1, %f2, %f3;\nmov.b32 %r4, %f4;}}"), |a, b, c| {
        numbers([a, b, c]).max_by_key(|value| order(value) as i32).map_or(NAN, f32::to_bits)
    });
    check_on(&operands, &format!("{names}min.f32 %f4, %f1, %f2, %f3;\nmov.b32 %r4, %f4;}}"), |a, b, c| {
        numbers([a, b, c]).min_by_key(|value| order(value) as i32).map_or(NAN, f32::to_bits)
    });
    check_on(&operands, &format!("{names}max.NaN.f32 %f4, %f1, %f2, %f3;\nmov.b32 %r4, %f4;}}"), |a, b, c| {
        let is_nan = [a, b, c].iter().any(|&bits| f32::from_bits(bits).is_nan());
        let greatest = numbers([a, b, c]).max_by_key(|value| order(value) as i32);
        greatest.filter(|_| !is_nan).map_or(NAN, f32::to_bits)
    });
}

/// The size of a float of 8 bits.
fn small(bits: u32, fraction: u32, bias: i32) -> f64 {
    let (exponent, mantissa) = ((bits >> fraction) as i32, f64::from(bits & ((1 << fraction) - 1)));
    let scale = f64::from(1_u32 << fraction);
    match exponent {
        0 => mantissa / scale * 2_f64.powi(1 - bias),
        _ => (1.0 + mantissa / scale) * 2_f64.powi(exponent - bias),
    }
}

/// The nearest float of 8 bits, by comparing with all of them.
fn nearest(bits: u32, fraction: u32, bias: i32, greatest: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return 0x7f;
    }
    let size = f64::from(value.abs());
    let distance = |candidate: &u32| (small(*candidate, fraction, bias) - size).abs();
    let best = (0..=greatest)
        .min_by(|a, b| distance(a).partial_cmp(&distance(b)).expect("no NaN").then((a & 1).cmp(&(b & 1))));
    let best = if size > small(greatest, fraction, bias) { Some(greatest) } else { best };
    best.expect("some are there") | bits >> 24 & 0x80
}

#[test]
fn floats_of_8_bits_are_the_nearest() {
    let operands = [floats(0), floats(1), floats(2)];
    let names = "{.reg .b16 %h;\n.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n";
    for (name, fraction, bias, greatest) in [("e4m3x2", 3, 7, 0x7e), ("e5m2x2", 2, 15, 0x7b)] {
        let lines =
            |relu: &str| format!("{names}cvt.rn.satfinite{relu}.{name}.f32 %h, %f1, %f2;\ncvt.u32.u16 %r4, %h;}}");
        let small = |bits: u32| nearest(bits, fraction, bias, greatest);
        check_on(&operands, &lines(""), |a, b, _| small(a) << 8 | small(b));
        let above = |bits: u32| if small(bits) & 0x80 == 0 { small(bits) } else { 0 };
        check_on(&operands, &lines(".relu"), |a, b, _| above(a) << 8 | above(b));
    }
}

#[test]
fn floats_of_8_bits_become_halves() {
    // Every one of them, low and high.
    let all: Vec<u32> = (0..THREADS as u32).map(|bits| bits | (255 - bits) << 8).collect();
    let operands = [all, numbers(2), numbers(3)];
    for (name, fraction, bias, last) in [("e4m3x2", 3, 7, 0x7e), ("e5m2x2", 2, 15, 0x7c)] {
        // Through floats, whose halves are exact.
        let lines = format!(
            "{{.reg .b16 %h, %l, %u;\n.reg .f32 %f;\ncvt.u16.u32 %h, %r1;\ncvt.rn.f16x2.{name} %r5, %h;\n\
             mov.b32 {{%l, %u}}, %r5;\ncvt.f32.f16 %f, %l;\nmov.b32 %r4, %f;}}"
        );
        check_on(&operands, &lines, |a, _, _| {
            let (size, sign) = (a & 0x7f, if a & 0x80 == 0 { 1.0 } else { -1.0 });
            match size {
                _ if size > last => NAN,
                0x7c if bias == 15 => (sign as f32 * f32::INFINITY).to_bits(),
                _ => ((sign * small(size, fraction, bias)) as f32).to_bits(),
            }
        });
    }
}

#[test]
fn floats_of_19_bits_are_rounded() {
    let operands = [floats(0), floats(1), floats(2)];
    let lines = |words: &str| format!("{{.reg .f32 %f;\nmov.b32 %f, %r1;\ncvt.{words}.tf32.f32 %r4, %f;}}");
    let is_nan = |a: u32| f32::from_bits(a).is_nan();
    check_on(&operands, &lines("rna"), |a, _, _| if is_nan(a) { NAN } else { (a + 0x1000) & !0x1fff });
    check_on(&operands, &lines("rz"), |a, _, _| if is_nan(a) { NAN } else { a & !0x1fff });
    check_on(&operands, &lines("rn"), |a, _, _| match (is_nan(a), a & 0x1fff) {
        (true, _) => NAN,
        (_, 0x1000) => (a + (a & 0x2000) / 2) & !0x1fff,
        (_, rest) => (a & !0x1fff) + if rest > 0x1000 { 0x2000 } else { 0 },
    });
    check_on(&operands, &lines("rn.relu"), |a, _, _| match (is_nan(a), a >> 31, a & 0x1fff) {
        (true, ..) => NAN,
        (_, 1, _) => 0,
        (.., 0x1000) => (a + (a & 0x2000) / 2) & !0x1fff,
        (.., rest) => (a & !0x1fff) + if rest > 0x1000 { 0x2000 } else { 0 },
    });
}

#[test]
fn conversions_clamp_below_zero_and_above_the_greatest() {
    let operands = [floats(0), floats(1), floats(2)];
    for (ty, greatest) in [("f16x2", 0x7bff), ("bf16x2", 0x7f7f)] {
        let lines = |words: &str| {
            format!("{{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\ncvt.rn{words}.{ty}.f32 %r4, %f1, %f2;}}")
        };
        let (plain, _) = results_and_messages(&lines(""), &operands);
        let each = |of: &dyn Fn(u32) -> u32| -> Vec<u32> {
            plain.iter().map(|&word| of(word >> 16) << 16 | of(word & 0xffff)).collect()
        };
        let infinity = if ty == "f16x2" { 0x7c00 } else { 0x7f80 };
        let relu = |half: u32| if half & 0x8000 != 0 { 0 } else { half };
        let finite = |half: u32| if half & 0x7fff == infinity { half & 0x8000 | greatest } else { half };
        assert_eq!(results_and_messages(&lines(".relu"), &operands).0, each(&relu), "{ty}");
        assert_eq!(results_and_messages(&lines(".satfinite"), &operands).0, each(&finite), "{ty}");
        assert_eq!(
            results_and_messages(&lines(".relu.satfinite"), &operands).0,
            each(&|half| relu(finite(half))),
            "{ty}"
        );
    }
}

#[test]
fn vectors_of_eight_are_loaded_and_stored() {
    let lines = "ld.param.u64 %rd1, [k0_p1];\nld.global.v8.b32 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, \
                 [%rd1+32];\n\
                 {.local .align 32 .b32 l[8];\n\
                 st.local.v8.b32 [l], {%r17, %r16, %r15, %r14, %r13, %r12, %r11, %r10};\nld.local.u32 %r4, [l+4];}";
    let operands = [numbers(1), numbers(2), numbers(3)];
    let (found, messages) = results_and_messages(lines, &operands);
    assert_eq!((found, messages), (vec![operands[0][14]; THREADS], vec![]));
}

/// Each of 32 threads adds 1 to the one and 2 to the other.
#[test]
fn atomics_of_vectors_add_each_element() {
    let kernel = |lines: &str| {
        module(&format!(
            ".visible .entry k(.param .u64 o)\n{{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<3>;\n\
             ld.param.u64 %rd1, [o];\nmov.u32 %r1, %laneid;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, \
             0f40000000;\n{lines}\n\
             ret;\n}}\n"
        ))
    };
    let halves = kernel("mov.b32 %r2, 0x40003C00;\nred.global.add.noftz.f16x2 [%rd1], %r2;");
    // 0x5000 is 32, 0x5400 is 64.
    assert_eq!(words(&halves, 1), [0x5400_5000]);
    let old = kernel(
        "mov.b32 %r2, 0x40003C00;\natom.global.add.noftz.f16x2 %r3, [%rd1], %r2;\nmul.wide.u32 %rd2, %r1, 4;\n\
         add.u64 %rd2, %rd1, %rd2;\nst.global.b32 [%rd2+4], %r3;",
    );
    let found = words(&old, 33);
    // Lane 0 found nothing, lane 1 what lane 0 had added.
    assert_eq!(found[..3], [0x5400_5000, 0, 0x4000_3c00]);
    let floats = kernel("red.global.v2.f32.add [%rd1+8], {%f1, %f2};");
    let found = words(&floats, 4);
    // The small numbers that were there before are nothing beside them.
    assert_eq!(found[2..], [32_f32.to_bits(), 64_f32.to_bits()]);
}

#[test]
fn one_lane_is_elected() {
    let kernel = module(
        ".visible .entry k(.param .u64 o)\n{\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n.reg .b64 %rd<3>;\n\
         ld.param.u64 %rd1, [o];\nmov.u32 %r1, %laneid;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\n\
         setp.lt.u32 %p1, %r1, 3;\n@%p1 bra OUT;\nelect.sync %r2|%p2, 0xfffffff8;\nselp.u32 %r3, 100, 0, %p2;\n\
         add.u32 %r3, %r3, %r2;\nst.global.u32 [%rd1], %r3;\nOUT:\nret;\n}\n",
    );
    let wanted: Vec<u32> = (0..32)
        .map(|lane| {
            if lane < 3 {
                lane
            } else if lane == 3 {
                103
            } else {
                3
            }
        })
        .collect();
    assert_eq!(words(&kernel, 32), wanted);
}

#[test]
fn spaces_of_addresses_are_told_apart() {
    let lines = |space: &str, of: &str| {
        format!(
            "{{.shared .b32 s;\n.local .b32 l;\n.reg .b64 %q<3>;\nmov.u64 %q1, {of};\n\
             {}isspacep.{space} %p1, %q1;\nselp.u32 %r4, 1, 0, %p1;}}",
            if of == "%rd2" {
                String::new()
            } else {
                format!("cvta.{}.u64 %q1, %q1;\n", if of == "s" { "shared" } else { "local" })
            }
        )
    };
    for (space, own) in [("shared", "s"), ("local", "l"), ("global", "%rd2")] {
        for of in ["s", "l", "%rd2"] {
            check(&lines(space, of), |_, _, _| u32::from(of == own));
        }
    }
}

#[test]
fn special_registers_have_the_models_values() {
    for (name, value) in [
        ("%reserved_smem_offset_0", 0),
        ("%reserved_smem_offset_1", 0),
        ("%reserved_smem_offset_begin", 0),
        ("%reserved_smem_offset_end", 0),
        ("%reserved_smem_offset_cap", 0),
        ("%envreg0", 0),
        ("%envreg31", 0),
        ("%smid", 0),
        ("%nsmid", 1),
        ("%nwarpid", 32),
    ] {
        check(&format!("mov.u32 %r4, {name};"), |_, _, _| value);
        check(&format!("mov.u32 %r4, 5;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 mov.u32 %r4, {name};"), |a, _, _| {
            if a < 9 { value } else { 5 }
        });
    }
    check("mov.u64 %rd5, %gridid;\ncvt.u32.u64 %r4, %rd5;", |_, _, _| 0);
    check("vote.uni.pred %p1, 1;\nselp.u32 %r4, 1, 0, %p1;", |_, _, _| 1);
}

#[test]
fn clocks_go_on_and_are_not_merged() {
    for (clock, ty) in [("clock", "u32"), ("clock64", "u64"), ("globaltimer", "u64"), ("globaltimer_lo", "u32")] {
        let bits = if ty == "u32" { "b32" } else { "b64" };
        let kernel = module(
            &format!(
                ".visible .entry k(.param .u64 o)\n{{\n.reg .{bits} %a, %b;\n.reg .b32 %r;\n.reg .b64 %rd1;\n\
             ld.param.u64 %rd1, [o];\nmov.{ty} %a, %{clock};\nmov.{ty} %b, %{clock};\nsub.{ty} %a, %b, %a;\n\
             cvt.u32.{ty} %r, %a;\nst.global.u32 [%rd1], %r;\nret;\n}}\n"
            )
            .replace("cvt.u32.u32", "mov.u32"),
        );
        assert!(words(&kernel, 1)[0] > 0, "{clock}");
        let optimised = after(&kernel, "@ptxas");
        let func = optimised.funcs.values().next().expect("the kernel");
        let reads = func.block_order().flat_map(|block| func.block_insts(block));
        assert_eq!(reads.filter(|&inst| func.insts[inst].opcode.op == Op::Read).count(), 2, "{clock}");
        assert_eq!(export(&optimised).text.matches(&format!("%{clock};")).count(), 2);
    }
}

/// A module after a pipeline.
pub(super) fn after(module: &Module, pipeline: &str) -> Module {
    let options = Options { steps: parse_pipeline(pipeline).expect("a pipeline"), ..Options::default() };
    Session::open(module.clone(), &options, &mut || 0).module().clone()
}

#[test]
fn a_trap_ends_the_launch() {
    let kernel = |lines: &str| {
        module(&format!(
            ".visible .entry k(.param .u64 o)\n{{\n.reg .pred %p;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [o];\n\
             setp.eq.u64 %p, %rd1, 0;\n{lines}\nst.global.u32 [%rd1], 9;\nret;\n}}\n"
        ))
    };
    let (kind, message) = failure(&kernel("trap;"));
    assert_eq!((kind, message.as_str()), (ErrorKind::Trap, "`trap` ends the launch"));
    assert_eq!(words(&kernel("@%p trap;\nbrkpt;"), 1), [9]);
}

/// The function that a register names is called; a number that is no function's traps.
#[test]
fn indirect_calls_go_to_the_function_that_is_meant() {
    let functions = ".global .align 8 .u64 table[2] = {plus, times};\n\
        .func (.param .b32 r) plus(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %x<3>;\nld.param.b32 %x1, [a];\n\
        ld.param.b32 %x2, [b];\nadd.u32 %x1, %x1, %x2;\nst.param.b32 [r], %x1;\nret;\n}\n\
        .func (.param .b32 r) times(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %x<3>;\nld.param.b32 %x1, [a];\n\
        ld.param.b32 %x2, [b];\nmul.lo.u32 %x1, %x1, %x2;\nst.param.b32 [r], %x1;\nret;\n}\n\
        .func (.param .b32 r) other(.param .b64 a)\n{\n.reg .b64 %x;\nmov.u64 %x, other;\nst.param.b32 [r], \
        1;\nret;\n}\n";
    let kernel = |pointer: &str| {
        module(&format!(
            "{functions}.visible .entry k(.param .u64 o)\n{{\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n.reg .pred %p;\n\
             ld.param.u64 %rd1, [o];\nmov.u32 %r1, %laneid;\n{pointer}\n\
             {{\n.param .b32 p0;\n.param .b32 p1;\n.param .b32 q;\nst.param.b32 [p0], %r1;\nst.param.b32 [p1], 5;\n\
             proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\ncall (q), %rd2, (p0, p1), \
             proto;\n\
             ld.param.b32 %r2, [q];\n}}\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd3, %rd1, %rd3;\n\
             st.global.u32 [%rd3], %r2;\nret;\n}}\n"
        ))
    };
    assert_eq!(words(&kernel("mov.u64 %rd2, times;"), 32), (0..32).map(|lane| lane * 5).collect::<Vec<_>>());
    let by_lane = "and.b32 %r3, %r1, 1;\nmul.wide.u32 %rd4, %r3, 8;\nmov.u64 %rd2, table;\nadd.u64 %rd4, %rd4, %rd2;\n\
                   ld.global.u64 %rd2, [%rd4];";
    let wanted: Vec<u32> = (0..32).map(|lane| if lane % 2 == 0 { lane + 5 } else { lane * 5 }).collect();
    let module = kernel(by_lane);
    assert_eq!(words(&module, 32), wanted);
    assert_eq!(words(&after(&module, "@ptxas"), 32), wanted);
    // `other` takes something else.
    for pointer in ["mov.u64 %rd2, other;", "mov.u64 %rd2, 0;", "mov.u64 %rd2, 99;"] {
        assert_eq!(failure(&kernel(pointer)).0, ErrorKind::Trap, "{pointer}");
    }
}

#[test]
fn pointers_are_initial_values() {
    let kernel = module(
        ".global .align 4 .u32 table[4] = {3, 9, 27, (1+2)*27};\n.global .align 8 .u64 a[3] = {generic(table)+4, \
         table+8, 0};\n\
         .global .align 8 .u64 b = a+8;\n.visible .entry k(.param .u64 o)\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n\
         ld.param.u64 %rd1, [o];\nld.global.u64 %rd2, [a];\nld.u32 %r1, [%rd2];\nst.global.u32 [%rd1], %r1;\n\
         ld.global.u64 %rd3, [b];\nld.u64 %rd3, [%rd3];\nld.u32 %r2, [%rd3+4];\nst.global.u32 [%rd1+4], \
         %r2;\nret;\n}\n",
    );
    assert_eq!(words(&kernel, 2), [9, 81]);
    let text = text::print(&kernel);
    assert!(text.contains("global a: u64[3] = { table + 4, table + 8, 0 }"), "{text}");
    let parsed = text::parse(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert_eq!(text::print(&parsed.module), text);
    // As it was read; from a text, which says no more than what is meant, with generic addresses.
    assert!(export(&kernel).text.contains("= {generic(table)+4, table+8, 0}"));
    assert!(export(&parsed.module).text.contains("= {generic(table)+4, generic(table)+8, 0}"));
}

/// A kernel with an instruction that has no meaning here, and another one.
fn kept(line: &str) -> Module {
    module(&format!(
        ".visible .entry k(.param .u64 o)\n{{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<20>;\n.reg .b64 \
         %rd<9>;\n\
         .reg .f32 %f<9>;\n.shared .align 128 .b8 sm[1024];\nld.param.u64 %rd1, [o];\nld.global.u32 %r1, [%rd1];\n\
         ld.global.u32 %r2, [%rd1];\nadd.u32 %r3, %r1, %r2;\nmov.u32 %r4, sm;\ncvt.u64.u32 %rd2, %r3;\nmov.f32 %f1, \
         0f3F800000;\n\
         setp.lt.u32 %p1, %r3, 9;\ncvt.u16.u32 %h1, %r3;\n{line}\nadd.u32 %r5, %r1, %r2;\nst.global.u32 [%rd1], \
         %r5;\nret;\n}}\n\
         .visible .entry other(.param .u64 o)\n{{\n.reg .b64 %rd1;\nld.param.u64 %rd1, [o];\nst.global.u32 [%rd1], \
         7;\nret;\n}}\n"
    ))
}

/// Each comes out as it went in, with and without passes, and only its own kernel does not run.
#[test]
fn unknown_instructions_are_kept_as_they_are() {
    let lines = [
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10, %r11, %r12, %r13}, [%r4+16];",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r4], {%r1, %r2};",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, \
         {%f1, %f1, %f1, %f1};",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%r4], \
         %r3;",
        "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%rd1], {%r1, %r2, %r3, %r1}, %r3;",
        "wgmma.fence.sync.aligned;",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32;",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 32;",
        "mbarrier.init.shared::cta.b64 [sm], 32;",
        "mbarrier.arrive.shared::cta.b64 %rd5, [sm+8];",
        "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [%r4], 128;",
        "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r3;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 128, [sm+512];",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%rd1, {%r1, %r2}], \
         [%r3];",
        "cp.async.bulk.commit_group;",
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r4];",
        "fence.proxy.async.shared::cta;",
        "fence.mbarrier_init.release.cluster;",
        "barrier.cluster.arrive.aligned;",
        "setmaxnreg.inc.sync.aligned.u32 240;",
        "griddepcontrol.wait;",
        "suld.b.2d.b32.trap {%r10}, [%rd2, {%r1, %r2}];",
        "sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r3};",
        "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd2, {%f1, %f1}], {%r1, %r2};",
        "tex.3d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%rd2, {%r1, %r2, %r3, %r3}];",
        "txq.width.b32 %r10, [%rd2];",
        "vadd.u32.u32.u32.sat %r10, %r1.b0, %r2.h1;",
        "vabsdiff4.u32.u32.u32.add %r10, %r1, %r2, %r3;",
        "fns.b32 %r10, %r1, %r2, %r3;",
        "mapa.shared::cluster.u32 %r10, %r4, %r3;",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r3, [%r1];",
        "multimem.ld_reduce.relaxed.sys.global.add.f32 %f2, [%rd1];",
        "mov.u32 %r10, %clusterid.x;",
        "@%p1 redux.sync.min.NaN.f32 %f2, %f1, -1;",
        "cvt.rn.satfinite.e2m1x2.f32 %r10, %f1, %f1;",
    ];
    for line in lines {
        let module = kept(line);
        let text = text::print(&module);
        let parsed = text::parse(&text);
        assert!(parsed.diagnostics.is_empty(), "{line}: {:?}", parsed.diagnostics);
        assert_eq!(text::print(&parsed.module), text, "{line}");
        let squeezed = |text: &str| text.replace([' ', '\t'], "");
        for pipeline in
            ["", "@ptxas", "gvn-cse,pde,spec-pre,hoist-common,dce,simplify-cfg,copy-prop,back-copy-prop,if-convert"]
        {
            let module = if pipeline.is_empty() { module.clone() } else { after(&module, pipeline) };
            let ptx = export(&module);
            assert!(ptx.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()), "{line}: {:?}", ptx.diagnostics);
            let wanted = squeezed(line);
            // A destination that nobody names again has kept its name.
            assert!(squeezed(&ptx.text).contains(&wanted), "{line} {pipeline}\n{}", ptx.text);
        }
        let (kind, message) = failure(&module);
        assert_eq!(
            (kind, message.as_str()),
            (ErrorKind::Program, "the simulator does not support this PTX instruction")
        );
        let launch = launch("launch other {\n    #0 = buffer u32[1] iota\n}\n");
        assert_eq!(simulated(&module, &launch)[0], 7_u32.to_le_bytes());
    }
}

/// A load behind such an instruction is made again, and what is stored before it stays.
#[test]
fn memory_may_change_at_unknown_instructions() {
    let module = module(
        ".visible .entry k(.param .u64 o)\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [o];\n\
         st.global.u32 [%rd1], 1;\nld.global.u32 %r1, [%rd1+4];\nfence.proxy.async;\nld.global.u32 %r2, [%rd1+4];\n\
         st.global.u32 [%rd1], 2;\nadd.u32 %r1, %r1, %r2;\nst.global.u32 [%rd1+8], %r1;\nret;\n}\n",
    );
    let optimised = after(&module, "@ptxas");
    let func = optimised.funcs.values().next().expect("the kernel");
    let count = |op: Op| {
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        insts.filter(|&inst| func.insts[inst].opcode.op == op).count()
    };
    assert_eq!([count(Op::Ld), count(Op::St), count(Op::Ptx)], [2, 3, 1]);
}

/// The accumulators of an asynchronous product are not there before the wait: it writes them, too.
#[test]
fn late_results_are_written_by_the_wait() {
    let module = module(
        ".visible .entry k(.param .u64 o)\n{\n.reg .f32 %f<9>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [o];\n\
         ld.global.u64 %rd2, [%rd1];\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd2, 0, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.global.f32 [%rd1], %f1;\nret;\n}\n",
    );
    let text = text::print(&module);
    let all = "f1, f2, f3, f4";
    assert!(text.contains(&format!("{{{all}}} = ptx \"wgmma.wait_group.sync.aligned 0\", {all}\n")), "{text}");
    assert!(text.contains(&format!("$4, $4, 0, 1, 1, 0, 0\", rd2, {all}\n")), "{text}");
    // Nothing has assigned them before the first one reads them.
    assert!(text.contains("f4 = mov.f32 0.0\n") || text.contains("f4 = mov.b32 0\n"), "{text}");
    assert!(export(&after(&module, "@ptxas")).text.contains("\twgmma.wait_group.sync.aligned 0;\n"));
}

/// References to textures and surfaces come out with the instructions that read them.
#[test]
fn references_are_kept() {
    let module = module(
        ".global .texref picture;\n.tex .u32 old;\n.visible .global .surfref canvas;\n\
         .visible .entry k(.param .u64 o)\n{\n.reg .f32 %f<9>;\n.reg .b32 %r<5>;\nmov.u32 %r1, %tid.x;\n\
         tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [picture, {%r1}];\n\
         tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [old, {%r1, %r1}];\n\
         sust.b.2d.b32.trap [canvas, {%r1, %r1}], {%r1};\nret;\n}\n",
    );
    let text = text::print(&module);
    assert!(text.contains("global picture: texref\n") && text.contains("global canvas: surfref\n"), "{text}");
    let parsed = text::parse(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert_eq!(text::print(&parsed.module), text);
    let ptx = export(&module).text;
    for line in [
        ".global .texref picture;",
        ".global .texref old;",
        ".global .surfref canvas;",
        "[picture, {%r1}];",
        "[old, {%r1, %r1}];",
    ] {
        assert!(ptx.contains(line), "{line}\n{ptx}");
    }
}

/// Opaque instructions of `.wir` are checked at their place.
#[test]
fn bad_templates_are_reported() {
    for (line, wanted) in [
        ("ptx", "the instruction in quotes"),
        ("ptx \"\"", "an instruction starts with its opcode"),
        ("ptx \"fence.sc $\"", "`$` takes the number of an operand"),
        ("ptx \"fence.sc; exit\"", "this character is not allowed"),
        ("ptx \"fence.sc $1\", n", "an operand beyond the 1"),
        ("ptx \"fence.sc $0\", 7", "a register or an array"),
        ("ptx \"fence.sc", "the instruction in quotes"),
        ("x = mov.u32 %clock", "`%clock` cannot be used as an operand here"),
        ("x = read.u64 %clock", "takes a special register"),
    ] {
        let source = format!("kernel k(n: u32) {{\nentry:\n    {line}\n    ret\n}}\n");
        let found: Vec<String> =
            warpscope_core::verify::check(&source).diagnostics.iter().map(|found| found.message.clone()).collect();
        assert!(found.iter().any(|message| message.contains(wanted)), "{line}: {found:?}");
    }
}

/// Registers of 128 bits are text of opaque instructions, whose order stays.
#[test]
fn registers_of_128_bits_are_kept() {
    let module = module(
        ".visible .entry k(.param .u64 o)\n{\n.reg .b128 %q<3>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [o];\n\
         {\n.reg .b128 wide;\nmov.b128 wide, {%rd1, %rd1};\nmov.b128 {%rd2, %rd3}, wide;\n}\n\
         {\n.reg .b128 wide;\nld.global.b128 wide, [%rd1];\natom.global.exch.b128 %q2, [%rd1], wide;\n}\n\
         st.global.u64 [%rd1], %rd3;\nret;\n}\n",
    );
    let text = text::print(&module);
    let parsed = text::parse(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert_eq!(text::print(&parsed.module), text);
    let ptx = export(&after(&module, "@ptxas")).text;
    for line in [
        ".reg .b128 %q<3>;",
        ".reg .b128 wide;",
        "mov.b128 wide, {%rd1, %rd1};",
        "mov.b128 {%rd2, %rd3}, wide;",
        "ld.global.b128 wide, [%rd1];",
        "atom.global.exch.b128 %q2, [%rd1], wide;",
    ] {
        assert_eq!(ptx.matches(&format!("\t{line}\n")).count(), 1, "{line}\n{ptx}");
    }
}

/// Labels at the end of a body, as compilers print them for debuggers: nothing is read there that nothing assigns.
#[test]
fn labels_at_the_end_are_dropped_unless_something_branches_there() {
    let source = |body: &str| {
        format!(
            ".version 8.6\n.target sm_80\n.address_size 64\n.func (.param .b32 func_retval0) f(.param .b32 a)\n{{\n\
             .reg .b32 %r<3>;\n.reg .pred %p<2>;\n$L__func_begin0:\nld.param.u32 %r1, [a];\nadd.u32 %r1, %r1, 9;\n\
             setp.lt.u32 %p1, %r1, 20;\n{body}}}\n.visible .entry k(.param .u64 o)\n{{\n.reg .b32 %r<3>;\n\
             .reg .b64 %rd<3>;\nld.param.u64 %rd1, [o];\nmov.u32 %r1, %laneid;\n{{\n.param .b32 p;\n.param .b32 q;\n\
             st.param.b32 [p], %r1;\ncall (q), f, (p);\nld.param.b32 %r2, [q];\n}}\nmul.wide.u32 %rd2, %r1, 4;\n\
             add.u64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r2;\nret;\n$L__tmp7:\n$L__func_end1:\n}}\n"
        )
    };
    let store = "st.param.b32 [func_retval0+0], %r1;\n";
    let ends = "$L__tmp1:\n$L__func_end0:\n";
    let half = "shl.b32 %r1, %r1, 1;\n";
    for (body, of, blocks) in [
        (format!("{store}ret;\n{ends}"), (|sum| sum) as fn(u32) -> u32, 1),
        (format!("{{\n{store}ret;\n$L__tmp0:\n}}\n{ends}"), |sum| sum, 1),
        (format!("{store}bra.uni $L__func_end0;\n{ends}"), |sum| sum, 2),
        (format!("@%p1 bra $L__tmp0;\n{half}$L__tmp0:\n{store}ret;\n{ends}"), |sum| sum << u32::from(sum >= 20), 3),
        (format!("{store}@%p1 ret;\n{half}{store}{ends}"), |sum| sum << u32::from(sum >= 20), 5),
    ] {
        let loaded = load(&source(&body), Dialect::Ptx);
        assert!(loaded.diagnostics.is_empty(), "{body}: {:?}", loaded.diagnostics);
        assert_eq!(words(&loaded.module, 32), (9..41).map(of).collect::<Vec<_>>(), "{body}");
        let func = &loaded.module.funcs[loaded.module.func_by_name("f").expect("the function")];
        assert_eq!(func.block_order().count(), blocks, "{body}\n{}", text::print(&loaded.module));
    }
}
