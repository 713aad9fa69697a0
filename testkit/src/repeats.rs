//! Programs that do the same things again, while what these depend on changes in between.
//!
//! ```text
//! a = ld.global.u32 m[t] ; b = mul.u32 a, 3
//! st.global.u32 m[t], b                          the same load gives something else from here on,
//! c = ld.global.u32 m[t] ; d = mul.u32 c, 3      and so does what is computed from it
//! ```
//!
//! In the programs of [`crate::recipe`] an expression comes twice by chance only, and hardly ever
//! on both sides of what changes it. Here are few operations, few constants and little memory of
//! each thread, two words in each of two spaces, and mostly an operand is what was computed just
//! before, so that nearly everything has been done before: loads of a word, of both together or of
//! a byte of one, votes under changing lanes, and what is computed from these. A function that is
//! called changes memory as well. Most results have registers of their own, so that they are there
//! still. Parts follow one another; some lanes may do one thing in between and the others another
//! one, or all go through it several times.
//!
//! A thread has its memory for itself, but for what it exchanges with its neighbour between
//! barriers, so that the order of threads makes no difference.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};

/// Registers that are written again and again, and stored at the end.
const REGISTERS: u8 = 4;

/// The form of a load of two words.
const VECTOR: u8 = 17;

/// The form of an exchange with a neighbour, between barriers.
const EXCHANGE: u8 = 19;

/// Threads of the launch: two warps.
const THREADS: u32 = 64;

/// Changes a word, and gives what it was.
const CHANGE: &str = "\
func change(m: ptr.global, place: u32, new: u32) -> u32 {
entry:
    old = ld.global.u32 m[place]
    st.global.u32 m[place], new
    ret old
}

";

/// How often a part that is repeated runs.
const TURNS: u8 = 3;

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Repeats {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    insts: Vec<Inst>,
    /// Statements of some lanes, and those of the others.
    sides: Option<[Vec<Inst>; 2]>,
    is_repeated: bool,
}

#[derive(Clone, Debug)]
struct Inst {
    form: u8,
    /// A register that is written again, or a new one.
    dst: Option<u8>,
    choices: [u8; 2],
    guard: Option<bool>,
}

/// Any such program.
pub fn repeats() -> impl Strategy<Value = Repeats> {
    let inst = || {
        (0..20_u8, option::weighted(0.2, 0..REGISTERS), any::<[u8; 2]>(), option::weighted(0.15, any::<bool>()))
            .prop_map(|(form, dst, choices, guard)| Inst { form, dst, choices, guard })
    };
    let side = move || vec(inst(), 0..5);
    let part = (vec(inst(), 2..16), option::weighted(0.5, (side(), side())), any::<bool>()).prop_map(
        |(insts, sides, is_repeated)| Part { insts, sides: sides.map(|(some, others)| [some, others]), is_repeated },
    );
    vec(part, 1..4).prop_map(|parts| Repeats { parts })
}

impl Repeats {
    /// Removes loads of two words, which may be put together from registers that they write, in an
    /// order that a first run does not find.
    pub fn without_vectors(mut self) -> Repeats {
        for Part { insts, sides, .. } in &mut self.parts {
            let all = core::iter::once(insts).chain(sides.iter_mut().flatten());
            all.for_each(|insts| insts.retain(|inst| inst.form != VECTOR));
        }
        self
    }
}

/// The program as text.
pub fn program(recipe: &Repeats) -> String {
    let mut text = format!(
        "    shared s: u32[{}]\nentry:\n    t = mov.u32 %tid\n    p = setp.lt.u32 t, 40\n    \
         q = setp.ne.u32 t, 3\n    word = mul.u32 t, 2\n    next = add.u32 word, 1\n    byte = mul.u32 t, 8\n    \
         other = xor.b32 word, 2\n    st.shared.v2.u32 s[word], {{t, 5}}\n",
        2 * THREADS
    );
    for register in 0..REGISTERS {
        let _ = writeln!(text, "    r{register} = add.u32 t, {register}");
    }
    let mut computed = Computed::default();
    for (index, Part { insts, sides, is_repeated }) in recipe.parts.iter().enumerate() {
        let _ = writeln!(text, "    turn = mov.u32 0\n    br part{index}\npart{index}:");
        insts.iter().for_each(|inst| inst.write_for_all(&mut text, &mut computed));
        if let Some(sides) = sides {
            let _ = writeln!(text, "    br p, some{index}, others{index}");
            for (side, insts) in ["some", "others"].into_iter().zip(sides) {
                // What one side computes is not there behind it.
                let before = computed.known.len();
                let _ = writeln!(text, "{side}{index}:");
                insts.iter().for_each(|inst| inst.write(&mut text, &mut computed));
                let _ = writeln!(text, "    br met{index}");
                computed.known.truncate(before);
            }
            let _ = writeln!(text, "met{index}:");
        }
        let _ = match is_repeated {
            true => writeln!(
                text,
                "    turn = add.u32 turn, 1\n    more = setp.lt.u32 turn, {TURNS}\n    br more, part{index}, end{index}"
            ),
            false => writeln!(text, "    br end{index}"),
        };
        let _ = writeln!(text, "end{index}:");
    }
    for register in 0..REGISTERS {
        let _ = writeln!(text, "    st.global.u32 o[t + {}], r{register}", THREADS * u32::from(register));
    }
    let words = THREADS * (u32::from(REGISTERS) + computed.count);
    format!(
        "{CHANGE}kernel k(m: ptr.global restrict, o: ptr.global restrict) {{\n{text}    ret\n}}\nlaunch k {{\n    \
         block {THREADS}\n    \
         m = buffer u32[{}] random(0, 9)\n    o = buffer u32[{words}] const 0\n}}\n",
        2 * THREADS
    )
}

