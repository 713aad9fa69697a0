//! Programs of sums, products and bitwise trees.
//!
//! ```text
//! v1 = add.u32 r0, 3
//! v2 = sub.u32 v1, r1          mostly read once, soon, by the same operation
//! r0 = add.u32 v2, v1          and sometimes overwriting what the tree began with
//! ```
//!
//! In the programs of [`crate::recipe`] operations follow one another at random, so that trees of
//! one operation are rare and small. Here a program has few operations, and an operand is mostly
//! what was computed just before. Blocks follow one another; each may be left out, or gone through
//! several times. A few registers are stored at the end, so that the others may go away.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};

/// Registers that are written again and again.
const REGISTERS: u8 = 5;

/// How often a block that is repeated runs.
const TURNS: u8 = 3;

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Sums {
    blocks: Vec<Block>,
    /// Whether each register is stored at the end, a bit each.
    stored: u8,
}

#[derive(Clone, Debug)]
struct Block {
    insts: Vec<Inst>,
    is_skipped: bool,
    is_repeated: bool,
}

#[derive(Clone, Debug)]
struct Inst {
    operation: u8,
    /// A register that is written again, or a new one.
    dst: Option<u8>,
    args: [u8; 3],
    guard: Option<bool>,
}

/// Any such program.
pub fn sums() -> impl Strategy<Value = Sums> {
    let dst = option::weighted(0.3, 0..REGISTERS);
    let inst = (0..18_u8, dst, any::<[u8; 3]>(), option::weighted(0.05, any::<bool>()))
        .prop_map(|(operation, dst, args, guard)| Inst { operation, dst, args, guard });
    let block = (vec(inst, 0..24), any::<bool>(), any::<bool>()).prop_map(|(insts, is_skipped, is_repeated)| Block {
        insts,
        is_skipped,
        is_repeated,
    });
    (vec(block, 1..4), any::<u8>()).prop_map(|(blocks, stored)| Sums { blocks, stored })
}

/// The program as text.
pub fn program(recipe: &Sums) -> String {
    let mut text = String::from("kernel k(n: u32, o: ptr.global) {\nentry:\n    t = mov.u32 %tid\n");
    let _ = writeln!(text, "    place = mul.u32 t, {REGISTERS}\n    p = setp.lt.u32 t, 20");
    for register in 0..REGISTERS {
        let _ = writeln!(text, "    r{register} = mul.u32 t, {}", 0x0101_0107 * u32::from(register + 1));
    }
    let mut computed = 0;
    for (index, Block { insts, is_skipped, is_repeated }) in recipe.blocks.iter().enumerate() {
        let next = index + 1;
        let _ = writeln!(text, "    turn = mov.u32 0");
        match is_skipped {
            true => writeln!(text, "    q = setp.gt.u32 t, {}\n    br q, b{index}, e{index}", index * 9),
            false => writeln!(text, "    br b{index}"),
        }
        .unwrap_or_default();
        let _ = writeln!(text, "b{index}:");
        insts.iter().for_each(|inst| inst.write(&mut text, &mut computed));
        match is_repeated {
            true => writeln!(
                text,
                "    turn = add.u32 turn, 1\n    q = setp.lt.u32 turn, {TURNS}\n    br q, b{index}, e{index}"
            ),
            false => writeln!(text, "    br e{index}"),
        }
        .unwrap_or_default();
        let _ = writeln!(text, "e{index}:");
        if next == recipe.blocks.len() {
            (0..REGISTERS).filter(|register| recipe.stored >> register & 1 == 1).for_each(|register| {
                let _ = writeln!(text, "    st.global.u32 o[place + {register}], r{register}");
            });
        }
    }
    let _ = writeln!(
        text,
        "    ret\n}}\nlaunch k {{\n    grid 1\n    block 32\n    n = 7\n    o = buffer u32[{}] const 0\n}}",
        32 * u32::from(REGISTERS)
    );
    text
}

impl Inst {
    fn write(&self, text: &mut String, computed: &mut u32) {
        let opcode = match self.operation {
            0..=6 => "add.u32",
            7 | 8 => "sub.u32",
            9..=11 => "mul.u32",
            12 => "and.b32",
            13 => "xor.b32",
            14 => "add.s32",
            15 | 16 => "mad.u32",
            _ => "mov.u32",
        };
        let guard = match self.guard {
            Some(true) => "@p ",
            Some(false) => "@!p ",
            None => "",
        };
        let [a, b, c] = self.args.map(|choice| operand(choice, *computed));
        let dst = match self.dst {
            Some(register) => format!("r{register}"),
            None => {
                *computed += 1;
                format!("v{computed}")
            }
        };
        let _ = match opcode {
            "mov.u32" => writeln!(text, "    {guard}{dst} = {opcode} {a}"),
            "mad.u32" => writeln!(text, "    {guard}{dst} = {opcode} {a}, {b}, {c}"),
            _ => writeln!(text, "    {guard}{dst} = {opcode} {a}, {b}"),
        };
    }
}

/// Mostly what was computed a little before, otherwise a register, the parameter or a constant.
fn operand(choice: u8, computed: u32) -> String {
    match choice % 16 {
        0..=7 if computed > u32::from(choice / 64) => format!("v{}", computed - u32::from(choice / 64)),
        13 => "n".to_string(),
        14 => format!("{}", choice / 16 % 4),
        15 => format!("{}", i32::MAX - i32::from(choice / 16)),
        other => format!("r{}", other % REGISTERS),
    }
}
