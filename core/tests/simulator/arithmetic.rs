//! Every opcode that computes in each lane by itself, for every type that it takes: integers against 128-bit integers,
//! floats against the exact arithmetic of [`super::exact`].

use super::exact::{self, DIRECTIONS, Direction, F32, F64, Format};
use super::operands::{check, check_on, computed, width};
use std::collections::BTreeSet;
use warpscope_core::ir::{Cmp, FLAG_NAMES, Op, Opcode, Rounding, SpellingError, Type};
use warpscope_core::sim::arith::approx;
use warpscope_core::sim::lanes::select;

const INTEGERS: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];
const FLOATS: [&str; 3] = ["f16", "f32", "f64"];

/// An integer's value.
fn value(bits: u64, ty: &str) -> i128 {
    let width = width(ty);
    let extended = if ty.starts_with('s') { (bits << (64 - width)) as i64 >> (64 - width) } else { 0 };
    if ty.starts_with('s') { extended.into() } else { bits.into() }
}

/// The low bits.
fn low(value: i128, width: u32) -> u64 {
    value as u64 & (u64::MAX >> (64 - width))
}

/// The whole product as a two's complement number of 128 bits.
fn product(a: u64, b: u64, ty: &str) -> i128 {
    value(a, ty).wrapping_mul(value(b, ty))
}

/// The high half of a product.
fn high(a: u64, b: u64, ty: &str) -> u64 {
    let bits = width(ty);
    let wide = product(a, b, ty);
    if ty.starts_with('s') { low(wide >> bits, bits) } else { low((wide as u128 >> bits) as i128, bits) }
}

/// The type of twice the width.
fn twice(ty: &str) -> String {
    format!("{}{}", &ty[..1], 2 * width(ty))
}

#[test]
fn integers_wrap() {
    for ty in INTEGERS {
        let bits = width(ty);
        let is = |bits: u64| value(bits, ty);
        let all_ones = low(-1, bits);
        let two = |name: &str, reference: &dyn Fn(i128, i128) -> i128| {
            check(&format!("$ = {name}.{ty} a, b"), &[ty, ty], ty, |x| low(reference(is(x[0]), is(x[1])), bits));
        };
        two("add", &|a, b| a + b);
        two("sub", &|a, b| a - b);
        two("mul", &|a, b| a.wrapping_mul(b));
        two("mul.lo", &|a, b| a.wrapping_mul(b));
        two("min", &|a, b| a.min(b));
        two("max", &|a, b| a.max(b));
        // Division by zero gives all ones; the one overflow, of the least number by -1, wraps.
        two("div", &|a, b| if b == 0 { all_ones.into() } else { a / b });
        two("rem", &|a, b| if b == 0 { all_ones.into() } else { a % b });
        check(&format!("$ = mul.hi.{ty} a, b"), &[ty, ty], ty, |x| high(x[0], x[1], ty));
        check(&format!("$ = mad.{ty} a, b, c"), &[ty, ty, ty], ty, |x| {
            low(product(x[0], x[1], ty).wrapping_add(is(x[2])), bits)
        });
        check(&format!("$ = mad.hi.{ty} a, b, c"), &[ty, ty, ty], ty, |x| {
            low(i128::from(high(x[0], x[1], ty)) + is(x[2]), bits)
        });
        if bits < 64 {
            let wide = twice(ty);
            check(&format!("$ = mul.wide.{ty} a, b"), &[ty, ty], &wide, |x| low(product(x[0], x[1], ty), 2 * bits));
            check(&format!("$ = mad.wide.{ty} a, b, c"), &[ty, ty, &wide], &wide, |x| {
                low(product(x[0], x[1], ty) + value(x[2], &wide), 2 * bits)
            });
        }
        if ty.starts_with('s') {
            check(&format!("$ = neg.{ty} a"), &[ty], ty, |x| low(-is(x[0]), bits));
            check(&format!("$ = abs.{ty} a"), &[ty], ty, |x| low(is(x[0]).abs(), bits));
        }
    }
}

