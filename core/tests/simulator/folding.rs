//! Results of `const-fold` for operations with a constant operand are right for every operand, edges first.

use super::operands::{Draws, width};
use super::run;
use std::fmt::Write;
use warpscope_core::pass::Step;
use warpscope_core::text::print;
use warpscope_core::verify::check;
use warpscope_testkit::laws;

const THREADS: usize = 64;

/// A kernel that does all operations to drawn numbers of a type, each with its own part of the result.
fn kernel(ty: &str, operations: &[(String, String)]) -> String {
    let mut draws = Draws::new(operations.len() as u64);
    let values: Vec<String> = (0..THREADS).map(|_| format!("{:#x}", draws.value(ty))).collect();
    let mut source = format!(
        "kernel k(x: ptr.global, r: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n    a = ld.global.{ty} x[i]\n    \
         low = and.b32 i, 1\n    p = setp.eq.u32 low, 1\n"
    );
    for (at, (operation, to)) in operations.iter().enumerate() {
        // Results of every width stand 8 bytes apart.
        let _ = writeln!(
            source,
            "    {}\n    st.global.{to} [r + 8*i + {}], v{at}",
            operation.replace('$', &format!("v{at}")),
            8 * THREADS * at
        );
    }
    let _ = write!(
        source,
        "    exit\n}}\nlaunch k {{\n    block {THREADS}\n    x = buffer b{}[{THREADS}] {{ {} }}\n    \
         r = buffer b64[{}] const 0\n}}\n",
        width(ty),
        values.join(", "),
        THREADS * operations.len()
    );
    source
}

/// Checks the operations in kernels of moderate size, as a session verifies a kernel after each rewrite. Gives how many
/// lines have changed.
fn check_folding(ty: &str, operations: &[(String, String)]) -> usize {
    operations.chunks(40).map(|some| check_kernel(ty, some)).sum()
}

/// Runs a kernel as it is and folded, and compares operation by operation.
fn check_kernel(ty: &str, operations: &[(String, String)]) -> usize {
    let source = kernel(ty, operations);
    let parsed = check(&source);
    let errors: Vec<_> = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let session = laws::every_step_is_sound(&parsed.module, &[Step::new("const-fold").expect("a pass")], false)
        .unwrap_or_else(|broken| panic!("{ty}: {broken:?}"));
    let folded = print(session.module());
    let (before, after) = (run(&source), run(&folded));
    let parts = before.buffer("r").chunks(THREADS).zip(after.buffer("r").chunks(THREADS));
    for ((operation, _), (before, after)) in operations.iter().zip(parts) {
        for (thread, (before, after)) in before.iter().zip(after).enumerate() {
            assert_eq!(after, before, "`{operation}` of {ty} in thread {thread}, folded");
        }
    }
    print(&parsed.module).lines().zip(folded.lines()).filter(|(before, after)| before != after).count()
}

#[test]
fn integers_with_a_constant() {
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        let mut operations = Vec::new();
        let bits = width(ty);
        let highest = 1u128 << (bits - 1);
        let mut constants =
            vec!["0".to_string(), "1".into(), "2".into(), "3".into(), "8".into(), (highest - 1).to_string()];
        if ty.starts_with('s') {
            constants.extend(["-1".to_string(), "-2".into(), format!("-{highest}")]);
        } else {
            constants.extend([(2 * highest - 1).to_string(), highest.to_string()]);
        }
        for constant in &constants {
            let mut add = |text: String| operations.push((text, ty.to_string()));
            for op in ["add", "sub", "mul", "mul.hi", "div", "rem", "min", "max"] {
                add(format!("$ = {op}.{ty} a, {constant}"));
                add(format!("$ = {op}.{ty} {constant}, a"));
            }
            for (x, y, z) in
                [("a", constant.as_str(), "a"), (constant, "a", "7"), ("3", constant, "a"), ("a", "a", constant)]
            {
                add(format!("$ = mad.{ty} {x}, {y}, {z}"));
                add(format!("$ = mad.hi.{ty} {x}, {y}, {z}"));
            }
            for cmp in ["eq", "ne", "lt", "le", "gt", "ge"].into_iter().chain(if ty.starts_with('u') {
                vec!["lo", "ls", "hi", "hs"]
            } else {
                vec![]
            }) {
                operations
                    .push((format!("q$ = setp.{cmp}.{ty} a, {constant}\n    $ = selp.u32 1, 0, q$"), "u32".into()));
            }
            if bits < 64 {
                let wide = format!("{}{}", &ty[..1], 2 * bits);
                operations.push((format!("$ = mul.wide.{ty} a, {constant}"), wide.clone()));
                operations.push((format!("$ = mad.wide.{ty} a, {constant}, 5"), wide.clone()));
                operations.push((format!("$ = mad.wide.{ty} {constant}, 2, 5"), wide));
            }
        }
        for cmp in ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"] {
            operations.push((format!("q$ = setp.{cmp}.{ty} a, a\n    $ = selp.u32 1, 0, q$"), "u32".into()));
        }
        for op in ["sub", "min", "max", "div", "rem"] {
            operations.push((format!("$ = {op}.{ty} a, a"), ty.into()));
        }
        for amount in [0, 1, bits - 1, bits, bits + 1, 255] {
            operations.push((format!("$ = shl.b{bits} a, {amount}"), ty.into()));
            operations.push((format!("$ = shr.{ty} a, {amount}"), ty.into()));
        }
        operations.push((format!("$ = selp.{ty} a, a, p"), ty.into()));
        operations.push((format!("$ = cvt.{ty}.{ty} a"), ty.into()));
        assert!(check_folding(ty, &operations) > 20, "{ty}");
    }
}