/// Registers of their own.
#[derive(Default)]
struct Computed {
    count: u32,
    /// Those that are assigned on every way to here.
    known: Vec<u32>,
}

impl Computed {
    /// Mostly the last one, or one before it.
    fn operand(&self, choice: u8) -> String {
        let back = usize::from(choice / 64 % 2);
        match self.known.iter().nth_back(back).filter(|_| !choice.is_multiple_of(4)) {
            Some(register) => format!("v{register}"),
            None => format!("r{}", choice / 4 % REGISTERS),
        }
    }
}

impl Inst {
    /// Writes operations across threads where all threads come by.
    fn write_for_all(&self, text: &mut String, computed: &mut Computed) {
        let [x, y] = self.choices;
        if self.form != EXCHANGE {
            return self.write(text, computed);
        }
        let (mine, theirs) = (computed.operand(x), y % REGISTERS);
        let _ = writeln!(
            text,
            "    st.shared.u32 s[word], {mine}\n    bar.sync\n    r{theirs} = ld.shared.u32 s[other]\n    bar.sync"
        );
    }

    fn write(&self, text: &mut String, computed: &mut Computed) {
        let [x, y] = self.choices;
        let a = computed.operand(x);
        // Mostly the same constant, space and place.
        let b = match y % 8 {
            0 => computed.operand(y / 8),
            1 => String::from("1"),
            _ => String::from("3"),
        };
        let (space, array) = if y.is_multiple_of(4) { ("shared", "s") } else { ("global", "m") };
        let place = if y % 8 == 3 { "word + 1" } else { "word" };
        let guard = match self.guard {
            Some(true) => "@p ",
            Some(false) => "@!p ",
            None => "",
        };
        let operation = match self.form {
            0..=4 => format!("ld.{space}.u32 {array}[{place}]"),
            5..=7 => {
                let _ = writeln!(text, "    {guard}st.{space}.u32 {array}[{place}], {a}");
                return;
            }
            8..=10 => format!("mul.u32 {a}, {b}"),
            11 => format!("add.u32 {a}, {b}"),
            12 => String::from("vote.ballot.b32 q"),
            13 => format!("atom.{space}.add.u32 {array}[{place}], {b}"),
            15 => format!("ld.{space}.u8 {array}[byte + {}]", y / 8 % 8),
            16 => {
                let _ = writeln!(text, "    {guard}st.{space}.u8 {array}[byte + {}], {a}", y / 8 % 8);
                return;
            }
            VECTOR => {
                let [first, second] = [x, y].map(|choice| choice / 8 % REGISTERS);
                let second = if first == second { (first + 1) % REGISTERS } else { second };
                let _ = writeln!(text, "    {guard}{{r{first}, r{second}}} = ld.{space}.v2.u32 {array}[word]");
                return;
            }
            18 => format!("call change(m, {}, {a})", if place == "word" { "word" } else { "next" }),
            // What guards and branches ask changes as well.
            14 => {
                let predicate = if y.is_multiple_of(3) { "p" } else { "q" };
                let _ = writeln!(text, "    {guard}{predicate} = setp.lt.u32 {a}, {b}");
                return;
            }
            _ => format!("mov.u32 {a}"),
        };
        // What lanes do not assign is not theirs to read, and a register of its own would have the type of a byte.
        let has_guard_or_is_byte = self.guard.is_some() || self.form == 15;
        if let Some(register) = self.dst.or(has_guard_or_is_byte.then_some(x % REGISTERS)) {
            let _ = writeln!(text, "    {guard}r{register} = {operation}");
            return;
        }
        let register = computed.count;
        computed.count += 1;
        computed.known.push(register);
        let place = THREADS * (u32::from(REGISTERS) + register);
        let _ = writeln!(text, "    v{register} = {operation}\n    st.global.u32 o[t + {place}], v{register}");
    }
}
