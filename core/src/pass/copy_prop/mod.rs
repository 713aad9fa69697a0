//! Copy propagation: a use of a copy reads what was copied.
//!
//! ```text
//! b = mov.u32 a                        b = mov.u32 a
//! @p c = mov.u32 b                     @p c = mov.u32 a
//! d = selp.u32 b, 7, q          ──▶    d = selp.u32 a, 7, q
//! @p x = add.u32 c, d                  @p x = add.u32 a, d        c is a where p holds
//! @!q y = add.u32 c, d                 @!q y = add.u32 c, 7       d is 7 where q does not
//! ```
//!
//! One walk over the dominator tree; since a copy's own operand is replaced before the copy is recorded, whole chains
//! collapse in that one walk. Sound because [`AvailableCopies`] only answers with a source that still holds what was
//! copied in every lane that asks. A use is left alone where the source's type does not fit its place.
//!
//! With `CopyPropUseReachingDefs` a second walk goes by what reaches a use instead ([`reaching`]). The budgets count
//! instructions that are changed, in the order of the walk.
//!
//! Cost: a constant number of look-ups an operand, and one more for each copy that holds only under its reader's guard.
//! Running it again finds nothing more, unless a budget ran out.
//!
//! Source: Aho, Lam, Sethi, Ullman, section 9.1.5, extended to guards as the ptxas page describes `OriCopyProp`.

mod reaching;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::{PrimaryMap, SecondaryMap};

use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::{
    Address, AddressBase, ArgKind, Block, Function, Guard, Inst, InstData, Module, Op, Operand, Reg, Type,
};
use crate::pass::support::available_copies::{AvailableCopies, Source, walk_with_copies_by};
use crate::text::{constant_text, instruction_text};
use crate::trace::{Fact, Remark};
use crate::view::View;

/// See the file's head.
pub struct CopyProp;

