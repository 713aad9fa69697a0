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
//! One walk over the dominator tree in preorder; since a copy's own operand is replaced before the copy is recorded,
//! whole chains collapse in that one walk. Sound because [`AvailableCopies`] only answers with a source that still holds
//! what was copied in every lane that asks. A use is left alone where the source's type does not fit its place.
//!
//! Cost: a constant number of look-ups an operand. Running it again finds nothing more.
//!
//! Source: Aho, Lam, Sethi, Ullman, section 9.1.5, extended to guards as the ptxas page describes `OriCopyProp`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::available_copies::{AvailableCopies, Lookup, Source, walk_with_copies};
use super::{Pass, PassError, PassInfo, Settings};
use crate::edit::{Fact, Remark};
use crate::ir::{
    Address, AddressBase, ArgKind, Block, Function, Guard, Inst, InstArgs, InstData, Operand, Reg, RegData,
};
use crate::text::{constant_text, instruction_text};
use crate::view::{Listener, View};

/// See the file's head.
pub struct CopyProp;

impl Pass for CopyProp {
    const INFO: PassInfo = PassInfo {
        name: "copy-prop",
        paper: "ptxas page, OriCopyProp; Aho et al. 9.1.5",
        summary: "Lets every use of a copy read what was copied, through guards and selp where the guard is the same.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run<S: Listener>(view: &mut View<'_, S>, _: &Settings) -> Result<(), PassError> {
        let mut propagation = Propagation::default();
        walk_with_copies(view, |view, copies, block, inst| {
            propagation.visit(view, copies, block, inst);
            true
        });
        Ok(())
    }
}

/// What one walk does to instructions. What was found for one is kept to the next for its memory.
#[derive(Default)]
pub(super) struct Propagation {
    done: Vec<Replacement>,
    refused: Vec<Refusal>,
}

impl Propagation {
    /// Replaces what one instruction reads.
    #[inline]
    pub(super) fn visit<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        copies: &AvailableCopies,
        block: Block,
        inst: Inst,
    ) {
        // Most instructions read no copy at all.
        if copies.may_read_copy(&view.func().insts[inst]) {
            propagate_into(view, copies, block, inst, self);
        }
    }
}

/// One register that an instruction reads through a copy.
struct Replacement {
    copy: Reg,
    source: Source,
    change: Change,
}

/// A register that an instruction goes on reading although it is a copy.
struct Refusal {
    copy: Reg,
    source: Source,
}

/// What a replacement does to the instruction. Numbers count operands, and within one elements or terms.
#[derive(Clone, Copy)]
enum Change {
    Guard(Reg),
    Operand(usize, Replaced),
    Element(usize, usize, Replaced),
    Base(usize, Reg),
    Term(usize, usize, Reg),
    /// A constant index, extended to 64 bits, goes into the offset.
    ConstantTerm(usize, usize, i64),
}

/// What stands where the copy stood.
#[derive(Clone, Copy)]
enum Replaced {
    Reg(Reg),
    NotReg(Reg),
    Const(u64),
}

/// Replaces what one instruction reads, which may be a copy. Apart from [`Propagation::visit`], which most instructions
/// leave quickly.
#[inline(never)]
fn propagate_into<S: Listener>(
    view: &mut View<'_, S>,
    copies: &AvailableCopies,
    block: Block,
    inst: Inst,
    found: &mut Propagation,
) {
    let func = view.func();
    Finder { func, copies, guard: None, found }.search(&func.insts[inst]);
    let Propagation { done, refused } = found;
    if done.is_empty() && refused.is_empty() {
        return;
    }
    let before = if S::LISTENS { instruction_text(view.module(), func, inst) } else { String::new() };
    for &Refusal { copy, source } in refused.iter() {
        view.miss(|func| {
            let (copy_name, source_name) = (&func.regs[copy].name, source_text(func, copy, source));
            let overwritten = copies.lookup(copy, func.insts[inst].guard) == Lookup::Overwritten(source);
            let why = match source {
                Source::Reg(reg) if overwritten => {
                    format!("`{}` may be overwritten between the copy and this use", func.regs[reg].name)
                }
                Source::Const(_) if overwritten => {
                    format!("`{copy_name}` may be overwritten between the copy and this use")
                }
                Source::Reg(reg) => format!("`{source_name}` has type {}, which does not fit here", func.regs[reg].ty),
                Source::Const(_) => "a constant cannot stand there".into(),
            };
            Remark::missed("copy", block, format!("`{before}` keeps `{copy_name}`, a copy of `{source_name}`: {why}"))
                .at(inst)
                .with("copy", Fact::Reg(copy))
                .with("source", Fact::Text(source_name))
        });
    }
    if done.is_empty() {
        return;
    }
    let mut rewrite = view.rewrite(|func| explain(func, block, inst, &before, done));
    rewrite.update_reads(inst, |guard, args| {
        // From the end, because a constant index takes its term out.
        done.iter().rev().for_each(|one| one.change.make(guard, args));
        true
    });
}

