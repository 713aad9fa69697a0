//! Every form of every pure operation, as kernels that compute it for many operands.
//!
//! ```text
//! cvt.rzi.sat.s8.f32      k17: a = ld.f32 x0[i] ; v = cvt.rzi.sat.s8.f32 a ; st.s8 r0[i], v
//! ```
//!
//! A form is a spelling that the text IR accepts: the root with each type and modifier that fit
//! each other. Operands are edges of their type as often as anything else; 16-bit operands of a
//! form that has one are all there are.

use std::collections::BTreeSet;
use std::fmt::Write;

use warpscope_core::ir::{
    ArgKind, Binding, Cmp, Combine, Fill, FillKey, Launch, Module, Number, Op, Opcode, PrmtMode, Rounding, Span, Type,
    ValueSource, Values,
};
use warpscope_core::verify::check;

use crate::even_bits::EvenBits;

/// Forms in one module: each is a kernel of its own, and the module is assembled as one.
const FORMS_A_MODULE: usize = 24;

/// Threads a block.
const BLOCK: u32 = 256;

/// Tuples of operands of a form, for a thorough comparison.
pub const MANY: u32 = 1 << 13;

/// Operands of a form that has one, of 16 bits.
const ALL_OF_16_BITS: u32 = 1 << 16;

/// Every form, in a fixed order.
pub fn forms() -> Vec<Opcode> {
    let spellings = Op::ALL.iter().copied().filter(|op| op.is_pure() && !matches!(op, Op::Work)).flat_map(spellings);
    let mut seen = BTreeSet::new();
    let mut forms = Vec::new();
    for spelling in spellings {
        let Ok(opcode) = Opcode::from_spelling(&spelling) else { continue };
        // Words in another order and defaults that are spelled out are the same form.
        if seen.insert(opcode.to_string()) && is_accepted(opcode) {
            forms.push(opcode);
        }
    }
    forms
}

/// The forms in groups, each of which becomes one module.
pub fn groups() -> Vec<Vec<Opcode>> {
    forms().chunks(FORMS_A_MODULE).map(<[Opcode]>::to_vec).collect()
}

/// The module of a group: kernels `k0`, `k1`, … in its order.
pub fn module(group: &[Opcode]) -> Module {
    let source: String = group.iter().enumerate().map(|(place, &form)| kernel(place, form)).collect();
    check(&source).module
}

/// A launch for each form of a group, with so many tuples of operands, a multiple of 256; from
/// [`MANY`] on with all there are where a form has one operand of 16 bits.
pub fn launches(group: &[Opcode], tuples: u32) -> Vec<Launch> {
    group.iter().enumerate().map(|(place, &form)| launch(place, form, tuples)).collect()
}

/// Spellings of a root with all types and modifiers, whether they fit or not.
fn spellings(op: Op) -> Vec<String> {
    let mut texts = vec![op.name().to_owned()];
    let mut append = |words: &[&str]| {
        let longer = |text: &String| words.iter().map(|word| with(text, word)).collect::<Vec<_>>();
        texts = texts.iter().flat_map(longer).collect();
    };
    let roundings: Vec<&str> = [""].into_iter().chain(Rounding::ALL.iter().map(|mode| mode.name())).collect();
    match op {
        Op::Cvt => append(&roundings),
        Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Fma => append(&roundings[..5]),
        Op::Div | Op::Sqrt | Op::Rcp => {
            append(&roundings[..5]);
            append(&["", "approx"]);
            append(&["", "full"]);
        }
        Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => append(&["", "approx"]),
        Op::ShfL | Op::ShfR => append(&["wrap", "clamp"]),
        Op::Prmt => append(&[""].into_iter().chain(PrmtMode::ALL.iter().map(|mode| mode.name())).collect::<Vec<_>>()),
        Op::Setp => {
            append(&Cmp::ALL.iter().map(|cmp| cmp.name()).collect::<Vec<_>>());
            append(&[""].into_iter().chain(Combine::ALL.iter().map(|way| way.name())).collect::<Vec<_>>());
        }
        _ => {}
    }
    append(&["", "hi"]);
    append(&["", "cc"]);
    append(&["", "ftz"]);
    append(&["", "sat"]);
    let types: Vec<String> = Type::ALL.iter().map(ToString::to_string).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    append(&types);
    if op == Op::Cvt {
        append(&types);
    }
    texts
}