#[test]
fn saturating_integers_stay_in_their_range() {
    let clamp = |value: i128| low(value.clamp(i32::MIN.into(), i32::MAX.into()), 32);
    let is = |bits: u64| value(bits, "s32");
    check("$ = add.sat.s32 a, b", &["s32"; 2], "s32", |x| clamp(is(x[0]) + is(x[1])));
    check("$ = sub.sat.s32 a, b", &["s32"; 2], "s32", |x| clamp(is(x[0]) - is(x[1])));
    check("$ = mad.hi.sat.s32 a, b, c", &["s32"; 3], "s32", |x| clamp(((is(x[0]) * is(x[1])) >> 32) + is(x[2])));
}

#[test]
fn bits_by_bits() {
    for bits in [16u32, 32, 64] {
        let ty = format!("b{bits}");
        let ty = ty.as_str();
        let mask = u64::MAX >> (64 - bits);
        check(&format!("$ = and.{ty} a, b"), &[ty, ty], ty, |x| x[0] & x[1]);
        check(&format!("$ = or.{ty} a, b"), &[ty, ty], ty, |x| x[0] | x[1]);
        check(&format!("$ = xor.{ty} a, b"), &[ty, ty], ty, |x| x[0] ^ x[1]);
        check(&format!("$ = not.{ty} a"), &[ty], ty, |x| !x[0] & mask);
        // A shift by the width or more leaves nothing, or the sign.
        let shift = |value: i128, amount: u64| value >> amount.min(127);
        check(&format!("$ = shl.{ty} a, b"), &[ty, "u32"], ty, |x| {
            if x[1] < u64::from(bits) { x[0] << x[1] & mask } else { 0 }
        });
        check(&format!("$ = shr.{ty} a, b"), &[ty, "u32"], ty, |x| low(shift(x[0].into(), x[1]), bits));
        for ty in [format!("u{bits}"), format!("s{bits}")] {
            check(&format!("$ = shr.{ty} a, b"), &[&ty, "u32"], &ty, |x| low(shift(value(x[0], &ty), x[1]), bits));
            for amount in [0, 1, 15, 16, 31, 32, 33, 63, 64, 127, u64::from(u32::MAX)] {
                let left = |x: &[u64]| if amount < u64::from(bits) { x[0] << amount & mask } else { 0 };
                check(&format!("$ = shl.b{bits} a, {amount}"), &[&ty], &ty, left);
                let right = |x: &[u64]| low(shift(value(x[0], &ty), amount), bits);
                check(&format!("$ = shr.{ty} a, {amount}"), &[&ty], &ty, right);
            }
        }
    }
}

#[test]
fn fields_and_counts() {
    for bits in [32u32, 64] {
        let ty = format!("b{bits}");
        let ty = ty.as_str();
        let bit = |word: u64, at: u64| word >> at & 1;
        let width = u64::from(bits);
        check(&format!("$ = popc.{ty} a"), &[ty], "u32", |x| (0..width).map(|at| bit(x[0], at)).sum());
        check(&format!("$ = clz.{ty} a"), &[ty], "u32", |x| {
            (0..width).rev().take_while(|&at| bit(x[0], at) == 0).count() as u64
        });
        check(&format!("$ = brev.{ty} a"), &[ty], ty, |x| {
            (0..width).fold(0, |word, at| word | bit(x[0], at) << (width - 1 - at))
        });
        // The manual's loops, word for word; positions and lengths count modulo 256.
        check(&format!("$ = bfi.{ty} a, b, c, d"), &[ty, ty, "u32", "u32"], ty, |x| {
            let (position, length) = (x[2] & 0xFF, x[3] & 0xFF);
            (0..length)
                .filter(|at| position + at < width)
                .fold(x[1], |word, at| word & !(1 << (position + at)) | bit(x[0], at) << (position + at))
        });
        for ty in [format!("u{bits}"), format!("s{bits}")] {
            check(&format!("$ = bfe.{ty} a, b, c"), &[&ty, "u32", "u32"], &ty, |x| {
                let (position, length) = (x[1] & 0xFF, x[2] & 0xFF);
                let is_unsigned = ty.starts_with('u');
                let sign =
                    if is_unsigned || length == 0 { 0 } else { bit(x[0], (position + length - 1).min(width - 1)) };
                let inside = |at: u64| at < length && position + at < width;
                (0..width).fold(0, |word, at| word | if inside(at) { bit(x[0], position + at) } else { sign } << at)
            });
        }
    }
}

