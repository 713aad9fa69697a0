//! The version of PTX and the architecture that a module asks for.
//!
//! ```text
//! .version 1.4, .target sm_13, and a shuffle      →   .version 6.0, .target sm_30
//! .version 9.1, .target sm_90a, and a shuffle     →   the same
//! ```
//!
//! A module that was read from PTX keeps its own, and is raised to what the forms ask for that are written. The table
//! has the forms that importing, passes and exporting make of others, which the source need not have had.
//!
//! Linear in the instructions.
//!
//! Source: PTX ISA, "PTX ISA Notes" and "Target ISA Notes" of each instruction; checked against `ptxas` by the tests.

use super::limits::param_bytes;
use super::spelling::{ORDERS, SCOPES, completed};
use crate::ir::{
    AtomicOp, Flags, FuncKind, Function, InstData, Module, Op, Opcode, Operand, Space, Special, Template, Type,
};
use alloc::format;
use alloc::string::String;

/// Bytes of parameters that a kernel may have before [`LARGE_PARAMS`].
const SMALL_PARAMS: u64 = 4352;

/// More parameters ask for version 8.1 and sm_70.
const LARGE_PARAMS: Needs = needs((8, 1), 70);

/// The `.address_size` directive.
const ADDRESS_SIZE: Needs = needs((2, 3), 10);

/// Target of programs that were not read from PTX.
const OURS: Needs = needs((7, 0), 80);

/// `.alias`.
pub(super) const ALIAS: Needs = needs((6, 3), 30);

/// `brx.idx`.
pub(super) const INDEXED_BRANCH: Needs = needs((6, 0), 30);

/// A version of PTX, and an architecture as in `sm_80`.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    version: (u32, u32),
    target: u32,
    /// Is it for that architecture alone, as in `sm_90a`?
    is_specific: bool,
}

impl Needs {
    /// Requirements of both.
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            version: self.version.max(other.version),
            target: self.target.max(other.target),
            is_specific: self.is_specific || other.is_specific,
        }
    }
}

/// The version of the source, or the one that is written where there is no source.
pub(super) fn version(module: &Module) -> (u32, u32) {
    module.header.as_ref().map_or(OURS.version, |header| header.version)
}

/// The directives at the top, for functions that ask for these.
pub(super) fn header(module: &Module, functions: impl Iterator<Item = Needs>) -> String {
    let least = if module.header.is_some() { ADDRESS_SIZE } else { OURS };
    let mut needs = functions.fold(least, Needs::and);
    let suffix = if needs.is_specific { "a" } else { "" };
    let (mut target, mut directives) = (format!("sm_{}{suffix}", needs.target), String::new());
    if let Some(header) = &module.header {
        needs.version = needs.version.max(header.version);
        let mut words = header.target.iter();
        match words.next().filter(|own| architecture(own).is_none_or(|own| own >= needs.target)) {
            Some(own) => target.clone_from(own),
            None => {
                // PTX had sm_35 before sm_32.
                let raised = if needs.target == 32 { 35 } else { needs.target };
                target = format!("sm_{raised}");
                needs.version = needs.version.max(introduction(raised));
            }
        }
        // Debug information is not written.
        words.filter(|word| *word != "debug").for_each(|word| target += &format!(", {word}"));
        header.directives.iter().for_each(|directive| directives += &format!("{directive}\n"));
    }
    let (major, minor) = needs.version;
    format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n{directives}")
}

/// The number of `sm_90a`.
fn architecture(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    digits.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}

/// The version of PTX that first had an architecture.
fn introduction(architecture: u32) -> (u32, u32) {
    match architecture {
        0..20 => (1, 4),
        20..30 => (2, 0),
        30..35 => (3, 0),
        35..50 => (3, 1),
        50..53 => (4, 0),
        53..60 => (4, 2),
        60..70 => (5, 0),
        70..75 => (6, 0),
        75..80 => (6, 3),
        80..90 => (7, 0),
        _ => (7, 8),
    }
}

/// Requirements of a function besides its instructions: the parameters of a kernel. Those of a
/// source have the version that they need.
pub(super) fn of_function(func: &Function) -> Needs {
    let is_ours = func.declaration.is_none();
    match (func.kind, is_ours && param_bytes(func) > SMALL_PARAMS) {
        (FuncKind::Func, _) => needs((2, 3), 20),
        (FuncKind::Kernel, true) => LARGE_PARAMS,
        (FuncKind::Kernel, false) => ADDRESS_SIZE,
    }
}

/// A conversion between the addresses of a window and generic ones.
pub(super) fn of_conversion(window: Space) -> Needs {
    match window {
        Space::Param => needs((7, 7), 70),
        Space::Const => needs((3, 1), 20),
        _ => needs((2, 3), 20),
    }
}

