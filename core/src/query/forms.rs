//! Forms: the expressions that questions are about, over the registers of a point.
//!
//! ```text
//! form 0    ld.global.f32 A[i]                at n8
//! form 1    ld.global.f32 A[i + 1]            above `i = add.s32 i, 1`
//! ```
//!
//! A load's form is its kind and its address as a sum over registers; another instruction's form is
//! its opcode and operands, those that commute in order. Equal forms at one point mean equal
//! values. Forms are numbered, and so are the sets of forms that a question has taken.
//!
//! Three groupings, each coarser than the one before: a *form* is one expression; a *kind* is all
//! loads that give the same value for the same address, and counts changes; a *family* is all loads
//! from one alias class, and is what scans read. For pure instructions kind and family are the form
//! itself.
//!
//! Cost: O(size of the expression), hashed, for each form.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::alias::AliasClass;
use crate::compact_sort::CompactSort;
use crate::ir::{Flags, Function, Guard, Inst, InstArgs, InstData, Module, Op, Opcode, Operand, Reg, Type};
use crate::symbolic::{AffineNames, RegisterSum, Substituted, SumText};
use crate::text::expression_text;

/// An expression over the registers of a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u32);
entity_impl!(Form, "form");

/// A set of forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormSet(u32);
entity_impl!(FormSet, "forms");

/// Forms whose occurrences are found by the same scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family(u32);
entity_impl!(Family);

/// The key of a family.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FamilyKey {
    /// Loads from that class of memory.
    Memory(AliasClass),
    /// One pure expression.
    Pure(Form),
}

/// Loads that give the same value for the same address, or one pure expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(u32);
entity_impl!(Kind);

/// The key of a kind.
#[derive(Clone, PartialEq, Eq, Hash)]
enum KindKey {
    /// Loads into registers of these types.
    Load(LoadKind, SmallVec<[Type; 1]>),
    /// One pure expression.
    Pure(Form),
}

/// The computation of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Subject {
    /// A load of that kind from that address.
    Load(LoadKind, RegisterSum),
    /// A pure instruction.
    Pure(Opcode, InstArgs),
}

/// The properties of a load that decide, with its address, about its value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LoadKind {
    /// The opcode without the mark of loads that do not fault.
    pub opcode: Opcode,
    /// The class of memory that is read.
    pub class: AliasClass,
}

impl LoadKind {
    /// Does nothing write the memory while the kernel runs? The spaces `const` and `param` and
    /// `.nc` promise that.
    pub fn is_never_written(&self) -> bool {
        self.opcode.has(Flags::NC) || self.opcode.space.is_some_and(|space| space.is_read_only())
    }
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Expression {
    /// The computation.
    pub subject: Subject,
    /// The lanes that it is for.
    pub guard: Option<Guard>,
    /// The types of the destinations.
    pub types: SmallVec<[Type; 1]>,
}

impl Expression {
    /// The registers that the expression reads, each once, in order.
    fn regs(&self) -> SmallVec<[Reg; 4]> {
        let mut regs: SmallVec<[Reg; 4]> = self.guard.iter().map(|guard| guard.reg).collect();
        match &self.subject {
            Subject::Load(_, sum) => regs.extend(sum.regs()),
            Subject::Pure(_, args) => args.iter().for_each(|arg| arg.for_each_reg(&mut |reg| regs.push(reg))),
        }
        regs.compact_sort();
        regs.dedup();
        regs
    }