#[test]
fn funnel_shifts() {
    for (clamps, name) in [(false, "wrap"), (true, "clamp")] {
        let amount = |bits: u64| if clamps { bits.min(32) } else { bits & 31 };
        let both = |x: &[u64]| u128::from(x[1] << 32 | x[0]);
        check(&format!("$ = shf.l.{name}.b32 a, b, c"), &["b32", "b32", "u32"], "b32", |x| {
            (both(x) << amount(x[2]) >> 32) as u64 & 0xFFFF_FFFF
        });
        check(&format!("$ = shf.r.{name}.b32 a, b, c"), &["b32", "b32", "u32"], "b32", |x| {
            (both(x) >> amount(x[2])) as u64 & 0xFFFF_FFFF
        });
    }
}

#[test]
fn byte_permutations() {
    let byte = |x: &[u64], index: u64| (x[1] << 32 | x[0]) >> (8 * index) & 0xFF;
    check("$ = prmt.b32 a, b, c", &["b32"; 3], "b32", |x| {
        (0..4).fold(0, |word, at| {
            let selector = x[2] >> (4 * at) & 0xF;
            let picked = byte(x, selector & 7);
            word | if selector < 8 { picked } else { (picked >> 7) * 0xFF } << (8 * at)
        })
    });
    // The manual's tables, highest byte first, by the selector's low two bits.
    let modes = [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, table) in modes {
        check(&format!("$ = prmt.b32.{mode} a, b, c"), &["b32"; 3], "b32", |x| {
            table[(x[2] & 3) as usize].iter().fold(0, |word, &index| word << 8 | byte(x, index))
        });
    }
}

#[test]
fn carries_go_out_and_come_in() {
    for ty in ["u32", "s32", "u64", "s64"] {
        let bits = width(ty);
        // As a number that carries: the low half, then the carry.
        let check_both = |text: &str, types: &[&str], reference: &dyn Fn(&[u64]) -> i128| {
            let has_carry = text.contains(".cc");
            let result = if has_carry { "{$, o}" } else { "$" };
            check(&format!("{result} = {text}"), types, ty, |x| low(reference(x), bits));
            if has_carry {
                check(&format!("{{t, o}} = {text}\n$ = selp.u32 1, 0, o"), types, "u32", |x| {
                    (reference(x) >> bits) as u64 & 1
                });
            }
        };
        let unsigned = |bits: u64| i128::from(bits);
        let low_product = |x: &[u64]| unsigned(low(product(x[0], x[1], ty), bits));
        let high_product = |x: &[u64]| unsigned(high(x[0], x[1], ty));
        check_both(&format!("add.cc.{ty} a, b"), &[ty, ty], &|x| unsigned(x[0]) + unsigned(x[1]));
        check_both(&format!("sub.cc.{ty} a, b"), &[ty, ty], &|x| unsigned(x[0]) - unsigned(x[1]));
        check_both(&format!("mad.cc.{ty} a, b, c"), &[ty; 3], &|x| low_product(x) + unsigned(x[2]));
        check_both(&format!("mad.hi.cc.{ty} a, b, c"), &[ty; 3], &|x| high_product(x) + unsigned(x[2]));
        for cc in ["", ".cc"] {
            let three = [ty, ty, "pred"];
            check_both(&format!("addc{cc}.{ty} a, b, c"), &three, &|x| {
                unsigned(x[0]) + unsigned(x[1]) + unsigned(x[2])
            });
            check_both(&format!("subc{cc}.{ty} a, b, c"), &three, &|x| {
                unsigned(x[0]) - unsigned(x[1]) - unsigned(x[2])
            });
            let four = [ty, ty, ty, "pred"];
            check_both(&format!("madc{cc}.{ty} a, b, c, d"), &four, &|x| {
                low_product(x) + unsigned(x[2]) + unsigned(x[3])
            });
            check_both(&format!("madc.hi{cc}.{ty} a, b, c, d"), &four, &|x| {
                high_product(x) + unsigned(x[2]) + unsigned(x[3])
            });
            // The carry in may be negated.
            check_both(&format!("addc{cc}.{ty} a, b, !c"), &three, &|x| {
                unsigned(x[0]) + unsigned(x[1]) + 1 - unsigned(x[2])
            });
        }
    }
}