/// Opaque instructions beyond [`OURS`], by the beginnings of their texts; the longest that fits counts.
const OPAQUE: [(&str, Needs); 32] = [
    (".reg .b128 ", needs((8, 3), 70)),
    ("applypriority.", needs((7, 4), 80)),
    ("barrier.cluster.", needs((7, 8), 90)),
    ("bmsk.", needs((7, 6), 70)),
    ("clusterlaunchcontrol.", needs((8, 6), 100)),
    ("cp.async.bulk.", needs((8, 0), 90)),
    ("cp.reduce.async.bulk.", needs((8, 0), 90)),
    ("createpolicy.", needs((7, 4), 80)),
    ("discard.", needs((7, 4), 80)),
    ("elect.", needs((8, 0), 90)),
    ("fence.mbarrier_init.", needs((8, 0), 90)),
    ("fence.proxy.alias", needs((7, 5), 70)),
    ("fence.proxy.async", needs((8, 0), 90)),
    ("fence.proxy.tensormap", needs((8, 3), 90)),
    ("getctarank.", needs((7, 8), 90)),
    ("griddepcontrol.", needs((7, 8), 90)),
    ("mapa.", needs((7, 8), 90)),
    ("mbarrier.arrive.expect_tx", needs((8, 0), 90)),
    ("mbarrier.complete_tx", needs((8, 0), 90)),
    ("mbarrier.expect_tx", needs((8, 0), 90)),
    ("mbarrier.try_wait", needs((7, 8), 90)),
    ("movmatrix.", needs((7, 8), 75)),
    ("multimem.", needs((8, 1), 90)),
    ("red.async.", needs((8, 1), 90)),
    ("setmaxnreg.", specific((8, 0), 90)),
    ("st.async.", needs((8, 1), 90)),
    ("st.bulk.", needs((8, 6), 100)),
    ("stmatrix.", needs((7, 8), 90)),
    ("szext.", needs((7, 6), 70)),
    ("tcgen05.", specific((8, 6), 100)),
    ("tensormap.", specific((8, 3), 90)),
    ("wgmma.", specific((8, 0), 90)),
];

/// Requirements of an opaque instruction in a text that says no version.
fn of_opaque(text: &str) -> Needs {
    let known = OPAQUE.iter().filter(|(beginning, _)| text.starts_with(beginning));
    known.max_by_key(|(beginning, _)| beginning.len()).map_or(OURS, |&(_, needs)| needs)
}

/// Requirements of an instruction as it is written. Opaque instructions of a source have the version that they need.
pub(super) fn of(inst: &InstData, is_ours: bool) -> Needs {
    let is_reserved = |arg: &Operand| matches!(arg, Operand::Special(Special::ReservedSmem(_)));
    let of_args = if inst.args.iter().any(is_reserved) { needs((7, 6), 20) } else { ADDRESS_SIZE };
    of_opcode(inst, is_ours).and(of_args)
}

fn of_opcode(inst: &InstData, is_ours: bool) -> Needs {
    let opcode = completed(inst.opcode);
    let ty = opcode.ty;
    let is_half = ty == Type::F16;
    match opcode.op {
        Op::Ptx if is_ours => of_opaque(inst.template().map_or("", Template::text)),
        Op::Activemask => needs((6, 2), 30),
        Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly if inst.args.len() < 4 => needs((6, 2), 30),
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot if inst.args.len() < 2 => needs((6, 2), 30),
        Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly | Op::BarWarp => needs((6, 0), 30),
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => needs((6, 0), 30),
        Op::MatchAny | Op::MatchAll if inst.args.len() < 2 => needs((6, 2), 70),
        Op::MatchAny | Op::MatchAll => needs((6, 0), 70),
        Op::Redux => needs((7, 0), 80),
        Op::Isspacep if opcode.has(Flags::CLUSTER) => needs((7, 8), 90),
        Op::Isspacep => opcode.space.map_or(needs((2, 0), 20), of_conversion),
        Op::Cvta => opcode.space.map_or(ADDRESS_SIZE, of_conversion),
        Op::Neg if is_half => needs((6, 0), 53),
        Op::Abs if is_half => needs((6, 5), 53),
        Op::Min | Op::Max if is_half => needs((7, 0), 80),
        Op::Add | Op::Sub | Op::Mul | Op::Fma | Op::Setp if is_half => needs((4, 2), 53),
        Op::Add | Op::Sub | Op::Addc | Op::Subc | Op::Mad | Op::MadHi | Op::Madc
            if opcode.has(Flags::CC) && ty.bits() == 64 =>
        {
            needs((4, 3), 20)
        }
        Op::Mad | Op::MadHi if opcode.has(Flags::CC) => needs((3, 0), 20),
        Op::Madc => needs((3, 0), 20),
        Op::Rsqrt if ty == Type::F64 && opcode.has(Flags::FTZ) => needs((4, 0), 20),
        Op::ShfL | Op::ShfR => needs((3, 1), 32),
        Op::Tex1d | Op::Tex2d if inst.args.first().is_some_and(|texture| texture.as_reg().is_some()) => {
            needs((3, 1), 20)
        }
        Op::Ld | Op::St if opcode.flags.intersects(ORDERS | SCOPES) => needs((6, 0), 70),
        Op::Ld if opcode.has(Flags::NC) => needs((3, 1), 32),
        Op::Atom | Op::Red if opcode.flags.intersects(ORDERS) => needs((6, 0), 70).and(of_atomic(opcode)),
        Op::Atom | Op::Red if opcode.flags.intersects(SCOPES) => needs((5, 0), 60).and(of_atomic(opcode)),
        Op::Atom | Op::Red => of_atomic(opcode),
        Op::Ld | Op::St if opcode.space.is_none() => needs((2, 3), 20),
        _ => ADDRESS_SIZE,
    }
}

fn of_atomic(opcode: Opcode) -> Needs {
    match (opcode.atomic, opcode.ty) {
        _ if opcode.vector > 1 => needs((8, 1), 90),
        _ if opcode.has(Flags::BF16) => needs((7, 8), 90),
        (Some(AtomicOp::Add), Type::F64) => needs((5, 0), 60),
        (_, ty) if ty.bits() == 16 => needs((6, 3), 70),
        (Some(AtomicOp::Add | AtomicOp::Exch | AtomicOp::Cas), _) => needs((2, 3), 20),
        (_, ty) if ty.bits() == 64 => needs((3, 1), 32),
        _ => needs((2, 3), 20),
    }
}

const fn needs(version: (u32, u32), target: u32) -> Needs {
    Needs { version, target, is_specific: false }
}

const fn specific(version: (u32, u32), target: u32) -> Needs {
    Needs { version, target, is_specific: true }
}
