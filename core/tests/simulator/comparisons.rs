//! `setp` with every comparison, on every type, with a third operand, with two destinations.

use super::exact::Format;
use super::operands::{Draws, check, width};
use std::cmp::Ordering;
use warpscope_core::ir::Opcode;
use warpscope_core::sim::evaluate;

const INTEGERS: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];
const BITS: [&str; 3] = ["b16", "b32", "b64"];
const FLOATS: [&str; 3] = ["f16", "f32", "f64"];

/// Does the comparison hold for that order? None is the order of what cannot be compared.
fn holds(cmp: &str, order: Option<Ordering>) -> bool {
    let (plain, unordered) = match cmp {
        "num" => return order.is_some(),
        "nan" => return order.is_none(),
        "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" => (&cmp[..2], true),
        _ => (cmp, false),
    };
    let Some(order) = order else { return unordered };
    match plain {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" | "lo" => order.is_lt(),
        "le" | "ls" => order.is_le(),
        "gt" | "hi" => order.is_gt(),
        "ge" | "hs" => order.is_ge(),
        _ => panic!("no comparison"),
    }
}

fn signed(bits: u64, ty: &str) -> i64 {
    let shift = 64 - width(ty);
    (bits << shift) as i64 >> shift
}

fn order_of(ty: &str, cmp: &str, x: &[u64]) -> Option<Ordering> {
    match &ty[..1] {
        "f" => Format::of(ty).compare(x[0], x[1]),
        "s" if !matches!(cmp, "lo" | "ls" | "hi" | "hs") => Some(signed(x[0], ty).cmp(&signed(x[1], ty))),
        _ => Some(x[0].cmp(&x[1])),
    }
}

/// The comparison's result as a number, and the opposite that a second destination gets.
fn check_comparison(cmp: &str, ty: &str) {
    let expected = |x: &[u64]| u64::from(holds(cmp, order_of(ty, cmp, x)));
    check(&format!("p = setp.{cmp}.{ty} a, b\n$ = selp.u32 1, 0, p"), &[ty, ty], "u32", expected);
    let both = format!(
        "{{p, o}} = setp.{cmp}.{ty} a, b\nfirst = selp.u32 1, 0, p\nsecond = selp.u32 2, 0, o\n$ = add.u32 first, \
         second"
    );
    check(&both, &[ty, ty], "u32", |x| if expected(x) == 1 { 1 } else { 2 });
    let opcode = Opcode::from_spelling(&format!("setp.{cmp}.{ty}")).expect("a comparison");
    for x in Draws::new(3).tuples(&[ty, ty]).iter().step_by(16) {
        assert_eq!(evaluate(opcode, x), Some(expected(x)), "`{opcode}` of {x:#x?} as constants");
    }
}

#[test]
fn integers() {
    for ty in INTEGERS {
        for cmp in ["eq", "ne", "lt", "le", "gt", "ge"] {
            check_comparison(cmp, ty);
        }
        for cmp in ["lo", "ls", "hi", "hs"] {
            check_comparison(cmp, ty);
        }
    }
    for ty in BITS {
        for cmp in ["eq", "ne"] {
            check_comparison(cmp, ty);
        }
    }
}

#[test]
fn floats_ordered_and_unordered() {
    for ty in FLOATS {
        for cmp in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
            check_comparison(cmp, ty);
        }
    }
    for ty in ["f16", "f32"] {
        let format = Format::of(ty);
        for cmp in ["eq", "lt", "geu", "neu"] {
            check(&format!("p = setp.{cmp}.ftz.{ty} a, b\n$ = selp.u32 1, 0, p"), &[ty, ty], "u32", |x| {
                u64::from(holds(cmp, format.compare(format.flush(x[0]), format.flush(x[1]))))
            });
        }
    }
}