impl Pass for CopyProp {
    const INFO: PassInfo = PassInfo {
        name: "copy-prop",
        paper: "ptxas page, OriCopyProp; Aho et al. 9.1.5",
        summary: "Replaces uses of a copy by its source, through guards and selp where the guard is the same.",
        knobs: &[
            Knob {
                name: "CopyPropBudget",
                kind: KnobKind::Integer { default: UNLIMITED, min: 0, max: UNLIMITED },
                help: "Maximum number of changed instructions.",
            },
            Knob {
                name: "CopyPropGlobalBudget",
                kind: KnobKind::Integer { default: UNLIMITED, min: 0, max: UNLIMITED },
                help: "Maximum number of them changed because of a copy in another block.",
            },
            Knob {
                name: "CopyPropForceGlobal",
                kind: KnobKind::Switch { default: false },
                help: "Ignore CopyPropGlobalBudget.",
            },
            Knob { name: "CopyPropAddr", kind: KnobKind::Switch { default: true }, help: "Propagate into addresses." },
            Knob {
                name: "CopyPropConstantBank",
                kind: KnobKind::Switch { default: true },
                help: "Propagate constants, the only operands here that ptxas would take from its constant bank.",
            },
            Knob {
                name: "CopyPropPreAllocReg",
                kind: KnobKind::Unavailable { why: "no register here is bound to one of the machine's" },
                help: "Propagate preallocated registers.",
            },
            Knob {
                name: "CopyPropNonRegMultiDef",
                kind: KnobKind::Switch { default: true },
                help: "Propagate constants from registers with several definitions, too.",
            },
            Knob {
                name: "CopyPropNoMmaCb",
                kind: KnobKind::Unavailable { why: "there are no matrix instructions here" },
                help: "Skip operands of matrix instructions that come from the constant bank.",
            },
            Knob {
                name: "CopyPropNoWriteNonRR",
                kind: KnobKind::Switch { default: false },
                help: "Skip instructions that have, or would get, an operand other than a register.",
            },
            Knob {
                name: "CopyPropUseReachingDefs",
                kind: KnobKind::Switch { default: false },
                help: "Also propagate where different copies of one value reach a use, by reaching definitions.",
            },
            Knob {
                name: "LateCopyPropComplPred",
                kind: KnobKind::Switch { default: true },
                help: "Treat copies of one value under a guard and its opposite as one copy.",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let knobs = &settings.knobs;
        let budget = |name: &str| u64::try_from(knobs.integer(name)).unwrap_or(0);
        let counts = (!knobs.switch("CopyPropNonRegMultiDef")).then(|| definition_counts(view.func()));
        let mut rules = Rules {
            definitions: counts.as_ref(),
            addresses: knobs.switch("CopyPropAddr"),
            constants: knobs.switch("CopyPropConstantBank"),
            registers_only: knobs.switch("CopyPropNoWriteNonRR"),
            other_blocks: true,
        };
        let (mut left, mut left_global) = (budget("CopyPropBudget"), budget("CopyPropGlobalBudget"));
        let is_forced = knobs.switch("CopyPropForceGlobal");
        let joins_complementary = knobs.switch("LateCopyPropComplPred");
        let look = |copies: &AvailableCopies, data: &InstData| copies.reads_copy(data).then_some(());
        loop {
            walk_with_copies_by(view, joins_complementary, look, |view, copies, (block, inst), ()| {
                if left > 0 {
                    rules.other_blocks = is_forced || left_global > 0;
                    let changed = propagate_into(view, copies, (block, inst), rules);
                    left -= u64::from(changed.any);
                    left_global = left_global.saturating_sub(u64::from(changed.from_other_block));
                }
                true
            });
            // What is copied from somewhere else now may be a copy that dominates.
            let before = view.rewrites();
            if knobs.switch("CopyPropUseReachingDefs") {
                reaching::propagate(view, rules, &mut left);
            }
            if view.rewrites() == before {
                break;
            }
        }
        for (name, left) in [("CopyPropBudget", left), ("CopyPropGlobalBudget", left_global)] {
            if left == 0 && budget(name) > 0 {
                tell_end_of_budget(view, name);
            }
        }
        Ok(())
    }
}

/// More than any budget.
const UNLIMITED: i64 = 1_000_000_000;

/// Rules of what may be propagated, and where to.
#[derive(Clone, Copy)]
struct Rules<'a> {
    /// How many definitions each register has, if constants are taken only from those with one.
    definitions: Option<&'a SecondaryMap<Reg, u32>>,
    addresses: bool,
    constants: bool,
    /// Only into instructions all of whose operands are registers, and stay so?
    registers_only: bool,
    /// From copies in other blocks?
    other_blocks: bool,
}

impl Rules<'_> {
    /// Everything, everywhere.
    const ALL: Rules<'static> =
        Rules { definitions: None, addresses: true, constants: true, registers_only: false, other_blocks: true };

    /// May an instruction with those operands be changed at all?
    fn admit(self, data: &InstData) -> bool {
        !self.registers_only || data.args.iter().all(|arg| arg.as_reg_or_negation().is_some())
    }
}

/// Change of an instruction.
#[derive(Clone, Copy, Default)]
struct Changed {
    any: bool,
    /// Was one of the copies made in another block?
    from_other_block: bool,
}

/// Replaces what one instruction reads.
pub(super) fn visit(view: &mut View<'_>, copies: &AvailableCopies, block: Block, inst: Inst) {
    if copies.reads_copy(&view.func().insts[inst]) {
        propagate_into(view, copies, (block, inst), Rules::ALL);
    }
}

/// Replaces what one instruction reads, which may be a copy. Most instructions read none and do not come here.
#[inline(never)]
fn propagate_into(
    view: &mut View<'_>,
    copies: &AvailableCopies,
    (block, inst): (Block, Inst),
    rules: Rules<'_>,
) -> Changed {
    let mut changed = Changed::default();
    if !rules.admit(&view.func().insts[inst]) {
        return changed;
    }
    let mut found = Found::default();
    if view.is_traced() {
        // Tried on a copy first, because reasons are given before anything changes.
        let func = view.func();
        Replacer {
            reg_types: &func.reg_types,
            copies,
            guard: None,
            rules,
            hearer: &mut found,
            changed: Changed::default(),
        }
        .replace(&mut func.insts[inst].clone());
        tell_refusals(view, block, inst, &found.refused);
        if found.replaced.is_empty() {
            return changed;
        }
    }
    let module = view.module();
    view.rewrite(|func| explain(module, func, block, inst, &found.replaced)).update_reads(inst, |data, reg_types| {
        let replacer =
            Replacer { reg_types, copies, guard: None, rules, hearer: &mut Nobody, changed: Changed::default() };
        changed = replacer.replace(data);
        changed.any
    });
    changed
}

