//! Runs an operation on many operands at once, and draws the operands: edges of the type as often as anything else.

use super::exact::Format;
use super::run;
use std::fmt::Write;
use warpscope_core::ir::{Op, Opcode};
use warpscope_core::sim::evaluate;
use warpscope_testkit::even_bits::EvenBits;

/// Threads of a run: every operation sees that many tuples of operands.
pub const THREADS: usize = 512;

/// Deterministic draws.
pub struct Draws(EvenBits);

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws(EvenBits::new(seed))
    }

    /// 64 even bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// An integer of so many bits: 0, 1, the ends of both ranges and their neighbours, powers of
    /// two, small numbers, any.
    pub fn integer(&mut self, width: u32) -> u64 {
        let mask = u64::MAX >> (64 - width);
        let highest = 1u64 << (width - 1);
        let edges = [0, 1, 2, mask, mask - 1, highest, highest - 1, highest + 1, 3, 7];
        let bits = match self.below(5) {
            0 | 1 => edges[self.below(edges.len() as u64) as usize],
            2 => 1 << self.below(width.into()),
            3 => self.below(40),
            _ => self.bits(),
        };
        bits & mask
    }

    /// A float: zeros, infinities, NaN with payloads, subnormal numbers, the ends of the range, halves, neighbours of
    /// integers, numbers near one, any bits.
    pub fn float(&mut self, format: Format) -> u64 {
        let sign = self.below(2) << (format.exponent + format.fraction);
        let magnitude = match self.below(12) {
            0 => 0,
            1 => format.infinity(),
            2 => format.infinity() + 1 + self.below(1 << format.fraction) % 5,
            3 => 1 + self.below(4),
            4 => (1 << format.fraction) - 2 + self.below(4),
            5 => format.largest() - self.below(3),
            6 => self.below(1 << format.fraction),
            // Numbers up to 2^16, often with a half, or one step beside it.
            7 => {
                let steps = self.below(1 << (format.fraction.min(15) + 1));
                let halves = super::exact::from_integer(format, steps.into(), super::exact::Direction::Nearest);
                let half = format.one() - (1 << format.fraction);
                let exact = super::exact::mul(format, halves, half, super::exact::Direction::Nearest);
                (exact + self.below(3)).saturating_sub(1)
            }
            8 | 9 => {
                let near = format.one() - (3 << format.fraction);
                near + self.below(6 << format.fraction)
            }
            _ => self.bits(),
        };
        sign | (magnitude & (format.nan()))
    }

    /// A value of a type.
    pub fn value(&mut self, ty: &str) -> u64 {
        match ty {
            "f16" | "f32" | "f64" => self.float(Format::of(ty)),
            "pred" => self.below(2),
            _ => self.integer(width(ty)),
        }
    }

    /// That many operands of each of the types.
    pub fn tuples(&mut self, types: &[&str]) -> Vec<Vec<u64>> {
        (0..THREADS).map(|_| types.iter().map(|ty| self.value(ty)).collect()).collect()
    }
}

/// Bits of a type, from its name.
pub fn width(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        _ => ty[1..].parse().expect("a type's width"),
    }
}