/// A third operand meets the comparison for the first destination, and its opposite for the second.
#[test]
fn comparisons_combined_with_a_predicate() {
    type Combine = fn(bool, bool) -> bool;
    let combines: [(&str, Combine); 3] = [("and", |a, b| a && b), ("or", |a, b| a || b), ("xor", |a, b| a != b)];
    for (ty, cmp) in [("s32", "lt"), ("u64", "ge"), ("u16", "ne"), ("f32", "ltu"), ("f64", "num"), ("f16", "gt")] {
        for (name, combine) in combines {
            for (operand, negated) in [("c", false), ("!c", true)] {
                let text = format!(
                    "{{p, o}} = setp.{cmp}.{name}.{ty} a, b, {operand}\nfirst = selp.u32 1, 0, p\n\
                     second = selp.u32 2, 0, o\n$ = add.u32 first, second"
                );
                check(&text, &[ty, ty, "pred"], "u32", |x| {
                    let test = holds(cmp, order_of(ty, cmp, x));
                    let other = (x[2] != 0) != negated;
                    u64::from(combine(test, other)) + 2 * u64::from(combine(!test, other))
                });
                if !negated {
                    let opcode = Opcode::from_spelling(&format!("setp.{cmp}.{name}.{ty}")).expect("a comparison");
                    for x in Draws::new(4).tuples(&[ty, ty, "pred"]).iter().step_by(16) {
                        let result = combine(holds(cmp, order_of(ty, cmp, x)), x[2] != 0);
                        assert_eq!(evaluate(opcode, x), Some(result.into()), "`{opcode}` of {x:#x?} as constants");
                    }
                }
                // The first destination alone.
                let text = format!("p = setp.{cmp}.{name}.{ty} a, b, {operand}\n$ = selp.u32 1, 0, p");
                check(&text, &[ty, ty, "pred"], "u32", |x| {
                    u64::from(combine(holds(cmp, order_of(ty, cmp, x)), (x[2] != 0) != negated))
                });
            }
        }
    }
}

#[test]
fn logic_on_predicates() {
    let check_logic = |text: &str, reference: fn(bool, bool) -> bool| {
        check(&format!("p = {text}\n$ = selp.u32 1, 0, p"), &["pred", "pred"], "u32", |x| {
            u64::from(reference(x[0] != 0, x[1] != 0))
        });
    };
    check_logic("and.pred a, b", |a, b| a && b);
    check_logic("or.pred a, b", |a, b| a || b);
    check_logic("xor.pred a, b", |a, b| a != b);
    check_logic("not.pred a", |a, _| !a);
    check_logic("mov.pred b", |_, b| b);
    check_logic("mov.pred 1", |_, _| true);
    check_logic("and.pred a, 1", |a, _| a);
}

/// A destination may be an operand.
#[test]
fn destinations_among_the_operands() {
    check("q2 = mov.pred a\nq2 = setp.lt.xor.u32 b, 7, q2\n$ = selp.u32 1, 0, q2", &["pred", "u32"], "u32", |x| {
        u64::from((x[0] != 0) != (x[1] < 7))
    });
    check("t = mov.u32 a\nt = selp.u32 b, t, c\n$ = mov.u32 t", &["u32", "u32", "pred"], "u32", |x| {
        if x[2] != 0 { x[1] } else { x[0] }
    });
    check("t = mov.u32 a\nt = selp.u32 t, b, c\n$ = mov.u32 t", &["u32", "u32", "pred"], "u32", |x| {
        if x[2] != 0 { x[0] } else { x[1] }
    });
    check("t = mov.u64 a\nt = mul.hi.u64 t, t\n$ = mov.u64 t", &["u64"], "u64", |x| {
        ((u128::from(x[0]) * u128::from(x[0])) >> 64) as u64
    });
    check("t = mov.b32 a\nt = prmt.b32 t, t, t\n$ = mov.b32 t", &["b32"], "b32", |x| {
        (0..4).fold(0, |word, at| {
            let selector = x[0] >> (4 * at) & 0xF;
            let picked = x[0] >> (8 * (selector & 3)) & 0xFF;
            word | if selector < 8 { picked } else { (picked >> 7) * 0xFF } << (8 * at)
        })
    });
}
