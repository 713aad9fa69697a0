//! Bfloats, of which the text IR has none: what PTX computes of them is held against a reference that rounds once.

use std::cmp::Ordering;

use super::expansions::{check, check_on};
use warpscope_testkit::expansions::{THREADS, numbers};

/// The one NaN.
const NAN: u16 = 0x7fff;

/// The number that a bfloat is.
fn number(bfloat: u16) -> f64 {
    f32::from_bits(u32::from(bfloat) << 16).into()
}

/// The size of the bfloat with these bits; of infinity that of the power of two where bfloats end.
fn size(bits: u16) -> f64 {
    if bits == 0x7f80 { 2.0_f64.powi(128) } else { number(bits) }
}

/// A number, and on which side of it what was meant lies, where that is no double.
#[derive(Clone, Copy)]
struct Exact {
    nearest: f64,
    beyond: f64,
}

impl Exact {
    fn of(nearest: f64) -> Exact {
        Exact { nearest, beyond: 0.0 }
    }

    /// A product of 16 bits and a number of 8.
    fn product_and_sum(product: f64, number: f64) -> Exact {
        let nearest = product + number;
        if !nearest.is_finite() {
            return Exact::of(nearest);
        }
        // What rounding has left (Knuth).
        let part = nearest - product;
        Exact { nearest, beyond: (product - (nearest - part)) + (number - part) }
    }
}

/// The bfloat next to a number, the even one of two; or the next one on one side of it.
fn rounded(exact: Exact, rounding: &str) -> u16 {
    let Exact { nearest, beyond } = exact;
    if nearest.is_nan() {
        return NAN;
    }
    let sign = if nearest.is_sign_negative() { 0x8000 } else { 0 };
    let (far, beyond) = (nearest.abs(), if sign == 0 { beyond } else { -beyond });
    let is_at_most = |bits: u16| size(bits) < far || size(bits) == far && beyond >= 0.0;
    // All of at most that size come before all that are greater.
    let (mut below, mut above) = (0_u16, 0x7f81);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if is_at_most(middle) { below = middle } else { above = middle }
    }
    if below == 0x7f80 || size(below) == far && beyond == 0.0 {
        // Nothing that is finite rounds towards zero to infinity.
        let is_cut = nearest.is_finite() && below == 0x7f80 && away(sign, rounding) == Some(false);
        return sign | if is_cut { 0x7f7f } else { below };
    }
    let half = (size(below) + size(below + 1)) / 2.0;
    let is_more = match away(sign, rounding) {
        Some(away) => away,
        None if far == half && beyond == 0.0 => below & 1 == 1,
        None => far > half || far == half && beyond > 0.0,
    };
    sign | (below + u16::from(is_more))
}

/// Is rounded away from zero, whatever is nearer?
fn away(sign: u16, rounding: &str) -> Option<bool> {
    match rounding {
        "rz" => Some(false),
        "rm" => Some(sign != 0),
        "rp" => Some(sign == 0),
        _ => None,
    }
}

fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

fn word([low, high]: [u16; 2]) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

/// Checks an operation of words of two bfloats each, and that of one bfloat, by what it computes of a half.
fn check_halves(operands: &[Vec<u32>; 3], operation: &str, count: usize, reference: impl Fn(u16, u16, u16) -> u16) {
    let registers = ["%r1", "%r2", "%r3"][..count].join(", ");
    check_on(operands, &format!("{operation}.bf16x2 %r4, {registers};"), |a, b, c| {
        let ([a, a_high], [b, b_high], [c, c_high]) = (halves(a), halves(b), halves(c));
        word([reference(a, b, c), reference(a_high, b_high, c_high)])
    });
    let registers = ["%h1", "%h3", "%h5"][..count].join(", ");
    let lines = format!(
        "{{.reg .b16 %h<7>;\nmov.b32 {{%h1, %h2}}, %r1;\nmov.b32 {{%h3, %h4}}, %r2;\nmov.b32 {{%h5, %h6}}, %r3;\n\
         {operation}.bf16 %h1, {registers};\nmov.b32 %r4, {{%h1, %h2}};}}"
    );
    check_on(operands, &lines, |a, b, c| word([reference(a as u16, b as u16, c as u16), halves(a)[1]]));
}