#[test]
fn a_sum_of_256_bits_by_a_chain_of_carries() {
    let text = "{s0, o} = add.cc.u64 a, b\n{s1, o} = addc.cc.u64 c, d, o\n{s2, o} = addc.cc.u64 a, c, o\n\
                $ = addc.u64 b, d, o";
    check(text, &["u64"; 4], "u64", |x| {
        let part = |at: usize, other: usize, carry: u128| u128::from(x[at]) + u128::from(x[other]) + carry;
        let first = part(0, 1, 0);
        let second = part(2, 3, first >> 64);
        let third = part(0, 2, second >> 64);
        part(1, 3, third >> 64) as u64
    });
}

#[test]
fn floats_round_once_in_every_direction() {
    type Binary = fn(Format, u64, u64, Direction) -> u64;
    let operations: [(&str, Binary); 4] =
        [("add", exact::add), ("sub", exact::sub), ("mul", exact::mul), ("div", exact::div)];
    for ty in FLOATS {
        let format = Format::of(ty);
        for (name, direction) in DIRECTIONS {
            for (operation, reference) in operations {
                if operation == "div" && ty == "f16" {
                    continue;
                }
                check(&format!("$ = {operation}.{name}.{ty} a, b"), &[ty, ty], ty, |x| {
                    reference(format, x[0], x[1], direction)
                });
            }
            let fused = |x: &[u64]| exact::fma(format, x[0], x[1], x[2], direction);
            check(&format!("$ = fma.{name}.{ty} a, b, c"), &[ty; 3], ty, fused);
            if ty != "f16" {
                check(&format!("$ = mad.{name}.{ty} a, b, c"), &[ty; 3], ty, fused);
                check(&format!("$ = sqrt.{name}.{ty} a"), &[ty], ty, |x| exact::sqrt(format, x[0], direction));
                check(&format!("$ = rcp.{name}.{ty} a"), &[ty], ty, |x| {
                    exact::div(format, format.one(), x[0], direction)
                });
            }
        }
        // Rounding left out is to nearest.
        check(&format!("$ = add.{ty} a, b"), &[ty, ty], ty, |x| exact::add(format, x[0], x[1], Direction::Nearest));
        check(&format!("$ = fma.{ty} a, b, c"), &[ty; 3], ty, |x| {
            exact::fma(format, x[0], x[1], x[2], Direction::Nearest)
        });
    }
}

/// Sums and products that fall on ties, or just beside them, where a second rounding would show.
#[test]
fn fused_products_that_a_second_rounding_would_spoil() {
    for ty in FLOATS {
        let format = Format::of(ty);
        let (one, step) = (format.one(), 1u64 << format.fraction);
        let sign = 1u64 << (format.exponent + format.fraction);
        let mut operands = Vec::new();
        for (a, b) in [(1, 1), (1, 3), (2, 5), (step / 2, 1), (step - 1, step - 1), (step / 2 + 1, step / 2)] {
            for tiny in [0, 1, 1 << format.fraction, one - (step * u64::from(format.fraction + 2))] {
                for sign in [0, sign] {
                    operands.push(vec![one + a, one + b, tiny | sign]);
                    operands.push(vec![one + a, (one + b) | sign, one - step * u64::from(format.fraction) + tiny % 7]);
                }
            }
        }
        for (name, direction) in DIRECTIONS {
            check_on(&format!("$ = fma.{name}.{ty} a, b, c"), &[ty; 3], ty, &operands, |x| {
                exact::fma(format, x[0], x[1], x[2], direction)
            });
        }
    }
}

#[test]
fn signs_minima_and_maxima_of_floats() {
    for ty in FLOATS {
        let format = Format::of(ty);
        let sign = format.nan() + 1;
        check(&format!("$ = neg.{ty} a"), &[ty], ty, |x| format.canonical(x[0] ^ sign));
        check(&format!("$ = abs.{ty} a"), &[ty], ty, |x| format.canonical(x[0] & !sign));
        check(&format!("$ = min.{ty} a, b"), &[ty, ty], ty, |x| exact::min(format, x[0], x[1]));
        check(&format!("$ = max.{ty} a, b"), &[ty, ty], ty, |x| exact::max(format, x[0], x[1]));
        if ty != "f16" {
            // The second operand with the sign of the first, be that a NaN's.
            check(&format!("$ = copysign.{ty} a, b"), &[ty, ty], ty, |x| {
                let negative = format.negative(x[0]);
                format.canonical(format.magnitude(x[1]) | if negative { sign } else { 0 })
            });
        }
    }
}