fn definition_counts(func: &Function) -> SecondaryMap<Reg, u32> {
    let mut counts = SecondaryMap::new();
    for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
        func.insts[inst].dsts.iter().for_each(|&dst| counts[dst] += 1);
    }
    counts
}

fn tell_end_of_budget(view: &mut View<'_>, name: &str) {
    if let Some(entry) = view.func().entry_block() {
        view.miss(|_| {
            let message = format!("the budget `{name}` is used up; more copies may remain");
            Remark::missed("budget", entry, message).with("knob", Fact::Text(name.into()))
        });
    }
}

/// Finding for one instruction.
#[derive(Default)]
struct Found {
    /// Registers that it read through a copy.
    replaced: Vec<(Reg, Source)>,
    /// Registers that it goes on reading although they are copies.
    refused: Vec<Refusal>,
}

struct Refusal {
    copy: Reg,
    source: Source,
    was_overwritten: bool,
}

/// Listener for findings.
trait Hearer {
    const HEARS: bool;
    fn replaced(&mut self, copy: Reg, source: Source);
    fn refused(&mut self, refusal: Refusal);
}

impl Hearer for Found {
    const HEARS: bool = true;

    fn replaced(&mut self, copy: Reg, source: Source) {
        self.replaced.push((copy, source));
    }

    fn refused(&mut self, refusal: Refusal) {
        self.refused.push(refusal);
    }
}

struct Nobody;

impl Hearer for Nobody {
    const HEARS: bool = false;
    fn replaced(&mut self, _: Reg, _: Source) {}
    fn refused(&mut self, _: Refusal) {}
}

fn tell_refusals(view: &mut View<'_>, block: Block, inst: Inst, refusals: &[Refusal]) {
    let module = view.module();
    for &Refusal { copy, source, was_overwritten } in refusals {
        view.miss(|func| {
            let text = instruction_text(module, func, inst);
            let (copy_name, source_name) = (&func.regs[copy].name, source_text(func, copy, source));
            let why = match source {
                Source::Reg(reg) if was_overwritten => {
                    format!("`{}` may be overwritten between the copy and this use", func.regs[reg].name)
                }
                Source::Const(_) if was_overwritten => {
                    format!("`{copy_name}` may be overwritten between the copy and this use")
                }
                Source::Reg(reg) => {
                    format!("`{source_name}` has type {}, which does not fit here", func.reg_types[reg])
                }
                Source::Const(_) => "a constant is not allowed there".into(),
            };
            Remark::missed("copy", block, format!("`{text}` keeps `{copy_name}`, a copy of `{source_name}`: {why}"))
                .at(inst)
                .with("copy", Fact::Reg(copy))
                .with("source", Fact::Text(source_name))
        });
    }
}

fn explain(module: &Module, func: &Function, block: Block, inst: Inst, replaced: &[(Reg, Source)]) -> Remark {
    let before = instruction_text(module, func, inst);
    let parts: Vec<String> = replaced
        .iter()
        .map(|&(copy, source)| {
            format!("`{}` instead of its copy `{}`", source_text(func, copy, source), func.regs[copy].name)
        })
        .collect();
    let rule = match replaced.first() {
        Some((_, Source::Const(_))) => "constant",
        _ => "copy",
    };
    let mut remark = Remark::applied(rule, block, format!("`{before}` now reads {}", parts.join(" and "))).at(inst);
    for &(copy, source) in replaced {
        remark = remark.with("copy", Fact::Reg(copy)).with("source", Fact::Text(source_text(func, copy, source)));
    }
    remark
}