/// Any numbers; and those near the ends of the range, and near one another.
fn operands() -> Vec<[Vec<u32>; 3]> {
    let any = (0..8).map(|turn| [1, 2, 3].map(|column| numbers(3 * turn + column)));
    let ends = [0x0000_u16, 0x8000, 0x0001, 0x007f, 0x0080, 0x7f7f, 0x7f80, 0xff80, 0x3f80, 0xbf80, 0x3f81, 0x4000];
    let at_ends = (0..4_u32).map(|turn| {
        [1, 12, 144].map(|step: usize| {
            let half = |place: usize| ends[(place / step + turn as usize * 5) % ends.len()];
            (0..THREADS).map(|thread| word([half(thread), half(7 * thread + 3)])).collect()
        })
    });
    // Exponents from 2⁻⁴ to 2⁴, so that sums are no copies.
    let near = (0..4).map(|turn| {
        [1, 2, 3].map(|column| {
            let drawn = numbers(100 + 3 * turn + column).into_iter().zip(numbers(200 + 3 * turn + column));
            let half = |bits: u16| bits & 0x83ff | 0x3c00 | (bits & 0x0800) << 3;
            drawn.map(|(a, b)| word(halves(a.rotate_left(7) ^ b.wrapping_mul(0x9e37_79b9)).map(half))).collect()
        })
    });
    any.chain(at_ends).chain(near).collect()
}

#[test]
fn arithmetic_rounds_once() {
    for operands in operands() {
        for rounding in ["", ".rn"] {
            let of = |op: &str| format!("{op}{rounding}");
            check_halves(&operands, &of("add"), 2, |a, b, _| rounded(Exact::of(number(a) + number(b)), "rn"));
            check_halves(&operands, &of("sub"), 2, |a, b, _| rounded(Exact::of(number(a) - number(b)), "rn"));
            check_halves(&operands, &of("mul"), 2, |a, b, _| rounded(Exact::of(number(a) * number(b)), "rn"));
        }
        let sum = |a, b, c| rounded(Exact::product_and_sum(number(a) * number(b), number(c)), "rn");
        check_halves(&operands, "fma.rn", 3, sum);
        check_halves(&operands, "fma.rn.relu", 3, |a, b, c| match sum(a, b, c) {
            negative if negative & 0x8000 != 0 => 0,
            other => other,
        });
    }
}

/// A product halfway between two bfloats, to which next to nothing is added: which one is nearer is decided by that.
#[test]
fn next_to_nothing_decides_a_tie() {
    // Odd factors whose product has nine bits, and the ninth is set.
    let ties = (16..32_u16).flat_map(|a| (8..32_u16).map(move |b| (a, b)));
    let ties: Vec<(u16, u16)> = ties.filter(|(a, b)| (256..512).contains(&(a * b)) && a * b % 2 == 1).collect();
    assert!(ties.len() > 20, "there are some");
    let bfloat = |whole: u16| (f32::from(whole).to_bits() >> 16) as u16;
    let least = [0x0001_u16, 0x8001, 0x0000, 0x8000, 0x1000, 0x9000, 0x3000, 0xb000];
    for turn in 0..least.len() {
        let tie = |thread: usize| ties[(thread * 5 + turn) % ties.len()];
        let sign = |thread: usize| if thread.is_multiple_of(3) { 0x8000 } else { 0 };
        let columns = [
            (0..THREADS).map(|thread| word([bfloat(tie(thread).0), bfloat(tie(thread + 1).0)])).collect(),
            (0..THREADS)
                .map(|thread| word([bfloat(tie(thread).1) | sign(thread), bfloat(tie(thread + 1).1)]))
                .collect(),
            (0..THREADS).map(|thread| word([least[(thread + turn) % 8], least[(thread / 8 + turn) % 8]])).collect(),
        ];
        check_halves(&columns, "fma.rn", 3, |a, b, c| {
            rounded(Exact::product_and_sum(number(a) * number(b), number(c)), "rn")
        });
    }
}

#[test]
fn signs_and_extremes() {
    for operands in operands() {
        check_halves(&operands, "neg", 1, |a, _, _| a ^ 0x8000);
        check_halves(&operands, "abs", 1, |a, _, _| a & 0x7fff);
        let less = |a: u16, b: u16| number(a) < number(b) || number(a) == number(b) && a & 0x8000 > b & 0x8000;
        let chosen = |a: u16, b: u16, first: bool| match [a, b].map(|bits| number(bits).is_nan()) {
            [true, true] => NAN,
            [true, false] => b,
            [false, true] => a,
            _ => {
                if first {
                    a
                } else {
                    b
                }
            }
        };
        check_halves(&operands, "min", 2, |a, b, _| chosen(a, b, less(a, b)));
        check_halves(&operands, "max", 2, |a, b, _| chosen(a, b, less(b, a)));
        let strict = |a: u16, b: u16, first: bool| match number(a).is_nan() || number(b).is_nan() {
            true => NAN,
            false => {
                if first {
                    a
                } else {
                    b
                }
            }
        };
        check_halves(&operands, "min.NaN", 2, |a, b, _| strict(a, b, less(a, b)));
        check_halves(&operands, "max.NaN", 2, |a, b, _| strict(a, b, less(b, a)));
    }
}