impl Change {
    fn make(self, guard: &mut Option<Guard>, args: &mut InstArgs) {
        match self {
            Change::Guard(reg) => {
                if let Some(guard) = guard {
                    guard.reg = reg;
                }
            }
            Change::Operand(index, replaced) => args[index] = replaced.operand(),
            Change::Element(index, element, replaced) => {
                if let Operand::List(elements) = &mut args[index] {
                    elements[element] = replaced.operand();
                }
            }
            Change::Base(index, reg) => {
                if let Operand::Address(address) = &mut args[index] {
                    address.base = AddressBase::Reg(reg);
                }
            }
            Change::Term(index, term, reg) => {
                if let Operand::Address(address) = &mut args[index] {
                    address.terms[term].0 = reg;
                }
            }
            Change::ConstantTerm(index, term, value) => {
                if let Operand::Address(address) = &mut args[index] {
                    let (_, scale) = address.terms.remove(term);
                    address.offset = address.offset.wrapping_add(value.wrapping_mul(scale));
                }
            }
        }
    }
}

impl Replaced {
    fn operand(self) -> Operand {
        match self {
            Replaced::Reg(reg) => Operand::Reg(reg),
            Replaced::NotReg(reg) => Operand::NotReg(reg),
            Replaced::Const(bits) => Operand::Const(bits),
        }
    }
}

fn explain(func: &Function, block: Block, inst: Inst, before: &str, done: &[Replacement]) -> Remark {
    let parts: Vec<String> = done
        .iter()
        .map(|one| {
            format!("`{}` instead of its copy `{}`", source_text(func, one.copy, one.source), func.regs[one.copy].name)
        })
        .collect();
    let rule = match done[0].source {
        Source::Reg(_) => "copy",
        Source::Const(_) => "constant",
    };
    let mut remark = Remark::applied(rule, block, format!("`{before}` reads {}", parts.join(" and "))).at(inst);
    for one in done {
        remark = remark
            .with("copy", Fact::Reg(one.copy))
            .with("source", Fact::Text(source_text(func, one.copy, one.source)));
    }
    remark
}

/// The source as the text would write it; a constant has the type of its copy.
fn source_text(func: &Function, copy: Reg, source: Source) -> String {
    match source {
        Source::Reg(reg) => func.regs[reg].name.clone(),
        Source::Const(bits) => constant_text(bits, func.regs[copy].ty),
    }
}

/// The search for what one instruction may read instead.
struct Finder<'a> {
    func: &'a Function,
    copies: &'a AvailableCopies,
    guard: Option<Guard>,
    found: &'a mut Propagation,
}