    /// Is the expression a load?
    pub fn is_load(&self) -> bool {
        matches!(self.subject, Subject::Load(..))
    }
}

/// The properties of a form.
struct FormData {
    expression: Rc<Expression>,
    /// The operands in the order of the text, where the expression has them in another one.
    written: Option<InstArgs>,
    regs: SmallVec<[Reg; 4]>,
    family: Family,
    kind: Kind,
    /// The set of this form alone, once it was asked for.
    only: PackedOption<FormSet>,
}

/// All forms.
#[derive(Default)]
pub struct Forms {
    forms: PrimaryMap<Form, FormData>,
    numbers: HashMap<Rc<Expression>, Form>,
    families: HashMap<FamilyKey, Family>,
    kinds: HashMap<KindKey, Kind>,
    sets: PrimaryMap<FormSet, SmallVec<[Form; 4]>>,
    set_numbers: HashMap<SmallVec<[Form; 4]>, FormSet>,
}

impl Forms {
    /// The form of an expression.
    pub fn number(&mut self, expression: Expression) -> Form {
        if let Some(&known) = self.numbers.get(&expression) {
            return known;
        }
        let form = self.forms.next_key();
        let (family, kind) = match &expression.subject {
            Subject::Load(kind, _) => {
                (FamilyKey::Memory(kind.class), KindKey::Load(kind.clone(), expression.types.clone()))
            }
            Subject::Pure(..) => (FamilyKey::Pure(form), KindKey::Pure(form)),
        };
        let family = self.family_of(family);
        let next = Kind(self.kinds.len() as u32);
        let kind = *self.kinds.entry(kind).or_insert(next);
        let (regs, expression) = (expression.regs(), Rc::new(expression));
        self.forms.push(FormData {
            expression: expression.clone(),
            written: None,
            regs,
            family,
            kind,
            only: None.into(),
        });
        self.numbers.insert(expression, form);
        form
    }

    fn family_of(&mut self, key: FamilyKey) -> Family {
        let next = Family(self.families.len() as u32);
        *self.families.entry(key).or_insert(next)
    }

    /// The family of loads from a class of memory.
    pub fn loads_from(&mut self, class: AliasClass) -> Family {
        self.family_of(FamilyKey::Memory(class))
    }

    /// The family of a form.
    pub fn family(&self, form: Form) -> Family {
        self.forms[form].family
    }

    /// The kind of a form.
    pub fn kind(&self, form: Form) -> Kind {
        self.forms[form].kind
    }

    /// Does the form load memory that may be written while the kernel runs?
    pub fn is_written(&self, form: Form) -> bool {
        matches!(&self.expression(form).subject, Subject::Load(kind, _) if !kind.is_never_written())
    }

    /// Is the form a load?
    pub fn is_load(&self, form: Form) -> bool {
        self.expression(form).is_load()
    }

    /// The expression of a form.
    pub fn expression(&self, form: Form) -> &Expression {
        &self.forms[form].expression
    }

    /// The registers that a form reads, each once.
    pub fn regs(&self, form: Form) -> &[Reg] {
        &self.forms[form].regs
    }

    /// The operands of a pure form in the order of the text.
    pub fn operands(&self, form: Form) -> Option<&InstArgs> {
        let FormData { expression, written, .. } = &self.forms[form];
        match &expression.subject {
            Subject::Pure(_, args) => Some(written.as_ref().unwrap_or(args)),
            Subject::Load(..) => None,
        }
    }

    /// The set of one form.
    pub fn only(&mut self, form: Form) -> FormSet {
        if let Some(known) = self.forms[form].only.expand() {
            return known;
        }
        let set = self.sets.push(SmallVec::from_elem(form, 1));
        self.forms[form].only = set.into();
        set
    }

    /// A set with one form more.
    pub fn with(&mut self, set: FormSet, form: Form) -> FormSet {
        if self.members(set).contains(&form) {
            return set;
        }
        let mut forms = self.sets[set].clone();
        forms.push(form);
        self.set(forms)
    }

    /// The set of these forms, in the order in which questions took them.
    pub fn set(&mut self, forms: SmallVec<[Form; 4]>) -> FormSet {
        if let &[only] = forms.as_slice() {
            return self.only(only);
        }
        let sets = &mut self.sets;
        *self.set_numbers.entry(forms).or_insert_with_key(|forms| sets.push(forms.clone()))
    }

    /// The forms of a set.
    pub fn members(&self, set: FormSet) -> &[Form] {
        &self.sets[set]
    }

    /// The form that an instruction computes, over the registers before it. None for instructions
    /// that questions are not about: those with effects, copies, those without a destination, loads
    /// whose address is no sum.
    pub fn of_inst(
        &mut self,
        names: AffineNames<'_>,
        func: &Function,
        inst: Inst,
        class: Option<AliasClass>,
    ) -> Option<Form> {
        let data = &func.insts[inst];
        let subject = if data.opcode.op == Op::Ld {
            if data.opcode.reads_anew() {
                return None;
            }
            Subject::Load(LoadKind { opcode: plain(data.opcode), class: class? }, names.register_address(inst)?)
        } else {
            if !is_scalar_expression(data) {
                return None;
            }
            let mut args = data.args.clone();
            if data.opcode.op.is_commutative() && args.len() >= 2 && args[1] < args[0] {
                args.swap(0, 1);
            }
            Subject::Pure(data.opcode, args)
        };
        let types = data.dsts.iter().map(|&dst| func.reg_types[dst]).collect();
        let is_ordered = matches!(&subject, Subject::Pure(_, args) if *args != data.args);
        let known = self.forms.len();
        let form = self.number(Expression { subject, guard: data.guard, types });
        if is_ordered && self.forms.len() > known {
            self.forms[form].written = Some(data.args.clone());
        }
        Some(form)
    }

