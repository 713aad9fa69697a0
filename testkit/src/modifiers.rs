//! Programs whose operations differ in their modifiers only.
//!
//! ```text
//! v0 = setp.lt.and.u32 a, b, q
//! v1 = setp.lt.or.u32 a, b, q          the same but for how it is combined
//! v2 = add.rz.f32 x, y
//! v3 = add.rm.f32 x, y                 the same but for how it is rounded
//! ```
//!
//! In the programs of the other generators most modifiers are rare, and two operations that are
//! equal but for them rarer still, so that a pass may take one for the other and nobody notices.
//! Here there are a few operands and operations, and each result is stored: by lanes, in two blocks
//! of which some lanes leave out the second.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Modifiers {
    /// Instructions of the first block, and of the second.
    blocks: [Vec<Inst>; 2],
}

#[derive(Clone, Debug)]
struct Inst {
    operation: u8,
    modifiers: [u8; 3],
    args: [u8; 3],
}

/// Any such program.
pub fn modifiers() -> impl Strategy<Value = Modifiers> {
    let inst = (0..9_u8, any::<[u8; 3]>(), any::<[u8; 3]>());
    let inst = inst.prop_map(|(operation, modifiers, args)| Inst { operation, modifiers, args });
    [vec(inst.clone(), 1..16), vec(inst, 0..16)].prop_map(|blocks| Modifiers { blocks })
}

/// The program as text, with a launch.
pub fn program(recipe: &Modifiers) -> String {
    let results: usize = recipe.blocks.iter().map(Vec::len).sum();
    let mut text = String::from(
        "kernel k(i: ptr.global, f: ptr.global, o: ptr.global) {\nentry:\n    at = mul.u32 %tid, 2\n    a = \
         ld.global.u32 i[at]\n    \
         b = ld.global.u32 i[at + 1]\n    x = ld.global.f32 f[at]\n    y = ld.global.f32 f[at + 1]\n    q = \
         setp.lt.u32 a, 3\n    \
         r = setp.gt.f32 x, y\n",
    );
    let _ = writeln!(text, "    out = mul.u32 %tid, {results}");
    let mut number = 0;
    for (place, block) in recipe.blocks.iter().enumerate() {
        if place == 1 {
            text += "    br q, second, end\nsecond:\n";
        }
        for inst in block {
            write(&mut text, inst, number);
            number += 1;
        }
    }
    text += "    br end\nend:\n    ret\n}\n\nlaunch k {\n    grid 1\n    block 16\n    warp 8\n    \
             i = buffer u32[32] random(0, 6)\n    f = buffer f32[32] random(-3, 3)\n";
    let _ = writeln!(text, "    o = buffer u32[{}] const 0\n}}", 16 * results);
    text
}

/// Writes an instruction, and stores its result.
fn write(text: &mut String, inst: &Inst, number: usize) {
    let Inst { operation, modifiers: [first, second, third], args } = *inst;
    let pick = |words: &[&'static str], by: u8| words[usize::from(by) % words.len()];
    let rounding = pick(&["", ".rn", ".rz", ".rm", ".rp"], first);
    let to_integer = pick(&["", ".rni", ".rzi", ".rmi", ".rpi"], first);
    let (flush, saturation) = (pick(&["", ".ftz"], second), pick(&["", "", ".sat"], third));
    let ints = args.map(|arg| pick(&["a", "b"], arg));
    let floats = args.map(|arg| pick(&["x", "y"], arg));
    let comparison = pick(&["lt", "ge", "eq"], first);
    let combined = pick(&["", ".and", ".or", ".xor"], second);
    let last = if combined.is_empty() { String::new() } else { format!(", {}", pick(&["q", "r", "!q"], third)) };
    let ([i, j, _], [f, g, h]) = (ints, floats);
    let (ty, computed) = match operation {
        0 => ("pred", format!("setp.{comparison}{combined}.u32 {i}, {j}{last}")),
        1 => ("pred", format!("setp.{comparison}{combined}.s32 {i}, {j}{last}")),
        2 => ("pred", format!("setp.{comparison}{combined}.f32 {f}, {g}{last}")),
        3 => ("f32", format!("add{rounding}{flush}{saturation}.f32 {f}, {g}")),
        4 => ("f32", format!("mul{rounding}{flush}{saturation}.f32 {f}, {g}")),
        5 => ("f32", format!("fma{rounding}{flush}{saturation}.f32 {f}, {g}, {h}")),
        6 => ("s32", format!("cvt{to_integer}{flush}.s32.f32 {f}")),
        7 => ("f32", format!("cvt{rounding}.f32.u32 {i}")),
        _ => ("u32", format!("{}.u32 {i}, {j}", pick(&["mul", "mul.hi", "min", "max"], first))),
    };
    let _ = writeln!(text, "    v{number} = {computed}");
    if ty == "pred" {
        let _ =
            writeln!(text, "    s{number} = selp.u32 1, 2, v{number}\n    st.global.u32 o[out + {number}], s{number}");
    } else {
        let _ = writeln!(text, "    st.global.{ty} o[out + {number}], v{number}");
    }
}
