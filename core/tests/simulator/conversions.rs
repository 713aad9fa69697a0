//! `cvt` between every two types, with every rounding, `.sat` and `.ftz`, against integers of 128 bits and the exact
//! arithmetic of [`super::exact`]; registers wider than what is written or read.

use super::exact::{self, DIRECTIONS, Direction, F32, Format};
use super::operands::{check, width};

const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
const FLOATS: [&str; 3] = ["f16", "f32", "f64"];
const INTEGRAL: [(&str, Direction); 4] =
    [("rni", Direction::Nearest), ("rzi", Direction::Zero), ("rmi", Direction::Down), ("rpi", Direction::Up)];

fn value(bits: u64, ty: &str) -> i128 {
    let width = width(ty);
    if ty.starts_with('s') { ((bits << (64 - width)) as i64 >> (64 - width)).into() } else { bits.into() }
}

fn mask(ty: &str) -> u64 {
    u64::MAX >> (64 - width(ty))
}

#[test]
fn integers_to_integers() {
    for from in INTEGERS {
        for to in INTEGERS {
            check(&format!("$ = cvt.{to}.{from} a"), &[from], to, |x| value(x[0], from) as u64 & mask(to));
            let highest = 1i128 << (width(to) - 1);
            let (least, most) = if to.starts_with('s') { (-highest, highest - 1) } else { (0, i128::from(mask(to))) };
            check(&format!("$ = cvt.sat.{to}.{from} a"), &[from], to, |x| {
                value(x[0], from).clamp(least, most) as u64 & mask(to)
            });
        }
    }
}

#[test]
fn integers_to_floats() {
    for from in INTEGERS {
        for to in FLOATS {
            let format = Format::of(to);
            for (name, direction) in DIRECTIONS {
                let converted = |x: &[u64]| exact::from_integer(format, value(x[0], from), direction);
                check(&format!("$ = cvt.{name}.{to}.{from} a"), &[from], to, converted);
                check(&format!("$ = cvt.{name}.sat.{to}.{from} a"), &[from], to, |x| format.saturate(converted(x)));
            }
            check(&format!("$ = cvt.{to}.{from} a"), &[from], to, |x| {
                exact::from_integer(format, value(x[0], from), Direction::Nearest)
            });
        }
    }
}

/// Out of range is clamped, with `.sat` and without. Rounding left out is towards zero.
#[test]
fn floats_to_integers() {
    for from in FLOATS {
        let format = Format::of(from);
        for to in INTEGERS {
            let converted =
                |bits: u64, direction| exact::to_integer(format, bits, width(to), to.starts_with('s'), direction);
            for (name, direction) in INTEGRAL {
                for sat in ["", ".sat"] {
                    check(&format!("$ = cvt.{name}{sat}.{to}.{from} a"), &[from], to, |x| converted(x[0], direction));
                }
            }
            check(&format!("$ = cvt.{to}.{from} a"), &[from], to, |x| converted(x[0], Direction::Zero));
            if from == "f32" {
                check(&format!("$ = cvt.rpi.ftz.{to}.f32 a"), &["f32"], to, |x| {
                    converted(F32.flush(x[0]), Direction::Up)
                });
            }
        }
    }
}

#[test]
fn floats_to_floats() {
    for from in FLOATS {
        for to in FLOATS {
            let (source, result) = (Format::of(from), Format::of(to));
            for (name, direction) in DIRECTIONS {
                let converted = |x: &[u64]| exact::convert(source, result, x[0], direction);
                check(&format!("$ = cvt.{name}.{to}.{from} a"), &[from], to, converted);
                check(&format!("$ = cvt.{name}.sat.{to}.{from} a"), &[from], to, |x| result.saturate(converted(x)));
            }
            check(&format!("$ = cvt.{to}.{from} a"), &[from], to, |x| {
                exact::convert(source, result, x[0], Direction::Nearest)
            });
            for (name, direction) in INTEGRAL {
                let integral = |x: &[u64]| {
                    let whole = exact::to_integral(source, x[0], direction);
                    exact::convert(source, result, whole, direction)
                };
                check(&format!("$ = cvt.{name}.{to}.{from} a"), &[from], to, integral);
                check(&format!("$ = cvt.{name}.sat.{to}.{from} a"), &[from], to, |x| result.saturate(integral(x)));
            }
            // `.ftz` is about f32, on either side.
            if from == "f32" || to == "f32" {
                check(&format!("$ = cvt.rz.ftz.{to}.{from} a"), &[from], to, |x| {
                    let operand = if from == "f32" { F32.flush(x[0]) } else { x[0] };
                    let converted = exact::convert(source, result, operand, Direction::Zero);
                    if to == "f32" { F32.flush(converted) } else { converted }
                });
            }
        }
    }
}

/// A 32- or 64-bit register takes a narrower number by its sign, and gives its low bits.
#[test]
fn registers_wider_than_the_number() {
    let narrow = ["u8", "s8", "u16", "s16", "u32", "s32"];
    for ty in narrow {
        for wide in ["u32", "u64"] {
            if width(ty) >= width(wide) {
                continue;
            }
            let extended = |bits: u64| value(bits & mask(ty), ty) as u64 & mask(wide);
            check(&format!("reg_{ty} = cvt.{ty}.f32 a\n$ = cvt.{wide}.{ty} reg_{ty}"), &["f32"], wide, |x| {
                extended(exact::to_integer(F32, x[0], width(ty), ty.starts_with('s'), Direction::Zero))
            });
            check(&format!("$ = add.{wide} b, 0\n$ = cvt.{ty}.{wide} a"), &[wide, wide], wide, |x| extended(x[0]));
            check(&format!("$ = add.{wide} b, 0\n$ = cvt.sat.{ty}.{wide} a"), &[wide, wide], wide, |x| {
                let highest = 1i128 << (width(ty) - 1);
                let least = if ty.starts_with('s') { -highest } else { 0 };
                let most = if ty.starts_with('s') { highest - 1 } else { 2 * highest - 1 };
                value(x[0], wide).clamp(least, most) as u64 & mask(wide)
            });
            check(&format!("$ = cvt.{wide}.{ty} a"), &[wide], wide, |x| extended(x[0]));
        }
    }
}