impl Finder<'_> {
    fn search(mut self, data: &InstData) {
        self.found.done.clear();
        self.found.refused.clear();
        self.guard = data.guard;
        let mut signature = None;
        let mut kind = |index| signature.get_or_insert_with(|| data.signature()).arg(index);
        for (index, operand) in data.args.iter().enumerate() {
            match operand {
                Operand::Reg(reg) | Operand::NotReg(reg) if self.copies.may_be_copy(*reg) => {
                    self.look_into_operand(operand, || kind(index), |replaced| Change::Operand(index, replaced));
                }
                Operand::Address(address) => self.look_into_address(address, index),
                Operand::List(elements) => {
                    let Some(ArgKind::Elements(ty, _)) = kind(index) else { continue };
                    for (place, element) in elements.iter().enumerate() {
                        let change = |replaced| Change::Element(index, place, replaced);
                        self.look_into_operand(element, || Some(ArgKind::LowBits(ty)), change);
                    }
                }
                _ => {}
            }
        }
        if let Some(guard) = data.guard {
            self.guard = None;
            self.look_for_register(guard.reg, |_, _| true, Change::Guard);
        }
    }

    fn look_into_operand(
        &mut self,
        operand: &Operand,
        kind: impl FnOnce() -> Option<ArgKind>,
        change: impl Fn(Replaced) -> Change,
    ) {
        match *operand {
            Operand::Reg(reg) => {
                let Some(source) = self.source(reg) else { return };
                let replaced = match source {
                    // What has the copy's type fits wherever the copy stands; what may stand there is mostly not asked.
                    Source::Reg(from) if self.func.regs[from].ty == self.func.regs[reg].ty => Some(Replaced::Reg(from)),
                    _ => kind().and_then(|kind| self.replaced(reg, source, kind)),
                };
                match replaced {
                    Some(replaced) => self.found.done.push(Replacement { copy: reg, source, change: change(replaced) }),
                    None => self.found.refused.push(Refusal { copy: reg, source }),
                }
            }
            Operand::NotReg(reg) => self.look_for_register(reg, |_, _| true, |reg| change(Replaced::NotReg(reg))),
            _ => {}
        }
    }

    /// A constant index goes into the offset; a register index keeps its extension to 64 bits.
    fn look_into_address(&mut self, address: &Address, index: usize) {
        if let AddressBase::Reg(base) = address.base {
            let fits = |from: &RegData, to: &RegData| from.ty.bits() == to.ty.bits();
            self.look_for_register(base, fits, |reg| Change::Base(index, reg));
        }
        for (place, &(term, _)) in address.terms.iter().enumerate() {
            if let Lookup::Found(Source::Const(bits)) = self.copies.lookup(term, self.guard) {
                let ty = self.func.regs[term].ty;
                let shift = 64 - ty.bits();
                let bits = bits & ty.mask();
                let value = if ty.is_signed() { ((bits << shift) as i64) >> shift } else { bits as i64 };
                let change = Change::ConstantTerm(index, place, value);
                self.found.done.push(Replacement { copy: term, source: Source::Const(bits), change });
            } else {
                let fits = |from: &RegData, to: &RegData| {
                    from.ty.bits() == to.ty.bits() && (from.ty.bits() == 64 || from.ty.is_signed() == to.ty.is_signed())
                };
                self.look_for_register(term, fits, |reg| Change::Term(index, place, reg));
            }
        }
    }

    /// What a register is a copy of; an overwritten source is noted as refused.
    fn source(&mut self, reg: Reg) -> Option<Source> {
        if !self.copies.may_be_copy(reg) {
            return None;
        }
        match self.copies.lookup(reg, self.guard) {
            Lookup::Found(source) => Some(source),
            Lookup::Overwritten(source) => {
                self.found.refused.push(Refusal { copy: reg, source });
                None
            }
            Lookup::None => None,
        }
    }

    /// Looks at a place where only a register can stand.
    fn look_for_register(
        &mut self,
        reg: Reg,
        fits: impl Fn(&RegData, &RegData) -> bool,
        change: impl Fn(Reg) -> Change,
    ) {
        match self.source(reg) {
            Some(source @ Source::Reg(to)) if fits(&self.func.regs[reg], &self.func.regs[to]) => {
                self.found.done.push(Replacement { copy: reg, source, change: change(to) });
            }
            Some(source @ Source::Reg(_)) => self.found.refused.push(Refusal { copy: reg, source }),
            // A constant predicate is for `const-fold` to act on.
            Some(Source::Const(_)) | None => {}
        }
    }

    /// What may stand for a source in a place of that kind.
    fn replaced(&self, copy: Reg, source: Source, kind: ArgKind) -> Option<Replaced> {
        self.fits(copy, source, kind).then(|| match source {
            Source::Reg(from) => Replaced::Reg(from),
            Source::Const(bits) => Replaced::Const(bits & constant_mask(kind)),
        })
    }

    /// May `source` stand where `copy` stands in a place of that kind?
    fn fits(&self, copy: Reg, source: Source, kind: ArgKind) -> bool {
        match (source, kind) {
            (Source::Const(_), ArgKind::Value(_) | ArgKind::LowBits(_)) => true,
            (Source::Const(_), _) => false,
            (Source::Reg(reg), ArgKind::Value(ty)) => self.func.regs[reg].ty.agrees_with(ty),
            (Source::Reg(reg), ArgKind::LowBits(ty)) => {
                let have = self.func.regs[reg].ty;
                have.agrees_with(ty) || (have.bits() > ty.bits() && !have.is_float())
            }
            (Source::Reg(_), ArgKind::Predicate | ArgKind::Texture) => true,
            (Source::Reg(reg), ArgKind::Any(_)) => self.func.regs[reg].ty.agrees_with(self.func.regs[copy].ty),
            (Source::Reg(_), ArgKind::Address | ArgKind::Elements(..) | ArgKind::Input | ArgKind::Cycles) => false,
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