/// The results of an operation for each tuple of operands `a`, `b`, `c`, `d` of the types given. `operation` assigns
/// `$`; predicates come from memory as a word that is not zero. Runs it once for all lanes and once under a guard that
/// holds in three lanes of four, and checks that the others keep what they had.
pub fn computed(operation: &str, types: &[&str], to: &str, operands: &[Vec<u64>]) -> Vec<u64> {
    let bits_of = |ty: &str| if ty == "pred" { "b32".to_string() } else { format!("b{}", width(ty)) };
    let names = ["a", "b", "c", "d"];
    let params: String = types.iter().enumerate().map(|(at, _)| format!("x{at}: ptr.global, ")).collect();
    let mut source = format!("kernel k({params}r: ptr.global, g: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n");
    for (at, (ty, name)) in types.iter().zip(names).enumerate() {
        let _ = match *ty {
            "pred" => {
                writeln!(source, "    {name}_word = ld.global.u32 x{at}[i]\n    {name} = setp.ne.u32 {name}_word, 0")
            }
            _ => writeln!(source, "    {name} = ld.global.{ty} x{at}[i]"),
        };
    }
    let filler = if to.starts_with('f') { "1.0" } else { "42" };
    let guarded: String = operation.lines().map(|line| format!("    @q {}\n", line.replace('$', "w"))).collect();
    let plain: String = operation.lines().map(|line| format!("    {}\n", line.replace('$', "v"))).collect();
    let _ = write!(
        source,
        "{plain}    st.global.{to} r[i], v\n    low = and.b32 i, 3\n    q = setp.ne.u32 low, 2\n    \
         w = mov.{to} {filler}\n{guarded}    st.global.{to} g[i], w\n    exit\n}}\nlaunch k {{\n    block {}\n",
        operands.len()
    );
    for (at, ty) in types.iter().enumerate() {
        let elements: Vec<String> = operands.iter().map(|tuple| format!("{:#x}", tuple[at])).collect();
        let _ =
            writeln!(source, "    x{at} = buffer {}[{}] {{ {} }}", bits_of(ty), operands.len(), elements.join(", "));
    }
    for name in ["r", "g"] {
        let _ = writeln!(source, "    {name} = buffer {}[{}] const 0", bits_of(to), operands.len());
    }
    source += "}\n";
    let outcome = run(&source);
    let (all, some) = (outcome.buffer("r"), outcome.buffer("g"));
    let kept = match to {
        "f16" | "f32" | "f64" => Format::of(to).one(),
        _ => 42,
    };
    for (at, (all, some)) in all.iter().zip(some).enumerate() {
        let expected = if at % 4 == 2 { kept } else { *all };
        assert_eq!(*some, expected, "lane {at} of `{operation}` under a guard, of {:#x?}", operands[at]);
    }
    all.to_vec()
}

/// Checks an operation on drawn operands against a reference.
pub fn check(operation: &str, types: &[&str], to: &str, reference: impl Fn(&[u64]) -> u64) {
    let seed = operation.bytes().fold(17, |state: u64, byte| state.wrapping_mul(31).wrapping_add(byte.into()));
    let operands = Draws::new(seed).tuples(types);
    check_on(operation, types, to, &operands, reference);
}

/// Checks an operation on these operands against a reference; also as passes evaluate it, where it
/// is one instruction on constants.
pub fn check_on(operation: &str, types: &[&str], to: &str, operands: &[Vec<u64>], reference: impl Fn(&[u64]) -> u64) {
    let constant = constant_operation(operation);
    for (at, (tuple, found)) in operands.iter().zip(computed(operation, types, to, operands)).enumerate() {
        let expected = reference(tuple);
        assert_eq!(found, expected, "`{operation}` of {tuple:#x?}: {found:#x}, expected {expected:#x}");
        if let Some((opcode, places)) = constant.as_ref().filter(|_| at % 16 == 0) {
            let args: Vec<u64> = places.iter().map(|&place| tuple[place]).collect();
            assert_eq!(evaluate(*opcode, &args), Some(expected), "`{operation}` of {tuple:#x?} as constants");
        }
    }
}

/// The opcode of `$ = opcode a, b`, and which operand stands at which place.
fn constant_operation(operation: &str) -> Option<(Opcode, Vec<usize>)> {
    let (opcode, operands) = operation.strip_prefix("$ = ")?.split_once(' ')?;
    let place = |name: &str| ["a", "b", "c", "d"].iter().position(|known| *known == name);
    let opcode = Opcode::from_spelling(opcode).ok().filter(|opcode| opcode.op != Op::Work)?;
    Some((opcode, operands.split(", ").map(place).collect::<Option<Vec<usize>>>()?))
}