fn with(text: &str, word: &str) -> String {
    if word.is_empty() { text.to_owned() } else { format!("{text}.{word}") }
}

/// Does a kernel of that form pass the verifier? Also not if it takes what no memory holds.
fn is_accepted(form: Opcode) -> bool {
    let signature = form.signature();
    let takes_values = signature.args[..signature.required_args].iter().all(|arg| operand(*arg).is_some());
    takes_values && check(&kernel(0, form)).diagnostics.iter().all(|diagnostic| !diagnostic.is_error())
}

/// The type of an operand that memory can hold.
fn operand(arg: ArgKind) -> Option<Type> {
    match arg {
        ArgKind::Value(ty) | ArgKind::LowBits(ty) => Some(ty),
        ArgKind::Predicate => Some(Type::Pred),
        _ => None,
    }
}

fn operands(form: Opcode) -> Vec<Type> {
    let signature = form.signature();
    signature.args[..signature.required_args].iter().filter_map(|arg| operand(*arg)).collect()
}

fn results(form: Opcode) -> Vec<Type> {
    let signature = form.signature();
    signature.dsts[..signature.required_dsts].iter().map(|dst| dst.ty).collect()
}

/// The type that stands in memory for one: predicates are words.
const fn in_memory(ty: Type) -> Type {
    match ty {
        Type::Pred => Type::U32,
        _ => ty,
    }
}

