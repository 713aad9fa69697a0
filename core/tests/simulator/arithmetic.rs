//! Every arithmetic opcode against plain Rust, on random operands that favour the edges of their types.
// `a < b || a > b` is the ordered `ne`: unlike `a != b` it is false where one of them is NaN.
#![allow(clippy::double_comparisons)]

use super::run;
use proptest::prelude::*;
use std::fmt::Write;

type Reference = fn(u64, u64, u64) -> u64;

/// What visible NaN is.
fn f32_bits(value: f32) -> u64 {
    if value.is_nan() { 0x7FFF_FFFF } else { u64::from(value.to_bits()) }
}

fn f64_bits(value: f64) -> u64 {
    if value.is_nan() { 0x7FFF_FFFF_FFFF_FFFF } else { value.to_bits() }
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn s(bits: u64) -> i32 {
    bits as i32
}

fn word(value: i32) -> u64 {
    u64::from(value as u32)
}

fn w(bits: u64) -> i64 {
    bits as i64
}

/// PTX's `prmt` without a mode.
fn prmt(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (a & 0xFFFF_FFFF) | b << 32;
    (0..4).fold(0, |result, at| {
        let choice = selector >> (4 * at) & 0xF;
        let byte = bytes >> (8 * (choice & 7)) & 0xFF;
        let byte = if choice & 8 == 0 {
            byte
        } else if byte & 0x80 == 0 {
            0
        } else {
            0xFF
        };
        result | byte << (8 * at)
    })
}

/// PTX's `bfe`, whose field may reach beyond the top; the sign bit is then the number's own.
fn bfe(a: u64, position: u64, length: u64, signed: bool) -> u64 {
    let (position, length) = (position & 0xFF, length & 0xFF);
    let bit = |at: u64| if at < 32 { a >> at & 1 } else { 0 };
    let sign = if signed && length > 0 { bit((position + length - 1).min(31)) } else { 0 };
    let fill = |at: u64| if at < length && position + at < 32 { bit(position + at) } else { sign };
    (0..32).fold(0, |result, at| result | fill(at) << at)
}

/// PTX's `bfi`: `length` bits of `a` into `b`.
fn bfi(a: u64, b: u64, position: u64, length: u64) -> u64 {
    let inside = |at: u64| at >= position && at < position + length;
    (0..32).fold(0, |result, at| result | (if inside(at) { a >> (at - position) & 1 } else { b >> at & 1 }) << at)
}

/// The opcode with its operands, the type of `a b c`, the type of the result, and what it is.
const OPERATIONS: &[(&str, &str, &str, Reference)] = &[
    ("add.u32 a, b", "u32", "u32", |a, b, _| a.wrapping_add(b) & 0xFFFF_FFFF),
    ("sub.u32 a, b", "u32", "u32", |a, b, _| a.wrapping_sub(b) & 0xFFFF_FFFF),
    ("mul.u32 a, b", "u32", "u32", |a, b, _| a.wrapping_mul(b) & 0xFFFF_FFFF),
    ("mul.hi.u32 a, b", "u32", "u32", |a, b, _| (a * b) >> 32),
    ("mul.hi.s32 a, b", "s32", "u32", |a, b, _| ((i64::from(s(a)) * i64::from(s(b))) >> 32) as u64 & 0xFFFF_FFFF),
    ("mul.wide.u32 a, b", "u32", "u64", |a, b, _| a * b),
    ("mul.wide.s32 a, b", "s32", "u64", |a, b, _| (i64::from(s(a)) * i64::from(s(b))) as u64),
    ("mad.u32 a, b, c", "u32", "u32", |a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xFFFF_FFFF),
    ("div.u32 a, b", "u32", "u32", |a, b, _| a.checked_div(b).unwrap_or(0xFFFF_FFFF)),
    ("div.s32 a, b", "s32", "u32", |a, b, _| if b == 0 { 0xFFFF_FFFF } else { word(s(a).wrapping_div(s(b))) }),
    ("neg.s32 a", "s32", "u32", |a, _, _| word(s(a).wrapping_neg())),
    ("abs.s32 a", "s32", "u32", |a, _, _| word(s(a).wrapping_abs())),
    ("min.u32 a, b", "u32", "u32", |a, b, _| a.min(b)),
    ("max.u32 a, b", "u32", "u32", |a, b, _| a.max(b)),
    ("min.s32 a, b", "s32", "u32", |a, b, _| word(s(a).min(s(b)))),
    ("max.s32 a, b", "s32", "u32", |a, b, _| word(s(a).max(s(b)))),
    ("and.b32 a, b", "b32", "u32", |a, b, _| a & b),
    ("or.b32 a, b", "b32", "u32", |a, b, _| a | b),
    ("xor.b32 a, b", "b32", "u32", |a, b, _| a ^ b),
    ("not.b32 a", "b32", "u32", |a, _, _| !a & 0xFFFF_FFFF),
    ("shl.b32 a, b", "b32", "u32", |a, b, _| if b > 31 { 0 } else { a << b & 0xFFFF_FFFF }),
    ("shr.u32 a, b", "u32", "u32", |a, b, _| if b > 31 { 0 } else { a >> b }),
    ("shr.s32 a, b", "s32", "u32", |a, b, _| word(s(a) >> b.min(31))),
    ("bfe.u32 a, b, c", "u32", "u32", |a, b, c| bfe(a, b, c, false)),
    ("bfe.s32 a, b, c", "s32", "u32", |a, b, c| bfe(a, b, c, true)),
    ("bfi.b32 a, b, 5, 11", "b32", "u32", |a, b, _| bfi(a, b, 5, 11)),
    ("bfi.b32 a, b, 25, 11", "b32", "u32", |a, b, _| bfi(a, b, 25, 11)),
    ("popc.b32 a", "b32", "u32", |a, _, _| u64::from(a.count_ones())),
    ("clz.b32 a", "b32", "u32", |a, _, _| u64::from((a as u32).leading_zeros())),
    ("brev.b32 a", "b32", "u32", |a, _, _| u64::from((a as u32).reverse_bits())),
    ("prmt.b32 a, b, c", "b32", "u32", prmt),
    ("add.u64 a, b", "u64", "u64", |a, b, _| a.wrapping_add(b)),
    ("mul.u64 a, b", "u64", "u64", |a, b, _| a.wrapping_mul(b)),
    ("mul.hi.u64 a, b", "u64", "u64", |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64),
    ("mul.hi.s64 a, b", "s64", "u64", |a, b, _| ((i128::from(w(a)) * i128::from(w(b))) >> 64) as u64),
    ("div.s64 a, b", "s64", "u64", |a, b, _| if b == 0 { !0 } else { w(a).wrapping_div(w(b)) as u64 }),
    ("div.u64 a, b", "u64", "u64", |a, b, _| a.checked_div(b).unwrap_or(!0)),
    ("min.s64 a, b", "s64", "u64", |a, b, _| w(a).min(w(b)) as u64),
    ("clz.b64 a", "b64", "u32", |a, _, _| u64::from(a.leading_zeros())),
    ("popc.b64 a", "b64", "u32", |a, _, _| u64::from(a.count_ones())),
    ("brev.b64 a", "b64", "u64", |a, _, _| a.reverse_bits()),
    ("add.f32 a, b", "f32", "f32", |a, b, _| f32_bits(f(a) + f(b))),
    ("sub.f32 a, b", "f32", "f32", |a, b, _| f32_bits(f(a) - f(b))),
    ("mul.f32 a, b", "f32", "f32", |a, b, _| f32_bits(f(a) * f(b))),
    ("fma.f32 a, b, c", "f32", "f32", |a, b, c| f32_bits(f(a).mul_add(f(b), f(c)))),
    ("div.rn.f32 a, b", "f32", "f32", |a, b, _| f32_bits(f(a) / f(b))),
    ("sqrt.rn.f32 a", "f32", "f32", |a, _, _| f32_bits(f(a).sqrt())),
    ("rcp.rn.f32 a", "f32", "f32", |a, _, _| f32_bits(1.0 / f(a))),
    ("neg.f32 a", "f32", "f32", |a, _, _| f32_bits(-f(a))),
    ("abs.f32 a", "f32", "f32", |a, _, _| f32_bits(f(a).abs())),
    ("add.sat.f32 a, b", "f32", "f32", |a, b, _| {
        let sum = f(a) + f(b);
        if sum.is_nan() || sum <= 0.0 { 0 } else { f32_bits(sum.min(1.0)) }
    }),
    ("add.f64 a, b", "f64", "f64", |a, b, _| f64_bits(d(a) + d(b))),
    ("mul.f64 a, b", "f64", "f64", |a, b, _| f64_bits(d(a) * d(b))),
    ("fma.f64 a, b, c", "f64", "f64", |a, b, c| f64_bits(d(a).mul_add(d(b), d(c)))),
    ("div.f64 a, b", "f64", "f64", |a, b, _| f64_bits(d(a) / d(b))),
    ("sqrt.f64 a", "f64", "f64", |a, _, _| f64_bits(d(a).sqrt())),
    ("cvt.rn.f32.s32 a", "s32", "f32", |a, _, _| f32_bits(s(a) as f32)),
    ("cvt.rn.f32.u64 a", "u64", "f32", |a, _, _| f32_bits(a as f32)),
    ("cvt.rn.f64.s64 a", "s64", "f64", |a, _, _| f64_bits(w(a) as f64)),
    ("cvt.rn.f32.f64 a", "f64", "f32", |a, _, _| f32_bits(d(a) as f32)),
    ("cvt.f64.f32 a", "f32", "f64", |a, _, _| f64_bits(f64::from(f(a)))),
    ("cvt.s64.s32 a", "s32", "u64", |a, _, _| i64::from(s(a)) as u64),
    ("cvt.u32.u64 a", "u64", "u32", |a, _, _| a & 0xFFFF_FFFF),
];

/// The result of an operation for each triple of operands.
fn computed(operation: &str, from: &str, to: &str, operands: &[[u64; 3]]) -> Vec<u64> {
    let memory = from.replace(['s', 'u', 'f'], "b");
    let mut source = format!(
        "kernel k(x: ptr.global, y: ptr.global, z: ptr.global, r: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n    \
         a = ld.global.{from} x[i]\n    b = ld.global.{from} y[i]\n    c = ld.global.{from} z[i]\n    \
         v = {operation}\n    st.global.{to} r[i], v\n    exit\n}}\nlaunch k {{\n    block {}\n",
        operands.len()
    );
    for (at, name) in ["x", "y", "z"].into_iter().enumerate() {
        let elements: Vec<String> = operands.iter().map(|triple| format!("{:#x}", triple[at])).collect();
        let _ = writeln!(source, "    {name} = buffer {memory}[{}] {{ {} }}", operands.len(), elements.join(", "));
    }
    let _ = writeln!(source, "    r = buffer {}[{}] const 0\n}}", to.replace(['s', 'u', 'f'], "b"), operands.len());
    run(&source).buffer("r").to_vec()
}

/// Bits of 64: edges of every type as often as anything else.
fn bits() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        any::<f32>().prop_map(|value| u64::from(value.to_bits())),
        any::<f64>().prop_map(f64::to_bits),
        0u64..40,
        (0u32..64).prop_map(|shift| 1 << shift),
        (0u32..64).prop_map(|shift| u64::MAX >> shift),
        prop::sample::select(vec![0x7F80_0000, 0xFF80_0000, 0x8000_0000, 1, 0x7FC0_0000, 0x3F80_0000, 0x007F_FFFF]),
        prop::sample::select(vec![f64::INFINITY, -0.0, 1.0, f64::MIN_POSITIVE, f64::MAX]).prop_map(f64::to_bits),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn every_operation_is_what_rust_computes(triples in prop::collection::vec([bits(), bits(), bits()], 32)) {
        for &(operation, from, to, reference) in OPERATIONS {
            let mask = if from.ends_with("64") { u64::MAX } else { 0xFFFF_FFFF };
            let operands: Vec<[u64; 3]> = triples.iter().map(|triple| triple.map(|bits| bits & mask)).collect();
            for (operands, found) in operands.iter().zip(computed(operation, from, to, &operands)) {
                let [a, b, c] = *operands;
                let expected = reference(a, b, c);
                prop_assert_eq!(found, expected, "{} of {:#x}, {:#x}, {:#x}", operation, a, b, c);
            }
        }
    }

    #[test]
    fn comparisons_are_ieee(triples in prop::collection::vec([bits(), bits(), bits()], 32)) {
        type Compare = fn(f32, f32) -> bool;
        let comparisons: [(&str, Compare); 8] = [
            ("eq", |a, b| a == b),
            ("ne", |a, b| a < b || a > b),
            ("lt", |a, b| a < b),
            ("ge", |a, b| a >= b),
            ("ltu", |a, b| a < b || a.is_nan() || b.is_nan()),
            ("neu", |a, b| a != b),
            ("num", |a, b| !a.is_nan() && !b.is_nan()),
            ("nan", |a, b| a.is_nan() || b.is_nan()),
        ];
        let operands: Vec<[u64; 3]> = triples.iter().map(|triple| triple.map(|bits| bits & 0xFFFF_FFFF)).collect();
        for (name, compare) in comparisons {
            // The first line is there because `computed` writes `v = ` before the text.
            let operation = format!("mov.u32 0\n    p = setp.{name}.f32 a, b\n    v = selp.u32 1, 0, p");
            let found = computed(&operation, "f32", "u32", &operands);
            for (&[a, b, _], found) in operands.iter().zip(found) {
                prop_assert_eq!(found, u64::from(compare(f(a), f(b))), "{} of {:#x}, {:#x}", name, a, b);
            }
        }
    }
}