#[test]
fn bits_with_a_constant() {
    for ty in ["b16", "b32", "b64"] {
        let mut operations = Vec::new();
        let all = u64::MAX >> (64 - width(ty));
        for constant in [0, 1, all, all >> 1, 0xFF] {
            for op in ["and", "or", "xor"] {
                operations.push((format!("$ = {op}.{ty} a, {constant}"), ty.to_string()));
                operations.push((format!("$ = {op}.{ty} {constant}, a"), ty.to_string()));
            }
        }
        for op in ["and", "or", "xor"] {
            operations.push((format!("$ = {op}.{ty} a, a"), ty.to_string()));
        }
        if ty != "b16" {
            for (position, length) in [(0, 0), (0, 32), (4, 8), (40, 3), (8, 0), (0, 64), (255, 1)] {
                let number = ty.replace('b', "u");
                let signed = ty.replace('b', "s");
                operations.push((format!("$ = bfi.{ty} a, 5, {position}, {length}"), ty.to_string()));
                operations.push((format!("$ = bfi.{ty} 5, a, {position}, {length}"), ty.to_string()));
                operations.push((format!("$ = bfe.{number} a, {position}, {length}"), ty.to_string()));
                operations.push((format!("$ = bfe.{signed} a, {position}, {length}"), ty.to_string()));
            }
        }
        assert!(check_folding(ty, &operations) > 8, "{ty}");
    }
}

#[test]
fn floats_with_a_constant() {
    let constants =
        ["0.0", "-0.0", "1.0", "-1.0", "2.0", "-0.5", "3.0", "inf", "-inf", "nan", "1e-7", "4.0", "0.000061035156"];
    for ty in ["f16", "f32", "f64"] {
        let mut operations = Vec::new();
        let modifiers: &[&str] = match ty {
            "f64" => &["", ".rn", ".rz", ".rm", ".rp", ".sat"],
            _ => &["", ".rn", ".rz", ".rm", ".rp", ".sat", ".ftz", ".ftz.sat"],
        };
        for constant in constants {
            for modifier in modifiers {
                let mut add = |text: String| operations.push((text, ty.to_string()));
                for op in ["add", "sub", "mul"] {
                    add(format!("$ = {op}{modifier}.{ty} a, {constant}"));
                    add(format!("$ = {op}{modifier}.{ty} {constant}, a"));
                }
                if ty != "f16" && !modifier.contains("sat") {
                    add(format!("$ = div{modifier}.{ty} a, {constant}"));
                    add(format!("$ = div{modifier}.{ty} {constant}, a"));
                }
                add(format!("$ = fma{modifier}.{ty} a, {constant}, a"));
                add(format!("$ = fma{modifier}.{ty} {constant}, a, 0.5"));
                add(format!("$ = fma{modifier}.{ty} a, a, {constant}"));
            }
            for op in ["min", "max"] {
                operations.push((format!("$ = {op}.{ty} a, {constant}"), ty.to_string()));
            }
            // A result of arithmetic has no other NaN, which more identities ask for.
            for op in ["add", "sub", "mul", "fma"] {
                let addend = if op == "fma" { ", a" } else { "" };
                let text = format!("c$ = neg.{ty} a\n    $ = {op}.{ty} c$, {constant}{addend}");
                operations.push((text, ty.to_string()));
            }
            for cmp in ["eq", "ne", "lt", "geu", "neu", "num"] {
                operations
                    .push((format!("q$ = setp.{cmp}.{ty} a, {constant}\n    $ = selp.u32 1, 0, q$"), "u32".into()));
            }
        }
        for op in ["add", "sub", "mul", "min", "max"] {
            operations.push((format!("$ = {op}.{ty} a, a"), ty.to_string()));
            operations.push((format!("c$ = abs.{ty} a\n    $ = {op}.{ty} c$, c$"), ty.to_string()));
        }
        operations.push((format!("c$ = abs.{ty} a\n    $ = cvt.{ty}.{ty} c$"), ty.to_string()));
        for cmp in ["eq", "ne", "lt", "le", "equ", "ltu", "num", "nan"] {
            operations.push((format!("q$ = setp.{cmp}.{ty} a, a\n    $ = selp.u32 1, 0, q$"), "u32".into()));
        }
        operations.push((format!("$ = cvt.{ty}.{ty} a"), ty.into()));
        operations.push((format!("$ = cvt.sat.{ty}.{ty} a"), ty.into()));
        operations.push((format!("$ = cvt.rni.{ty}.{ty} a"), ty.into()));
        assert!(check_folding(ty, &operations) > 10, "{ty}");
    }
}
