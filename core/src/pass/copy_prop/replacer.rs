//! Replacement of copies in one instruction by their sources, where type and place allow it.
//!
//! Cost: O(1) for each operand and each link of a chain of copies under one guard.

use alloc::vec::Vec;
use cranelift_entity::{EntityRef, PrimaryMap};

use super::Rules;
use crate::ir::{Address, AddressBase, ArgKind, Guard, InstData, Op, Operand, Reg, Type};
use crate::pass::support::available_copies::{AvailableCopies, FoundCopy, Source};

/// Change of an instruction.
#[derive(Clone, Copy, Default)]
pub struct Changed {
    /// True if an operand was replaced.
    pub any: bool,
    /// True if one of the copies was made in another block.
    pub from_other_block: bool,
}

/// Finding for one instruction.
#[derive(Default)]
pub struct Found {
    /// Registers that it read through a copy.
    pub replaced: Vec<(Reg, Source)>,
    /// Registers that it goes on reading although they are copies.
    pub refused: Vec<Refusal>,
}

/// A copy that an instruction goes on reading.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    pub copy: Reg,
    pub source: Source,
    /// True if the copy or its source may have been overwritten since.
    pub was_overwritten: bool,
}

/// The replacement of copies in one instruction.
pub struct Replacer<'a> {
    reg_types: &'a PrimaryMap<Reg, Type>,
    copies: &'a AvailableCopies,
    /// Guard of the reader.
    guard: Option<Guard>,
    rules: Rules<'a>,
    /// Findings, if the view is traced.
    found: Option<&'a mut Found>,
    changed: Changed,
}

impl<'a> Replacer<'a> {
    /// Prepares replacements in one instruction.
    pub fn new(
        reg_types: &'a PrimaryMap<Reg, Type>,
        copies: &'a AvailableCopies,
        rules: Rules<'a>,
        found: Option<&'a mut Found>,
    ) -> Replacer<'a> {
        Replacer { reg_types, copies, guard: None, rules, found, changed: Changed::default() }
    }

    /// Replaces copies by their sources. A source may be a copy under this guard, though it was
    /// none at the copy, so each place is visited until it holds none; that ends, since a source
    /// was written before its copy. The guard comes first: copies that hold under it are known by
    /// the source of its copy.
    pub fn replace(mut self, data: &mut InstData) -> Changed {
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

    fn replace_operand(&mut self, data: &mut InstData, index: usize) -> bool {
        // Constraints on the operands of an opaque instruction are unknown.
        if data.opcode.op == Op::Ptx {
            return false;
        }
        match &mut data.args[index] {
            Operand::Reg(reg) => {
                let copy = *reg;
                let Some(source) = self.source(copy) else { return false };
                // A source of the copy's type fits wherever the copy does.
                if let Source::Reg(from) = source
                    && self.reg_types[from] == self.reg_types[copy]
                {
                    *reg = from;
                    self.record(copy, source);
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
                self.record(*term, source);
                let value = self.reg_types[*term].extend(bits);
                *offset = offset.wrapping_add(value.wrapping_mul(*scale));
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

    /// Replaces a copy in a place that takes registers only.
    fn replace_register(&mut self, place: &mut Reg, fits: impl Fn(Type, Type) -> bool) -> bool {
        let copy = *place;
        match self.source(copy) {
            Some(source @ Source::Reg(from)) if fits(self.reg_types[copy], self.reg_types[from]) => {
                self.record(copy, source);
                *place = from;
                true
            }
            Some(source @ Source::Reg(_)) => {
                self.refused(Refusal { copy, source, was_overwritten: false });
                false
            }
            // A constant predicate is for `const-fold` to act on.
            Some(Source::Const(_)) | None => false,
        }
    }

    /// The source of a copy as an operand, if a place of that kind takes it.
    fn fitting(&mut self, copy: Reg, source: Source, kind: Option<ArgKind>) -> Option<Operand> {
        let Some(kind) = kind.filter(|&kind| self.fits(copy, source, kind)) else {
            self.refused(Refusal { copy, source, was_overwritten: false });
            return None;
        };
        self.record(copy, source);
        Some(match source {
            Source::Reg(from) => Operand::Reg(from),
            Source::Const(bits) => Operand::Const(bits & constant_mask(kind)),
        })
    }

    /// Source of a copied register.
    fn source(&mut self, copy: Reg) -> Option<Source> {
        if !self.copies.may_be_copy(copy) {
            return None;
        }
        let FoundCopy { source, was_overwritten } = self.copies.find(copy, self.guard)?;
        if was_overwritten {
            self.refused(Refusal { copy, source, was_overwritten });
            return None;
        }
        self.may_use(copy, source).then_some(source)
    }

    /// Records that a copy was replaced.
    fn record(&mut self, copy: Reg, source: Source) {
        self.changed.from_other_block |= !self.copies.was_copied_here(copy);
        if let Some(found) = &mut self.found {
            found.replaced.push((copy, source));
        }
    }

    fn refused(&mut self, refusal: Refusal) {
        // An operand is visited again after each replacement in it.
        if let Some(found) = &mut self.found
            && !found.refused.contains(&refusal)
        {
            found.refused.push(refusal);
        }
    }

    /// True if the rules allow that source for that copy.
    fn may_use(&self, copy: Reg, source: Source) -> bool {
        let is_constant = matches!(source, Source::Const(_));
        let is_only = |counts: &[usize]| counts[copy.index()] < 2;
        let fits = !is_constant
            || (self.rules.constants && !self.rules.registers_only && self.rules.definitions.is_none_or(is_only));
        fits && (self.rules.other_blocks || self.copies.was_copied_here(copy))
    }

    /// True if a place of that kind, which holds `copy`, takes `source`.
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
