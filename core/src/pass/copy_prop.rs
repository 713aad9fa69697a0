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

use super::available_copies::{AvailableCopies, Lookup, Source};
use super::{Pass, PassError, PassInfo, Settings};
use crate::edit::{Fact, Remark};
use crate::ir::{Address, AddressBase, ArgKind, Block, Function, Guard, Inst, InstData, Operand, Reg};
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
        let (cfg, dominators) = (view.cfg(), view.dominators());
        let mut copies = AvailableCopies::new(view.func(), cfg, dominators.clone());
        for &block in dominators.preorder() {
            copies.enter(view.func(), block);
            let mut next = view.func().layout.first_inst(block);
            while let Some(inst) = next {
                propagate_into(view, &copies, block, inst);
                copies.define(&view.func().insts[inst]);
                next = view.func().layout.next_inst(inst);
            }
        }
        Ok(())
    }
}

/// One register that an instruction reads through a copy.
struct Replacement {
    copy: Reg,
    source: Source,
}

/// Replaces what one instruction reads.
fn propagate_into<S: Listener>(view: &mut View<'_, S>, copies: &AvailableCopies, block: Block, inst: Inst) {
    let func = view.func();
    let data = &func.insts[inst];
    // Most instructions read no copy at all: find that out before anything is cloned.
    let mut any = false;
    data.for_each_use(|reg| any |= copies.lookup(reg, data.guard) != Lookup::None);
    if !any {
        return;
    }
    let mut changed = data.clone();
    let mut done = Vec::new();
    let mut refused = Vec::new();
    let mut propagation = Propagation { func, copies, guard: data.guard, done: &mut done, refused: &mut refused };
    propagation.replace_in_instruction(&mut changed);
    let before = if S::LISTENS { instruction_text(view.module(), func, inst) } else { String::new() };
    for Replacement { copy, source } in refused {
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
    let mut rewrite = view.rewrite(|func| explain(func, block, inst, &before, &done));
    rewrite.replace(inst, changed);
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

/// The replacing of one instruction's operands.
struct Propagation<'a> {
    func: &'a Function,
    copies: &'a AvailableCopies,
    guard: Option<Guard>,
    done: &'a mut Vec<Replacement>,
    refused: &'a mut Vec<Replacement>,
}

impl Propagation<'_> {
    fn replace_in_instruction(&mut self, data: &mut InstData) {
        let signature = match data.args.first() {
            Some(Operand::List(parts)) => data.opcode.packing_signature(parts.len(), true),
            _ if data.dsts.len() > 1 => data.opcode.packing_signature(data.dsts.len(), false),
            _ => None,
        }
        .unwrap_or_else(|| data.opcode.signature());
        for (index, operand) in data.args.iter_mut().enumerate() {
            if let Some(kind) = signature.arg(index) {
                self.replace_in_operand(operand, kind);
            }
        }
        if let Some(guard) = &mut data.guard {
            self.guard = None;
            guard.reg = self.register(guard.reg, |_, _| true);
        }
    }

    fn replace_in_operand(&mut self, operand: &mut Operand, kind: ArgKind) {
        match operand {
            Operand::Reg(reg) => {
                let reg = *reg;
                let Some(source) = self.source(reg) else { return };
                if self.fits(reg, source, kind) {
                    self.done.push(Replacement { copy: reg, source });
                    *operand = match source {
                        Source::Reg(source) => Operand::Reg(source),
                        Source::Const(bits) => Operand::Const(bits & constant_mask(kind)),
                    };
                } else {
                    self.refused.push(Replacement { copy: reg, source });
                }
            }
            Operand::NotReg(reg) => *reg = self.register(*reg, |_, _| true),
            Operand::Address(address) => self.replace_in_address(address),
            Operand::List(elements) => {
                if let ArgKind::Elements(ty, _) = kind {
                    elements.iter_mut().for_each(|element| self.replace_in_operand(element, ArgKind::LowBits(ty)));
                }
            }
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_) => {}
        }
    }

    /// A constant index goes into the offset; a register index keeps its extension to 64 bits.
    fn replace_in_address(&mut self, address: &mut Address) {
        if let AddressBase::Reg(base) = &mut address.base {
            *base = self.register(*base, |from, to| from.ty.bits() == to.ty.bits());
        }
        let terms = core::mem::take(&mut address.terms);
        for (index, scale) in terms {
            match self.source(index) {
                Some(Source::Const(bits)) => {
                    let ty = self.func.regs[index].ty;
                    let shift = 64 - ty.bits();
                    let bits = bits & ty.mask();
                    let value = if ty.is_signed() { ((bits << shift) as i64) >> shift } else { bits as i64 };
                    address.offset = address.offset.wrapping_add(value.wrapping_mul(scale));
                    self.done.push(Replacement { copy: index, source: Source::Const(bits) });
                }
                _ => {
                    let kept = self.register(index, |from, to| {
                        from.ty.bits() == to.ty.bits()
                            && (from.ty.bits() == 64 || from.ty.is_signed() == to.ty.is_signed())
                    });
                    address.terms.push((kept, scale));
                }
            }
        }
    }

    /// What a register is a copy of; an overwritten source is noted as refused.
    fn source(&mut self, reg: Reg) -> Option<Source> {
        match self.copies.lookup(reg, self.guard) {
            Lookup::Found(source) => Some(source),
            Lookup::Overwritten(source) => {
                self.refused.push(Replacement { copy: reg, source });
                None
            }
            Lookup::None => None,
        }
    }

    /// Replaces a register where only a register can stand.
    fn register(&mut self, reg: Reg, fits: impl Fn(&crate::ir::RegData, &crate::ir::RegData) -> bool) -> Reg {
        match self.source(reg) {
            Some(Source::Reg(source)) if fits(&self.func.regs[reg], &self.func.regs[source]) => {
                self.done.push(Replacement { copy: reg, source: Source::Reg(source) });
                source
            }
            Some(source @ Source::Reg(_)) => {
                self.refused.push(Replacement { copy: reg, source });
                reg
            }
            // A constant predicate is for `const-fold` to act on.
            Some(Source::Const(_)) | None => reg,
        }
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