#[test]
fn comparisons() {
    // None where there is no number.
    let holds = |cmp: &str, a: u16, b: u16| {
        let order = number(a).partial_cmp(&number(b));
        match cmp {
            "eq" => order == Some(Ordering::Equal),
            "ne" => order.is_some_and(Ordering::is_ne),
            "lt" => order == Some(Ordering::Less),
            "geu" => order != Some(Ordering::Less),
            "nan" => order.is_none(),
            _ => order.is_some(),
        }
    };
    let scalar = "{.reg .b16 %h<5>;\nmov.b32 {%h1, %h2}, %r1;\nmov.b32 {%h3, %h4}, %r2;\n";
    for operands in operands() {
        for cmp in ["eq", "ne", "lt", "geu", "nan", "num"] {
            let both = |a: u32, b: u32| {
                let ([a, a_high], [b, b_high]) = (halves(a), halves(b));
                [holds(cmp, a, b), holds(cmp, a_high, b_high)]
            };
            let pair = format!(
                "setp.{cmp}.bf16x2 %p1|%p2, %r1, %r2;\nselp.b32 %r5, 1, 0, %p1;\nselp.b32 %r6, 2, 0, %p2;\n\
                 add.u32 %r4, %r5, %r6;"
            );
            check_on(&operands, &pair, |a, b, _| u32::from(both(a, b)[0]) + 2 * u32::from(both(a, b)[1]));
            let one = format!(
                "{scalar}setp.{cmp}.bf16 %p1|%p2, %h1, %h3;\nselp.b32 %r5, 1, 0, %p1;\nselp.b32 %r6, 2, 0, %p2;\n\
                 add.u32 %r4, %r5, %r6;}}"
            );
            check_on(&operands, &one, |a, b, _| if both(a, b)[0] { 1 } else { 2 });
            let combined = format!(
                "{scalar}setp.gt.u32 %p1, %r3, 99;\nsetp.{cmp}.and.bf16 %p2, %h1, %h3, !%p1;\nselp.b32 %r4, 1, 0, \
                 %p2;}}"
            );
            check_on(&operands, &combined, |a, b, c| u32::from(both(a, b)[0] && c <= 99));
            for (result, yes) in [("bf16x2", 0x3f80_u16), ("u32", 0xffff), ("s32", 0xffff)] {
                check_on(&operands, &format!("set.{cmp}.{result}.bf16x2 %r4, %r1, %r2;"), |a, b, _| {
                    word(both(a, b).map(|holds| if holds { yes } else { 0 }))
                });
            }
            for (result, register, yes) in
                [("bf16", "%h1", 0x3f80_u32), ("u16", "%h1", 0xffff), ("u32", "%r5", u32::MAX)]
            {
                let widened = if register == "%h1" { "cvt.u32.u16 %r4, %h1;}" } else { "mov.b32 %r4, %r5;}" };
                let lines = format!("{scalar}set.{cmp}.{result}.bf16 {register}, %h1, %h3;\n{widened}");
                check_on(&operands, &lines, |a, b, _| if both(a, b)[0] { yes } else { 0 });
            }
        }
    }
}