    /// The form before an instruction that becomes this form after it. None where there is none:
    /// then the instruction changes the value.
    pub fn before(&mut self, names: AffineNames<'_>, inst: Inst, dsts: &[Reg], form: Form) -> Option<Form> {
        let Expression { subject, guard, types } = self.expression(form);
        let Subject::Load(kind, sum) = subject else { return None };
        if guard.is_some_and(|guard| dsts.contains(&guard.reg)) {
            return None;
        }
        let Substituted::Converted(sum) = names.before(inst, sum) else { return None };
        let before = Expression { subject: Subject::Load(kind.clone(), sum), guard: *guard, types: types.clone() };
        Some(self.number(before))
    }

    /// The form of one element of a vector load.
    pub fn element(&mut self, form: Form, index: u8) -> Option<Form> {
        let Expression { subject: Subject::Load(kind, sum), guard, types } = self.expression(form) else {
            return None;
        };
        let opcode = Opcode { vector: 1, ..kind.opcode };
        let mut sum = sum.clone();
        sum.add_constant(element_offset(opcode, index));
        let subject = Subject::Load(LoadKind { opcode, class: kind.class }, sum);
        let types = SmallVec::from_elem(*types.get(usize::from(index))?, 1);
        let element = Expression { subject, guard: *guard, types };
        Some(self.number(element))
    }

    /// The form as text: `A[i + 1]`, `A[2*i].v2`, `add.s32 a, b`.
    pub fn text(&self, module: &Module, func: &Function, form: Form) -> String {
        let Expression { subject, guard, .. } = self.expression(form);
        match subject {
            Subject::Load(kind, sum) => {
                let text = sum.to_address(func).map_or_else(
                    || {
                        // In bytes: the language has no such address.
                        let named = |reg: Reg| func.regs[reg].name.clone();
                        alloc::format!("[{}]", SumText { module, func }.sum(sum, 1, &named))
                    },
                    |address| {
                        let data = InstData::new(kind.opcode, [], [Operand::Address(address.into())]);
                        let text = expression_text(module, func, &data, &|_| None);
                        text.split_once(' ').map_or_else(|| text.clone(), |(_, address)| String::from(address))
                    },
                );
                let text = if kind.opcode.vector > 1 { alloc::format!("{text}.v{}", kind.opcode.vector) } else { text };
                match guard {
                    Some(guard) => {
                        let not = if guard.negated { "!" } else { "" };
                        alloc::format!("@{not}{} {text}", func.regs[guard.reg].name)
                    }
                    None => text,
                }
            }
            Subject::Pure(opcode, args) => {
                let args = self.operands(form).unwrap_or(args);
                let data = InstData::new(*opcode, [], args.iter().cloned()).guarded(*guard);
                expression_text(module, func, &data, &|_| None)
            }
        }
    }

    /// The forms of a set, joined by "or".
    pub fn set_text(&self, module: &Module, func: &Function, set: FormSet) -> String {
        let texts: Vec<String> = self.members(set).iter().map(|&form| self.text(module, func, form)).collect();
        texts.join(" or ")
    }
}

/// Bytes from the beginning of a vector load to one of its elements.
pub fn element_offset(opcode: Opcode, index: u8) -> i64 {
    i64::from(opcode.ty.bytes()) * i64::from(index)
}

/// The opcode of a load's form: the mark of loads that do not fault changes no value.
pub fn plain(opcode: Opcode) -> Opcode {
    Opcode { flags: opcode.flags - Flags::SPEC, ..opcode }
}

/// Is this a pure instruction that does more than copy?
pub fn is_scalar_expression(data: &InstData) -> bool {
    let is_computed = data.opcode.op.is_pure() || data.opcode.op.is_texture();
    is_computed && !data.dsts.is_empty() && !matches!(data.opcode.op, Op::Mov | Op::Cvta)
}