/// The source as the text would write it; a constant has the type of its copy.
fn source_text(func: &Function, copy: Reg, source: Source) -> String {
    match source {
        Source::Reg(reg) => func.regs[reg].name.clone(),
        Source::Const(bits) => constant_text(bits, func.reg_types[copy]),
    }
}

/// Lets one instruction read what was copied.
struct Replacer<'a, H> {
    reg_types: &'a PrimaryMap<Reg, Type>,
    copies: &'a AvailableCopies,
    /// Guard of the reader.
    guard: Option<Guard>,
    rules: Rules<'a>,
    hearer: &'a mut H,
    changed: Changed,
}

impl<H: Hearer> Replacer<'_, H> {
    /// Gives what was replaced. What was copied may be a copy under
    /// this guard, though it was none where it was copied, so each place is looked at again until
    /// it is none. That ends, since what was copied was written before its copy. The guard goes
    /// first: copies that hold under it are known by what it was copied from.
    fn replace(mut self, data: &mut InstData) -> Changed {
        let mut any = false;
        if let Some(guard) = &mut data.guard {
            while self.replace_register(&mut guard.reg, |_, _| true) {
                any = true;
            }
        }
        self.guard = data.guard;
        for index in 0..data.args.len() {
            while self.replace_operand(data, index) {
                any = true;
            }
        }
        Changed { any, ..self.changed }
    }

    #[inline]
    fn replace_operand(&mut self, data: &mut InstData, index: usize) -> bool {
        // What an opaque instruction may take is not known, nor which of its registers have to be the same.
        if data.opcode.op == Op::Ptx {
            return false;
        }
        match &mut data.args[index] {
            Operand::Reg(reg) => {
                let copy = *reg;
                let Some(source) = self.source(copy) else { return false };
                // What has the copy's type fits wherever the copy stands; what may stand there is mostly not asked.
                if let Source::Reg(from) = source
                    && self.reg_types[from] == self.reg_types[copy]
                {
                    *reg = from;
                    self.note(copy);
                    self.hearer.replaced(copy, source);
                    return true;
                }
                let is_taken = match source {
                    Source::Const(bits) => data.takes_constant(index, bits),
                    Source::Reg(_) => true,
                };
                let kind = data.arg_kind(index).filter(|_| is_taken);
                let Some(operand) = self.fitting(copy, source, kind) else { return false };
                data.args[index] = operand;
                true
            }
            Operand::NotReg(reg) => self.replace_register(reg, |_, _| true),
            Operand::Address(address) => self.rules.addresses && self.replace_in_address(address),
            Operand::List(_) => {
                let Some(ArgKind::Elements(ty, _)) = data.signature().arg(index) else { return false };
                let Operand::List(elements) = &mut data.args[index] else { return false };
                self.replace_in_list(elements, ty)
            }
            _ => false,
        }
    }

    fn replace_in_list(&mut self, elements: &mut [Operand], ty: Type) -> bool {
        let mut any = false;
        for element in elements {
            let Operand::Reg(copy) = *element else { continue };
            let Some(source) = self.source(copy) else { continue };
            if let Some(operand) = self.fitting(copy, source, Some(ArgKind::LowBits(ty))) {
                *element = operand;
                any = true;
            }
        }
        any
    }

    /// A constant index goes into the offset; a register index keeps its extension to 64 bits.
    fn replace_in_address(&mut self, address: &mut Address) -> bool {
        let mut any = false;
        if let AddressBase::Reg(base) = &mut address.base {
            any |= self.replace_register(base, |from, to| from.bits() == to.bits() && !to.is_float());
        }
        let Address { terms, offset, .. } = address;
        terms.retain(|(term, scale)| {
            if let Some(source @ Source::Const(bits)) = self.copies.lookup(*term, self.guard)
                && self.may_use(*term, source)
            {
                self.note(*term);
                let ty = self.reg_types[*term];
                let shift = 64 - ty.bits();
                let bits = bits & ty.mask();
                let value = if ty.is_signed() { ((bits << shift) as i64) >> shift } else { bits as i64 };
                *offset = offset.wrapping_add(value.wrapping_mul(*scale));
                self.hearer.replaced(*term, source);
                any = true;
                return false;
            }
            any |= self.replace_register(term, |from, to| {
                let extends_alike = from.bits() == 64 || from.is_signed() == to.is_signed();
                from.bits() == to.bits() && extends_alike && !to.is_float()
            });
            true
        });
        any
    }

    /// Looks at a place where only a register can stand.
    fn replace_register(&mut self, place: &mut Reg, fits: impl Fn(Type, Type) -> bool) -> bool {
        let copy = *place;
        match self.source(copy) {
            Some(source @ Source::Reg(from)) if fits(self.reg_types[copy], self.reg_types[from]) => {
                self.note(copy);
                self.hearer.replaced(copy, source);
                *place = from;
                true
            }
            Some(source @ Source::Reg(_)) => {
                self.hearer.refused(Refusal { copy, source, was_overwritten: false });
                false
            }
            // A constant predicate is for `const-fold` to act on.
            Some(Source::Const(_)) | None => false,
        }
    }

    /// The source of a copy as it may stand in a place of that kind.
    fn fitting(&mut self, copy: Reg, source: Source, kind: Option<ArgKind>) -> Option<Operand> {
        let Some(kind) = kind.filter(|&kind| self.fits(copy, source, kind)) else {
            self.hearer.refused(Refusal { copy, source, was_overwritten: false });
            return None;
        };
        self.note(copy);
        self.hearer.replaced(copy, source);
        Some(match source {
            Source::Reg(from) => Operand::Reg(from),
            Source::Const(bits) => Operand::Const(bits & constant_mask(kind)),
        })
    }

    /// Source of a copied register.
    #[inline]
    fn source(&mut self, copy: Reg) -> Option<Source> {
        if !self.copies.may_be_copy(copy) {
            return None;
        }
        let source = self.copies.lookup(copy, self.guard);
        if H::HEARS
            && source.is_none()
            && let Some(source) = self.copies.overwritten(copy, self.guard)
        {
            self.hearer.refused(Refusal { copy, source, was_overwritten: true });
        }
        source.filter(|&source| self.may_use(copy, source))
    }

    /// Do the rules allow that source for that copy?
    fn may_use(&self, copy: Reg, source: Source) -> bool {
        let is_constant = matches!(source, Source::Const(_));
        let is_only = |counts: &SecondaryMap<Reg, u32>| counts[copy] < 2;
        let fits = !is_constant
            || (self.rules.constants && !self.rules.registers_only && self.rules.definitions.is_none_or(is_only));
        fits && (self.rules.other_blocks || self.copies.was_copied_here(copy))
    }

    /// Notes where a copy that was used stands.
    fn note(&mut self, copy: Reg) {
        self.changed.from_other_block |= !self.copies.was_copied_here(copy);
    }

    /// May `source` stand where `copy` stands in a place of that kind?
    fn fits(&self, copy: Reg, source: Source, kind: ArgKind) -> bool {
        match (source, kind) {
            (Source::Const(_), ArgKind::Value(_) | ArgKind::LowBits(_)) => true,
            (Source::Const(_), _) => false,
            (Source::Reg(reg), _) if self.reg_types[reg] == self.reg_types[copy] => true,
            (Source::Reg(reg), ArgKind::Value(ty)) => self.reg_types[reg].agrees_with(ty),
            (Source::Reg(reg), ArgKind::LowBits(ty)) => {
                let have = self.reg_types[reg];
                have.agrees_with(ty) || (have.bits() > ty.bits() && !have.is_float())
            }
            (Source::Reg(_), ArgKind::Predicate | ArgKind::Texture) => true,
            (Source::Reg(reg), ArgKind::Any(_)) => self.reg_types[reg].agrees_wherever(self.reg_types[copy]),
            (Source::Reg(_), ArgKind::Address | ArgKind::Elements(..) | ArgKind::Input | ArgKind::Cycles) => false,
            (Source::Reg(_), ArgKind::Special | ArgKind::Kept) => false,
        }
    }
}

/// The width that a constant is reduced to in a place of that kind.
fn constant_mask(kind: ArgKind) -> u64 {
    match kind {
        ArgKind::Value(ty) | ArgKind::LowBits(ty) => ty.mask(),
        _ => u64::MAX,
    }
}
