//! Programs that load through subscripts which change as they go.
//!
//! ```text
//! c2: v1 = ld.global.u32 a[i + 1]      loads, through subscripts or through an address computed step by step,
//!     @p i = add.s32 i, 1              in a graph of any shape, with guards, copies of the subscript,
//!     st.global.u32 b[j], v1           and stores that may overwrite what is loaded
//!     coin = in.pred side
//!     br coin, b0, b3
//! ```
//!
//! Every thread has a part of each buffer for itself, so that no thread sees what another one
//! stores. Everything that is loaded goes into a sum that is stored in the end. Every path runs out
//! of fuel, and subscripts stay within the part.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};

use crate::warps;

/// Blocks of the graph, at most.
const MOST_BLOCKS: usize = 8;
/// How many blocks a thread comes to, at most.
const MOST_FUEL: u8 = 16;
/// Words of each buffer that a thread has, with its subscripts starting in the middle.
const PART: u32 = 512;
/// Threads, all in one warp.
const THREADS: u32 = 8;

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Subscripts {
    blocks: Vec<Block>,
    fuel: u8,
    /// Do the pointers promise that nothing else reaches their memory?
    restrict: bool,
    /// Is there a single thread?
    alone: bool,
    /// Is the first block one that others may lead back to, and what it begins with a parameter?
    is_bare: bool,
}

#[derive(Clone, Debug)]
struct Block {
    insts: Vec<Inst>,
    /// Condition and targets of the jump.
    jump: (Option<u8>, u8, u8),
}

#[derive(Clone, Debug)]
struct Inst {
    form: u8,
    dst: u8,
    choice: [u8; 2],
    guard: Option<(u8, bool)>,
}

/// Any such program.
pub fn subscripts() -> impl Strategy<Value = Subscripts> {
    let guard = || option::weighted(0.15, (0..2_u8, any::<bool>()));
    let inst = (0..24_u8, any::<u8>(), any::<[u8; 2]>(), guard()).prop_map(|(form, dst, choice, guard)| Inst {
        form,
        dst,
        choice,
        guard,
    });
    let block = (vec(inst, 0..5), (option::weighted(0.7, any::<u8>()), any::<u8>(), any::<u8>()))
        .prop_map(|(insts, jump)| Block { insts, jump });
    (vec(block, 1..MOST_BLOCKS), 1..MOST_FUEL, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(blocks, fuel, restrict, alone, is_bare)| Subscripts { blocks, fuel, restrict, alone, is_bare })
}

/// The program as text.
pub fn program(recipe: &Subscripts) -> String {
    let count = recipe.blocks.len();
    let restrict = if recipe.restrict { " restrict" } else { "" };
    // `e` is a multiple of 4 always, for vectors.
    let mut begun: Vec<(String, &str, u32)> =
        vec![("i".into(), "s32", PART / 2), ("j".into(), "s32", PART / 2), ("e".into(), "s32", PART / 8)];
    begun.extend((0..4).map(|word| (format!("v{word}"), "u32", word)));
    begun.extend([("sum".into(), "u32", 0), ("far".into(), "s64", 0), ("fuel".into(), "u32", u32::from(recipe.fuel))]);
    let params: String = begun.iter().map(|(name, ty, _)| format!("{name}: {ty}, ")).collect();
    let params = if recipe.is_bare { params.as_str() } else { "" };
    let mut text =
        format!("kernel k(n: u32, {params}x: ptr.global{restrict}, y: ptr.global{restrict}, o: ptr.global) {{\n");
    text.push_str("    input side: pred\n    input turn: pred uniform\n");
    let mut first = String::from("    t = mov.u32 %tid\n");
    line(&mut first, format_args!("a = mad.wide.u32 t, {}, x", PART * 4));
    line(&mut first, format_args!("b = mad.wide.u32 t, {}, y", PART * 4));
    first.push_str("    place = mov.u64 a\n    p0 = setp.lt.u32 t, n\n    p1 = setp.gt.u32 t, 2\n");
    if !recipe.is_bare {
        let _ = write!(text, "entry:\n{first}");
        for (name, ty, number) in &begun {
            line(&mut text, format_args!("{name} = mov.{ty} {number}"));
        }
        text.push_str("    br b0\n");
    }
    for (index, block) in recipe.blocks.iter().enumerate() {
        let _ = writeln!(text, "b{index}:");
        if recipe.is_bare && index == 0 {
            text.push_str(&first);
        }
        text.push_str("    fuel = sub.u32 fuel, 1\n    out = setp.eq.u32 fuel, 0\n");
        line(&mut text, format_args!("br out, done, c{index}"));
        let _ = writeln!(text, "c{index}:");
        block.insts.iter().for_each(|inst| inst.write(&mut text));
        let (asked, first, second) = block.jump;
        let (first, second) = (usize::from(first) % count, usize::from(second) % count);
        let condition = asked.map(|asked| match asked % 4 {
            0 => "side",
            1 => "turn",
            2 => "p0",
            _ => "v",
        });
        match condition {
            None => line(&mut text, format_args!("br b{first}")),
            Some("p0") => line(&mut text, format_args!("br p0, b{first}, b{second}")),
            Some("v") => {
                line(&mut text, format_args!("low = setp.lt.u32 v0, 40"));
                line(&mut text, format_args!("br low, b{first}, b{second}"));
            }
            Some(input) => {
                line(&mut text, format_args!("low = in.pred {input}"));
                line(&mut text, format_args!("br low, b{first}, b{second}"));
            }
        }
    }
    text.push_str("done:\n    at = mul.u32 t, 4\n    st.global.u32 o[at], sum\n    st.global.s32 o[at + 1], i\n");
    text.push_str("    st.global.u32 o[at + 2], v0\n    st.global.u32 o[at + 3], v1\n    ret\n");
    // A quarter of the programs has no profile.
    let seed = u32::from(recipe.fuel) + recipe.blocks.iter().map(|block| u32::from(block.jump.1)).sum::<u32>();
    if !seed.is_multiple_of(4) {
        let profile = warps::profile(&text, seed);
        text.push_str(&profile);
    }
    text.push_str("}\n");
    let threads = if recipe.alone { 1 } else { THREADS };
    let words = PART * threads;
    let given: String = begun.iter().map(|(name, _, number)| format!("    {name} = {number}\n")).collect();
    let given = if recipe.is_bare { given.as_str() } else { "" };
    let _ = writeln!(
        text,
        "launch k {{\n    grid 1\n    block {threads}\n    warp {THREADS}\n    n = 5\n{given}    x = buffer \
         u32[{words}] random(0, 99)\n    \
         y = buffer u32[{words}] random(0, 99)\n    o = buffer u32[{}] const 0\n    side = draws true 0.5\n    \
         turn = draws true 0.5\n}}",
        threads * 4
    );
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "    {line}");
}