#[test]
fn flushed_and_saturated_floats() {
    for (ty, formats) in [("f32", F32), ("f16", exact::F16)] {
        let format = formats;
        let flush = |bits: u64| format.flush(bits);
        let nearest = Direction::Nearest;
        for (suffix, flushes, saturates) in [(".ftz", true, false), (".sat", false, true), (".ftz.sat", true, true)] {
            let before = |bits: u64| if flushes { flush(bits) } else { bits };
            let behind = |bits: u64| {
                let bits = if flushes { flush(bits) } else { bits };
                if saturates { format.saturate(bits) } else { bits }
            };
            type Binary = fn(Format, u64, u64, Direction) -> u64;
            for (name, reference) in
                [("add", exact::add as Binary), ("sub", exact::sub as Binary), ("mul", exact::mul as Binary)]
            {
                check(&format!("$ = {name}{suffix}.{ty} a, b"), &[ty, ty], ty, |x| {
                    behind(reference(format, before(x[0]), before(x[1]), nearest))
                });
            }
            check(&format!("$ = fma{suffix}.{ty} a, b, c"), &[ty; 3], ty, |x| {
                behind(exact::fma(format, before(x[0]), before(x[1]), before(x[2]), nearest))
            });
        }
        for (name, reference) in
            [("min", exact::min as fn(Format, u64, u64) -> u64), ("max", exact::max as fn(Format, u64, u64) -> u64)]
        {
            check(&format!("$ = {name}.ftz.{ty} a, b"), &[ty, ty], ty, |x| {
                flush(reference(format, flush(x[0]), flush(x[1])))
            });
        }
        let sign = format.nan() + 1;
        check(&format!("$ = neg.ftz.{ty} a"), &[ty], ty, |x| format.canonical(flush(x[0]) ^ sign));
        check(&format!("$ = abs.ftz.{ty} a"), &[ty], ty, |x| format.canonical(flush(x[0]) & !sign));
    }
    let flush = |bits: u64| F32.flush(bits);
    for (name, direction) in DIRECTIONS {
        check(&format!("$ = div.{name}.ftz.f32 a, b"), &["f32"; 2], "f32", |x| {
            flush(exact::div(F32, flush(x[0]), flush(x[1]), direction))
        });
        check(&format!("$ = sqrt.{name}.ftz.f32 a"), &["f32"], "f32", |x| {
            flush(exact::sqrt(F32, flush(x[0]), direction))
        });
        check(&format!("$ = rcp.{name}.ftz.f32 a"), &["f32"], "f32", |x| {
            flush(exact::div(F32, F32.one(), flush(x[0]), direction))
        });
        check(&format!("$ = mul.{name}.sat.f32 a, b"), &["f32"; 2], "f32", |x| {
            F32.saturate(exact::mul(F32, x[0], x[1], direction))
        });
    }
    check("$ = add.sat.f64 a, b", &["f64"; 2], "f64", |x| {
        F64.saturate(exact::add(F64, x[0], x[1], Direction::Nearest))
    });
}

/// The definition: `rcp`, `sqrt` and `div` are correctly rounded in their approximate forms too.
#[test]
fn approximate_forms_of_exact_functions_are_rounded_to_nearest() {
    let nearest = Direction::Nearest;
    for (suffix, flushes) in [("", false), (".ftz", true)] {
        let flush = |bits: u64| if flushes { F32.flush(bits) } else { bits };
        for form in ["approx", "full"] {
            check(&format!("$ = div.{form}{suffix}.f32 a, b"), &["f32"; 2], "f32", |x| {
                flush(exact::div(F32, flush(x[0]), flush(x[1]), nearest))
            });
        }
        check(&format!("$ = sqrt.approx{suffix}.f32 a"), &["f32"], "f32", |x| {
            flush(exact::sqrt(F32, flush(x[0]), nearest))
        });
        check(&format!("$ = rcp.approx{suffix}.f32 a"), &["f32"], "f32", |x| {
            flush(exact::div(F32, F32.one(), flush(x[0]), nearest))
        });
    }
}

