//! Programs whose loaded numbers are the indices of further loads and stores.
//!
//! ```text
//! x1 = ld.global.s32 C[2]
//! st.global.s32 C[2], x0       a number that was loaded is overwritten, or stored elsewhere
//! x2 = ld.global.s32 A[x1]     and leads to other memory
//! ```
//!
//! All numbers are indices of both arrays. One lane runs, and each branch back is taken a few times.

use std::fmt::Write;

/// Elements of each array.
const ELEMENTS: usize = 8;

/// Registers that hold indices.
const REGISTERS: usize = 4;

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn register(&mut self) -> String {
        format!("x{}", self.below(REGISTERS))
    }

    fn array(&mut self) -> char {
        if self.below(3) == 0 { 'A' } else { 'C' }
    }

    /// An element at a known index or at one that a register holds.
    fn element(&mut self) -> String {
        let array = self.array();
        match self.below(2) {
            0 => format!("{array}[{}]", self.below(3)),
            _ => format!("{array}[{}]", self.register()),
        }
    }

    fn number(&mut self) -> String {
        if self.below(4) == 0 { self.below(ELEMENTS).to_string() } else { self.register() }
    }
}

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let restrict = |is_restrict: bool| if is_restrict { " restrict" } else { "" };
    let (a, c) = (random.below(2) == 0, random.below(2) == 0);
    let mut text = format!("kernel k(A: ptr.global{}, C: ptr.global{}) {{\nentry:\n", restrict(a), restrict(c));
    for register in 0..REGISTERS {
        let _ = writeln!(text, "    x{register} = mov.s32 {register}");
    }
    text.push_str("    turns = mov.s32 0\n    br b0\n");
    let blocks = 2 + random.below(6);
    for block in 0..blocks {
        let _ = writeln!(text, "b{block}:");
        for _ in 0..random.below(5) {
            statement(&mut text, &mut random);
        }
        if block + 1 == blocks {
            text.push_str("    ret\n");
            continue;
        }
        let mut forward = || (block + 1 + random.below(3)).min(blocks - 1);
        let (first, second) = (forward(), forward());
        let chosen = random.register();
        match random.below(3) {
            0 => {
                let back = random.below(block + 1);
                let _ = writeln!(text, "    turns = add.s32 turns, 1\n    t = setp.lt.s32 turns, 7");
                let _ = writeln!(text, "    br t, b{back}, b{first}");
            }
            _ if first == second => _ = writeln!(text, "    br b{first}"),
            _ => _ = writeln!(text, "    t = setp.lt.s32 {chosen}, 3\n    br t, b{first}, b{second}"),
        }
    }
    let buffer = format!("buffer s32[{ELEMENTS}] random(0, {})", ELEMENTS - 1);
    let _ = write!(text, "}}\nlaunch k {{\n    block 1\n    A = {buffer}\n    C = {buffer}\n}}\n");
    text
}

fn statement(text: &mut String, random: &mut Random) {
    let dst = random.register();
    let _ = match random.below(16) {
        0..=7 => writeln!(text, "    {dst} = ld.global.s32 {}", random.element()),
        8..=11 => writeln!(text, "    st.global.s32 {}, {}", random.element(), random.number()),
        12 => writeln!(text, "    {dst} = mov.s32 {}", random.number()),
        13 => writeln!(
            text,
            "    t = setp.lt.s32 {dst}, 4\n    @t st.global.s32 {}, {}",
            random.element(),
            random.number()
        ),
        14 => writeln!(text, "    st.global.v2.s32 C[0], {{{}, {}}}", random.register(), random.register()),
        _ => writeln!(text, "    {{x0, x1}} = ld.global.v2.s32 C[0]"),
    };
}