impl Inst {
    fn write(&self, text: &mut String) {
        let guard = self.guard.map(|(predicate, negated)| format!("@{}p{predicate} ", if negated { "!" } else { "" }));
        let guard = guard.unwrap_or_default();
        let word = self.dst % 4;
        let index = if self.choice[0].is_multiple_of(3) { "j" } else { "i" };
        let base = if self.dst % 8 == 7 { "b" } else { "a" };
        let (step, sign) = (u32::from(self.choice[1] % 4), if self.choice[1] % 8 == 7 { '-' } else { '+' });
        match self.form {
            0..=4 => {
                line(text, format_args!("{guard}v{word} = ld.global.u32 {base}[{index} {sign} {step}]"));
                line(text, format_args!("sum = mad.u32 sum, 31, v{word}"));
            }
            5 | 6 => {
                line(text, format_args!("far = mul.wide.s32 {index}, 4"));
                line(text, format_args!("place = add.u64 {base}, far"));
                line(text, format_args!("{guard}v{word} = ld.global.u32 [place {sign} {}]", step * 4));
                line(text, format_args!("sum = mad.u32 sum, 31, v{word}"));
            }
            7 => line(text, format_args!("place = add.u64 place, 4")),
            8 => {
                line(text, format_args!("{guard}v{word} = ld.global.u32 {base}[{index}]"));
                line(text, format_args!("sum = xor.b32 sum, v{word}"));
            }
            9 | 10 => line(text, format_args!("{guard}i = add.s32 i, 1")),
            11 => line(text, format_args!("{guard}j = add.s32 i, {step}")),
            12 => line(text, format_args!("i = sub.s32 {index}, {step}")),
            13 | 16 | 17 => line(text, format_args!("{guard}st.global.u32 {base}[{index} {sign} {step}], v{word}")),
            14 => line(text, format_args!("p{} = setp.lt.u32 v{word}, 50", self.choice[0] % 2)),
            18 | 19 => {
                // Sometimes both into one register.
                let other = if self.choice[0] % 8 == 7 { word } else { (word + 1) % 4 };
                line(text, format_args!("{guard}{{v{word}, v{other}}} = ld.global.v2.u32 {base}[e + {}]", 2 * step));
                line(text, format_args!("sum = mad.u32 sum, 31, v{word}"));
                line(text, format_args!("sum = mad.u32 sum, 31, v{other}"));
            }
            20 => {
                let words = [0, 1, 2, 3].map(|index| format!("v{}", (word + index) % 4)).join(", ");
                line(text, format_args!("{guard}{{{words}}} = ld.global.v4.u32 {base}[e + {}]", 4 * (step / 2)));
                line(text, format_args!("sum = mad.u32 sum, 31, v{word}"));
            }
            21 | 22 => {
                line(
                    text,
                    format_args!("{guard}v{word} = ld.global.u32 {base}[e + {}]", 2 * step + u32::from(word % 2)),
                );
                line(text, format_args!("sum = mad.u32 sum, 31, v{word}"));
            }
            23 => line(text, format_args!("{guard}e = add.s32 e, 4")),
            _ => line(text, format_args!("{{v{word}, v{}}} = ld.global.v2.u32 {base}[0]", (word + 1) % 4)),
        }
    }
}