/// The definition: the double-precision function of `libm`, rounded once to single precision. The host's own functions
/// say that it is also within one unit in the last place of the truth.
#[test]
fn approximate_functions_are_libms_rounded_once() {
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function, Function); 5] = [
        ("sin", libm::sin, f64::sin),
        ("cos", libm::cos, f64::cos),
        ("ex2", libm::exp2, f64::exp2),
        ("lg2", libm::log2, f64::log2),
        ("rsqrt", |x| 1.0 / libm::sqrt(x), |x| 1.0 / x.sqrt()),
    ];
    for (name, definition, host) in functions {
        for (suffix, flushes) in [("", false), (".approx", false), (".approx.ftz", true)] {
            let flush = |bits: u64| if flushes { F32.flush(bits) } else { bits };
            check(&format!("$ = {name}{suffix}.f32 a"), &["f32"], "f32", |x| {
                let operand = f64::from(f32::from_bits(flush(x[0]) as u32));
                let defined = F32.canonical((definition(operand) as f32).to_bits().into());
                let truth = F32.canonical((host(operand) as f32).to_bits().into());
                let steps = (defined as i64 - truth as i64).abs();
                assert!(steps <= 1, "{name} of {operand:e} is {steps} steps away");
                flush(defined)
            });
        }
    }
    // Single-precision functions would differ in one number of some thousands.
    for step in 0..40_000 {
        let x = step as f32 * 0.000_7 - 14.0;
        assert_eq!(approx::sin(x).to_bits(), (libm::sin(x.into()) as f32).to_bits(), "sin {x}");
        assert_eq!(approx::cos(x).to_bits(), (libm::cos(x.into()) as f32).to_bits(), "cos {x}");
        assert_eq!(approx::ex2(x).to_bits(), (libm::exp2(x.into()) as f32).to_bits(), "ex2 {x}");
        assert_eq!(approx::lg2(x.abs()).to_bits(), (libm::log2(x.abs().into()) as f32).to_bits(), "lg2 {x}");
        let root = 1.0 / f64::from(x.abs()).sqrt();
        assert_eq!(approx::rsqrt32(x.abs()).to_bits(), (root as f32).to_bits(), "rsqrt {x}");
    }
    check("$ = rsqrt.approx.f64 a", &["f64"], "f64", |x| F64.canonical((1.0 / f64::from_bits(x[0]).sqrt()).to_bits()));
}

#[test]
fn moves_and_packing() {
    for ty in ["b16", "b32", "b64", "u16", "s32", "u64"] {
        check(&format!("$ = mov.{ty} a"), &[ty], ty, |x| x[0]);
    }
    for ty in FLOATS {
        check(&format!("$ = mov.{ty} a"), &[ty], ty, |x| x[0]);
    }
    check("$ = mov.b32 {a, b}", &["b16", "b16"], "b32", |x| x[0] | x[1] << 16);
    check("$ = mov.b64 {a, b}", &["b32", "b32"], "b64", |x| x[0] | x[1] << 32);
    check("$ = mov.b64 {a, b, c, d}", &["b16"; 4], "b64", |x| x[0] | x[1] << 16 | x[2] << 32 | x[3] << 48);
    check("$ = mov.b16 {a, b}", &["b8"; 2], "b16", |x| x[0] | x[1] << 8);
    check("$ = mov.b32 {a, b, c, d}", &["b8"; 4], "b32", |x| x[0] | x[1] << 8 | x[2] << 16 | x[3] << 24);
    check("{t, $} = mov.b64 a", &["b64"], "b32", |x| x[0] >> 32);
    check("{$, t} = mov.b32 a", &["b32"], "b16", |x| x[0] & 0xFFFF);
    check("{s, t, u, $} = mov.b64 a", &["b64"], "b16", |x| x[0] >> 48);
    check("{s, t, $, u} = mov.b32 a", &["b32"], "b8", |x| x[0] >> 16 & 0xFF);
}

#[test]
fn selections() {
    for ty in ["b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64"] {
        check(&format!("$ = selp.{ty} a, b, c"), &[ty, ty, "pred"], ty, |x| x[usize::from(x[2] == 0)]);
        check(&format!("$ = selp.{ty} a, b, !c"), &[ty, ty, "pred"], ty, |x| x[usize::from(x[2] != 0)]);
    }
}