/// The kernel `k<place>` of a form.
fn kernel(place: usize, form: Opcode) -> String {
    let (args, results) = (operands(form), results(form));
    let params: Vec<String> = (0..args.len())
        .map(|at| format!("x{at}: ptr.global"))
        .chain((0..results.len()).map(|at| format!("r{at}: ptr.global")))
        .collect();
    let mut text = format!("kernel k{place}({}) {{\nentry:\n    i = mad.u32 %ctaid, %ntid, %tid\n", params.join(", "));
    for (at, ty) in args.iter().enumerate() {
        let _ = match ty {
            Type::Pred => writeln!(text, "    w{at} = ld.global.u32 x{at}[i]\n    a{at} = setp.ne.u32 w{at}, 0"),
            _ => writeln!(text, "    a{at} = ld.global.{ty} x{at}[i]"),
        };
    }
    let list = |letter: char, count: usize| (0..count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>().join(", ");
    let dsts = if results.len() == 1 { "v0".to_owned() } else { format!("{{{}}}", list('v', results.len())) };
    let _ = writeln!(text, "    {dsts} = {form} {}", list('a', args.len()));
    for (at, ty) in results.iter().enumerate() {
        let _ = match ty {
            Type::Pred => writeln!(text, "    s{at} = selp.u32 1, 0, v{at}\n    st.global.u32 r{at}[i], s{at}"),
            _ => writeln!(text, "    st.global.{ty} r{at}[i], v{at}"),
        };
    }
    text + "    ret\n}\n"
}

/// The launch of `k<place>` with operands for its form.
fn launch(place: usize, form: Opcode, tuples: u32) -> Launch {
    let (args, results) = (operands(form), results(form));
    let all = args.len() == 1 && args[0].bits() <= 16 && tuples >= MANY;
    let count = if all { ALL_OF_16_BITS } else { tuples };
    let seed = form.to_string().bytes().fold(17, |seed: u64, byte| seed.wrapping_mul(31) ^ u64::from(byte));
    let mut draws = Draws(EvenBits::new(seed));
    let buffer = |name: String, ty: Type, source: ValueSource| Binding {
        key: FillKey::Name(name),
        fill: Fill::Buffer { ty, len: count, values: Values { source, zero: None, coherence: None } },
        path: Vec::new(),
        is_derived: false,
        span: Span::default(),
    };
    let mut launch = Launch::new(format!("k{place}"));
    (launch.grid, launch.block) = ([count / BLOCK, 1, 1], [BLOCK, 1, 1]);
    for (at, ty) in args.iter().enumerate() {
        // PTX restricts positions and lengths of bit fields to a byte, and means it for words of 64 bits.
        let is_place = matches!(form.op, Op::Bfe | Op::Bfi) && form.ty.bits() == 64 && *ty == Type::U32;
        let mask = if is_place { 0xFF } else { ty.mask() };
        // It bounds the error of sines and cosines around zero.
        let value = |index: u32| match form.op {
            _ if all => u64::from(index) & mask,
            Op::Sin | Op::Cos => near_zero(draws.value(*ty)),
            _ => draws.value(*ty) & mask,
        };
        let elements = (0..count).map(value).map(|bits| Number::Int(bits.into())).collect();
        launch.bindings.push(buffer(format!("x{at}"), in_memory(*ty).as_bits(), ValueSource::List(elements)));
    }
    for (at, ty) in results.iter().enumerate() {
        launch.bindings.push(buffer(format!("r{at}"), in_memory(*ty), ValueSource::Const(Number::Int(0))));
    }
    launch
}

/// The bits of an f32 with its exponent brought to at most 1, unless it is infinite or no number.
fn near_zero(bits: u64) -> u64 {
    let exponent = bits >> 23 & 0xFF;
    if exponent < 129 || exponent == 255 { bits } else { bits & !(0xFF << 23) | (108 + exponent % 21) << 23 }
}

/// Deterministic draws.
struct Draws(EvenBits);

impl Draws {
    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// The bits of an operand.
    fn value(&mut self, ty: Type) -> u64 {
        match ty {
            Type::Pred => self.below(2),
            _ if ty.is_float() => self.float(ty),
            _ => self.integer(ty),
        }
    }

    /// The ends of both ranges and what lies beside them, powers of two, small numbers, any bits.
    fn integer(&mut self, ty: Type) -> u64 {
        let highest = 1_u64 << (ty.bits() - 1);
        let edges =
            [0, 1, 2, ty.mask(), ty.mask() - 1, highest, highest - 1, highest + 1, 3, 7, 31, 32, 33, 63, 64, 65];
        let bits = match self.below(5) {
            0 | 1 => edges[self.below(edges.len() as u64) as usize],
            2 => (1_u64 << self.below(ty.bits().into())).wrapping_add(self.below(3)).wrapping_sub(1),
            3 => self.below(70),
            _ => self.bits(),
        };
        bits & ty.mask()
    }

    /// Zeros, infinities, NaN with payloads, subnormal numbers, the ends of the range, halves and
    /// what lies beside them, numbers near one and those near the ends of integers' ranges, any
    /// bits.
    fn float(&mut self, ty: Type) -> u64 {
        let (fraction, bias) = match ty {
            Type::F16 => (10, 15_u64),
            Type::F32 => (23, 127),
            _ => (52, 1023),
        };
        let infinity = (2 * bias + 1) << fraction;
        let of = |exponent: u64, bits: u64| (exponent << fraction) | (bits & ((1 << fraction) - 1));
        let magnitude = match self.below(12) {
            0 => 0,
            1 => infinity,
            2 => infinity + 1 + self.below(1 << fraction) % 5,
            3 => infinity - 1 - self.below(4),
            4 => 1 + self.below(4),
            5 => (1 << fraction) - 2 + self.below(4),
            6 => self.below(1 << fraction),
            // Small integers and halves, often one step beside them.
            7 => (of(bias + self.below(8), (self.below(256)) << (fraction - 8)) + self.below(3)).saturating_sub(1),
            8 => of(bias - 3 + self.below(6), self.bits()),
            9 => of((bias + self.below(66)).min(2 * bias), self.bits()),
            _ => self.bits(),
        };
        (self.below(2) << (ty.bits() - 1)) | (magnitude & (ty.mask() >> 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_there_and_each_group_is_a_good_program() {
        let forms: BTreeSet<String> = forms().iter().map(ToString::to_string).collect();
        for known in ["add.rz.ftz.sat.f32", "cvt.rzi.sat.s8.f32", "setp.neu.xor.ftz.f32", "prmt.b32.rc16", "fma.rm.f64"]
        {
            assert!(forms.contains(known), "{known} is missing");
        }
        assert!(forms.len() > 1500, "only {} forms", forms.len());
        let group = &groups()[3];
        assert_eq!(module(group).kernels().count(), group.len());
        assert_eq!(launches(group, 256).len(), group.len());
    }
}