#[test]
fn conversions_round_once() {
    // Halfway between two of them, a bit more, a bit less, at both ends of the range; and any.
    let near =
        "and.b32 %r5, %r1, 0xffff0000;\nand.b32 %r6, %r2, 3;\nadd.u32 %r6, %r6, 0x7ffe;\nor.b32 %r5, %r5, %r6;\n";
    let nearby = |a: u32, b: u32| a & 0xffff_0000 | ((b & 3) + 0x7ffe);
    let float = |bits: u32| f64::from(f32::from_bits(bits));
    let narrowed = "cvt.u32.u16 %r4, %h1;}";
    for rounding in ["rn", "rz", "rm", "rp"] {
        let to = |exact: f64| rounded(Exact::of(exact), rounding).into();
        let of = |source: &str, from: &str| format!("cvt.{rounding}.bf16.{from} %h1, {source};\n{narrowed}");
        check(&format!("{{.reg .b16 %h<3>;\n{}", of("%r1", "f32")), |a, _, _| to(float(a)));
        check(&format!("{{.reg .b16 %h<3>;\n{near}{}", of("%r5", "f32")), |a, b, _| to(float(nearby(a, b))));
        check(&format!("cvt.{rounding}.bf16x2.f32 %r4, %r1, %r2;"), |a, b, _| to(float(a)) << 16 | to(float(b)));
        check(&format!("{{.reg .b16 %h<3>;\n{}", of("%r1", "s32")), |a, _, _| to((a as i32).into()));
        check(&format!("{{.reg .b16 %h<3>;\n{}", of("%r1", "u32")), |a, _, _| to(a.into()));
        check(&format!("{{.reg .b16 %h<3>;\ncvt.u16.u32 %h2, %r1;\n{}", of("%h2", "s16")), |a, _, _| {
            to((a as i16).into())
        });
        let double = "{.reg .b16 %h<3>;\n.reg .f64 %d;\nmov.b64 %d, %rd3;\n";
        check(&format!("{double}{}", of("%d", "f64")), |a, b, _| to(f64::from_bits(u64::from(b) << 32 | u64::from(a))));
        // A long number may have more bits than a double: the rest lies beyond.
        check(&format!("{{.reg .b16 %h<3>;\n{}", of("%rd3", "u64")), |a, b, _| {
            let whole = u64::from(b) << 32 | u64::from(a);
            let nearest = whole as f64;
            let beyond = (i128::from(whole) - nearest as i128) as f64;
            rounded(Exact { nearest, beyond }, rounding).into()
        });
    }
    // Wherever the bits of a NaN are seen they are those of one.
    let half = "{.reg .b16 %h<3>;\n.reg .f32 %f<3>;\nmov.b32 {%h1, %h2}, %r1;\n";
    check(&format!("{half}cvt.f32.bf16 %f1, %h1;\nmov.b32 %r4, %f1;}}"), |a, _, _| match a << 16 {
        nan if f32::from_bits(nan).is_nan() => 0x7fff_ffff,
        bits => bits,
    });
    check(
        &format!(
            "{half}cvt.rn.f16.bf16 %h1, %h1;\ncvt.f32.f16 %f1, %h1;\ncvt.rn.bf16.f16 %h2, %h1;\n\
                    cvt.u32.u16 %r4, %h2;}}"
        ),
        |a, _, _| {
            // Halves between 2⁻¹⁴ and 2¹⁶ have more bits than bfloats.
            let exact = number(a as u16);
            let unit = 2.0_f64.powi(-24);
            let as_half = match exact.abs() {
                size if size >= 65_520.0 => f64::INFINITY.copysign(exact),
                size if size < 2.0_f64.powi(-14) => (exact / unit).round_ties_even() * unit,
                _ => exact,
            };
            rounded(Exact::of(as_half), "rn").into()
        },
    );
    check(&format!("{half}cvt.rzi.s32.bf16 %r4, %h1;}}"), |a, _, _| number(a as u16) as i32 as u32);
    check(&format!("{half}cvt.rmi.u16.bf16 %h1, %h1;\n{narrowed}"), |a, _, _| {
        u32::from(number(a as u16).floor() as u16)
    });
    for (rounding, whole) in [
        ("rni", &f64::round_ties_even as &dyn Fn(f64) -> f64),
        ("rzi", &f64::trunc),
        ("rmi", &f64::floor),
        ("rpi", &f64::ceil),
    ] {
        check(&format!("{half}cvt.{rounding}.bf16.bf16 %h1, %h1;\n{narrowed}"), |a, _, _| {
            rounded(Exact::of(whole(number(a as u16))), "rn").into()
        });
    }
}

/// The functions are those of floats, rounded to the nearest bfloat.
#[test]
fn approximate_functions_of_bfloats() {
    for (function, of_floats) in [("ex2.approx.ftz", "ex2.approx.f32"), ("tanh.approx", "tanh.approx.f32")] {
        let each = format!(
            "{{.reg .b16 %h<3>;\n.reg .f32 %f<3>;\nmov.b32 {{%h1, %h2}}, %r1;\ncvt.f32.bf16 %f1, %h1;\n\
             cvt.f32.bf16 %f2, %h2;\n{of_floats} %f1, %f1;\n{of_floats} %f2, %f2;\ncvt.rn.bf16.f32 %h1, %f1;\n\
             cvt.rn.bf16.f32 %h2, %f2;\nmov.b32 %r5, {{%h1, %h2}};}}"
        );
        check(&format!("{each}\n{function}.bf16x2 %r6, %r1;\nsub.u32 %r4, %r5, %r6;"), |_, _, _| 0);
    }
}

/// Checks that guarded instructions run only where the guard holds.
#[test]
fn guards_hold() {
    check("mov.b32 %r4, 77;\nsetp.lt.u32 %p1, %r3, 100;\n@%p1 fma.rn.bf16x2 %r4, %r1, %r2, %r3;", |a, b, c| {
        let ([a, a_high], [b, b_high], [d, d_high]) = (halves(a), halves(b), halves(c));
        let sum = |a, b, c| rounded(Exact::product_and_sum(number(a) * number(b), number(c)), "rn");
        if c < 100 { word([sum(a, b, d), sum(a_high, b_high, d_high)]) } else { 77 }
    });
}