/// Whatever the operands, `work` is the same function of them; and a float lies in [1, 2).
#[test]
fn work_is_a_function_of_its_operands() {
    let operands: Vec<Vec<u64>> = (0..64).map(|at| vec![at % 8, at / 8]).collect();
    for ty in ["u16", "s32", "b64"] {
        let results = computed(&format!("$ = work.{ty} 5, a, b"), &[ty, ty], ty, &operands);
        let distinct: BTreeSet<u64> = results.iter().copied().collect();
        assert_eq!(distinct.len(), 64, "operands in another order are other operands");
        assert_eq!(
            results,
            computed(&format!("$ = work.{ty} 9, a, b"), &[ty, ty], ty, &operands),
            "the time is no operand"
        );
    }
    for ty in FLOATS {
        let format = Format::of(ty);
        for result in computed(&format!("$ = work.{ty} 5, a, b"), &[ty, ty], ty, &operands) {
            assert!((format.one()..2 * (format.one() + (1 << format.fraction)) - format.one()).contains(&result));
            assert_eq!(result >> format.fraction, format.one() >> format.fraction, "{ty}: {result:#x}");
        }
    }
}

/// Every spelling of one modifier that parses has an operation: nothing is accepted and then ignored or refused.
#[test]
fn whatever_parses_has_an_operation() {
    let lane_by_lane = Op::ALL.iter().filter(|op| op.is_pure() && !matches!(op, Op::In | Op::Work));
    let flags = FLAG_NAMES.iter().map(|(_, name)| *name);
    let modifiers: Vec<&str> = Rounding::ALL.iter().map(|round| round.name()).chain(flags).chain([""]).collect();
    let mut spellings = 0;
    for &op in lane_by_lane {
        let firsts: Vec<&str> = match op {
            Op::Setp => Cmp::ALL.iter().map(|cmp| cmp.name()).collect(),
            Op::ShfL | Op::ShfR => vec!["wrap", "clamp"],
            _ => vec![""],
        };
        let sources: Vec<&str> = if op == Op::Cvt { Type::ALL.iter().map(|ty| ty.name()).collect() } else { vec![""] };
        for (first, modifier) in firsts.iter().flat_map(|a| modifiers.iter().map(move |b| (*a, *b))) {
            for (ty, source) in Type::ALL.iter().flat_map(|a| sources.iter().map(move |b| (a.name(), *b))) {
                let words = [op.name(), first, modifier, ty, source];
                let text: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
                if let Ok(opcode) = Opcode::from_spelling(&text.join(".")) {
                    spellings += 1;
                    assert!(select(opcode).is_some(), "`{opcode}`");
                }
            }
        }
    }
    assert!(spellings > 1000, "{spellings}");
}

#[test]
fn suffixes_that_do_not_go_with_the_type_are_refused() {
    for text in [
        "add.sat.u32",
        "mul.sat.s32",
        "mad.sat.s32",
        "mul.cc.u32",
        "add.cc.u16",
        "add.cc.f32",
        "add.ftz.s32",
        "add.ftz.f64",
        "div.approx.s32",
        "rcp.rn.ftz.f64",
        "cvt.ftz.f64.s32",
        "setp.num.s32",
        "setp.equ.u32",
        "setp.lo.f32",
        "setp.lt.ftz.u32",
        "add.rn.u32",
        "atom.global.and.f32",
        "atom.global.inc.s32",
        "atom.global.dec.f32",
        "redux.sync.add.b32",
        "redux.sync.max.b32",
        "redux.sync.exch.b32",
        "redux.sync.inc.u32",
    ] {
        let refused = matches!(
            Opcode::from_spelling(text),
            Err(SpellingError::SuffixForType(..) | SpellingError::UnknownSuffix(..))
        );
        assert!(refused, "`{text}`: {:?}", Opcode::from_spelling(text));
    }
    for text in ["div.rn.approx.f32", "div.approx.full.f32", "rcp.rz.approx.f32", "shf.l.wrap.clamp.b32"] {
        let refused = matches!(Opcode::from_spelling(text), Err(SpellingError::Repeated(..)));
        assert!(refused, "`{text}`: {:?}", Opcode::from_spelling(text));
    }
    for text in [
        "add.sat.s32",
        "mad.hi.sat.s32",
        "add.ftz.f16",
        "rcp.approx.ftz.f64",
        "cvt.ftz.s32.f32",
        "cvt.sat.u8.s32",
        "setp.lo.u32",
        "atom.global.inc.u32",
        "atom.global.and.b32",
        "atom.global.min.f32",
        "redux.sync.min.s32",
        "redux.xor.b32",
    ] {
        assert!(Opcode::from_spelling(text).is_ok(), "`{text}`: {:?}", Opcode::from_spelling(text));
    }
}
