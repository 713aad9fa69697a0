//! Forms that questions are about: expressions over the registers of a point, and their texts along the path.
//!
//! ```text
//! form 0    ld.global.f32 A[i]                as it stands at n8
//! form 1    ld.global.f32 A[i + 1]            above `i = add.s32 i, 1`
//! ```
//!
//! A load's form is its kind and its address as a sum over registers; another expression's is the instruction without its
//! destinations, operands that commute in order. Equal forms at one point mean equal values. Forms are numbered as they
//! come up, so that a question is a number; so are the sets of forms that a question has taken since it was raised.

use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};

use core::hash::{BuildHasher, Hash, Hasher};
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use smallvec::SmallVec;

use crate::alias::AliasClass;
use crate::ir::{Flags, Function, Guard, Inst, InstArgs, InstData, Module, Op, Opcode, Operand, Reg, Type};
use crate::symbolic::{AffineNames, Atom, RegisterSum, Substituted};
use crate::text::expression_text;

/// An expression over the registers of a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u32);
entity_impl!(Form, "form");

/// A set of forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormSet(u32);
entity_impl!(FormSet, "forms");

/// Forms whose occurrences are looked for together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family(u32);
entity_impl!(Family);

/// Whose occurrences a family has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kin {
    /// Loads from that class of memory.
    Memory(AliasClass),
    /// One pure expression.
    Pure(Form),
}

/// Loads of one kind into registers of the same types, by number: they give the same from the same address.
pub type Likeness = u32;

/// Forms one of which may be what another one is on another way: loads of one likeness, or one pure expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(u32);
entity_impl!(Kind);

/// Dependences of a form's value, or effects of a block, as one word: a bit for each of several registers and
/// families, and one for accesses to any memory. Where a form's and a block's have nothing in common, a question about
/// the form goes through the block as it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Footprint(u64);

impl Footprint {
    /// Accesses to any memory.
    pub const EVERYTHING: Footprint = Footprint(1);

    /// Footprint of a family.
    pub fn of_family(family: Family) -> Footprint {
        Footprint(2 << (family.0 % 15))
    }

    /// Footprint of a register.
    pub fn of_reg(reg: Reg) -> Footprint {
        Footprint(1 << 16 << (reg.as_u32() % 48))
    }

    /// Its registers alone.
    pub fn regs(self) -> Footprint {
        Footprint(self.0 >> 16 << 16)
    }

    /// Its families alone.
    pub fn families(self) -> Footprint {
        Footprint(self.0 & 0xfffe)
    }

    /// Both.
    pub fn with(self, other: Footprint) -> Footprint {
        Footprint(self.0 | other.0)
    }

    /// Have they anything in common?
    pub fn meets(self, other: Footprint) -> bool {
        self.0 & other.0 != 0
    }
}

/// Computation of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A load of that kind, from there.
    Load(LoadKind, RegisterSum),
    /// A pure instruction.
    Pure(Opcode, InstArgs),
}

/// Loads of one kind from one address give the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LoadKind {
    /// Without the mark that it may not fault.
    pub opcode: Opcode,
    /// The memory that it is from.
    pub class: AliasClass,
}

impl LoadKind {
    /// Does it read what nothing writes while the kernel runs? So the spaces `const` and `param`, and so `.nc` promises.
    pub fn is_never_written(&self) -> bool {
        self.opcode.has(Flags::NC) || self.opcode.space.is_some_and(|space| space.is_read_only())
    }
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expression {
    /// Computation of the form.
    pub subject: Subject,
    /// For which lanes.
    pub guard: Option<Guard>,
    /// The types of the registers that take it.
    pub types: SmallVec<[Type; 1]>,
}

impl Expression {
    /// The registers that it reads, the guard's first.
    fn regs(&self) -> SmallVec<[Reg; 4]> {
        let mut regs: SmallVec<[Reg; 4]> = self.guard.iter().map(|guard| guard.reg).collect();
        match &self.subject {
            Subject::Load(_, sum) => regs.extend(sum.regs()),
            Subject::Pure(_, args) => args.iter().for_each(|arg| arg.for_each_reg(&mut |reg| regs.push(reg))),
        }
        regs.sort_unstable();
        regs.dedup();
        regs
    }

    /// A hash of what mostly tells one from another.
    fn hash_with(&self, hasher: &DefaultHashBuilder) -> u64 {
        let mut state = hasher.build_hasher();
        match &self.subject {
            Subject::Load(kind, sum) => (kind.opcode.ty, sum).hash(&mut state),
            Subject::Pure(opcode, args) => (opcode.op, opcode.ty, args).hash(&mut state),
        }
        self.guard.hash(&mut state);
        state.finish()
    }

    /// Is it a load?
    pub fn is_load(&self) -> bool {
        matches!(self.subject, Subject::Load(..))
    }
}

/// Facts about a form that every question reads.
struct FormFacts {
    footprint: Footprint,
    regs: SmallVec<[Reg; 4]>,
    family: Family,
    likeness: Likeness,
    kind: Kind,
    /// The set of this form alone, once somebody wanted it.
    only: PackedOption<FormSet>,
}

/// Facts about a form that are seldom read: there are more forms than caches hold.
struct FormData {
    expression: Expression,
    /// The operands as they were written first, where the expression has them in order.
    written: Option<InstArgs>,
}

/// All forms that came up.
#[derive(Default)]
pub struct Forms {
    facts: PrimaryMap<Form, FormFacts>,
    forms: PrimaryMap<Form, FormData>,
    /// With the hash of each expression.
    numbers: HashTable<(u64, Form)>,
    hasher: DefaultHashBuilder,
    families: PrimaryMap<Family, Kin>,
    family_numbers: HashMap<Kin, Family>,
    likenesses: HashMap<(LoadKind, SmallVec<[Type; 1]>), Likeness>,
    sets: PrimaryMap<FormSet, (SmallVec<[Form; 4]>, Footprint)>,
    set_numbers: HashMap<SmallVec<[Form; 4]>, FormSet>,
}

impl Forms {
    /// The likeness of what is no load.
    pub const UNLIKE: Likeness = Likeness::MAX;

    /// None yet, with room for so many.
    pub fn with_room(forms: usize) -> Forms {
        Forms { facts: PrimaryMap::with_capacity(forms), forms: PrimaryMap::with_capacity(forms), ..Forms::default() }
    }

    /// The number of an expression.
    pub fn number(&mut self, expression: Expression) -> Form {
        let hash = expression.hash_with(&self.hasher);
        let is_same = |&(other, form): &(u64, Form)| other == hash && self.forms[form].expression == expression;
        if let Some(&(_, known)) = self.numbers.find(hash, is_same) {
            return known;
        }
        let form = self.forms.next_key();
        let (kin, is_written, likeness) = match &expression.subject {
            Subject::Load(kind, _) => {
                let next = self.likenesses.len() as Likeness;
                let likeness = *self.likenesses.entry((kind.clone(), expression.types.clone())).or_insert(next);
                (Kin::Memory(kind.class), !kind.is_never_written(), likeness)
            }
            Subject::Pure(..) => (Kin::Pure(form), false, Forms::UNLIKE),
        };
        let (regs, family) = (expression.regs(), self.family_of(kin));
        let everything = if is_written { Footprint::EVERYTHING } else { Footprint::default() };
        let own = Footprint::of_family(family).with(everything);
        let footprint = regs.iter().fold(own, |all, &reg| all.with(Footprint::of_reg(reg)));
        // Likenesses and families, side by side.
        let kind = Kind(if likeness == Forms::UNLIKE { family.0 << 1 | 1 } else { likeness << 1 });
        self.facts.push(FormFacts { footprint, regs, family, likeness, kind, only: None.into() });
        self.forms.push(FormData { expression, written: None });
        self.numbers.insert_unique(hash, (hash, form), |&(hash, _)| hash);
        form
    }

    fn family_of(&mut self, kin: Kin) -> Family {
        let families = &mut self.families;
        *self.family_numbers.entry(kin).or_insert_with(|| families.push(kin))
    }

    /// The family of loads from a class of memory.
    pub fn loads_from(&mut self, class: AliasClass) -> Family {
        self.family_of(Kin::Memory(class))
    }

    /// The family of a form.
    pub fn family(&self, form: Form) -> Family {
        self.facts[form].family
    }

    /// The kind of a form.
    pub fn kind(&self, form: Form) -> Kind {
        self.facts[form].kind
    }

    /// Likeness of a load's form to other loads.
    pub fn likeness(&self, form: Form) -> Likeness {
        self.facts[form].likeness
    }

    /// Footprint of a form's value.
    pub fn footprint(&self, form: Form) -> Footprint {
        self.facts[form].footprint
    }

    /// Footprint of the values of a set's forms.
    pub fn set_footprint(&self, set: FormSet) -> Footprint {
        self.sets[set].1
    }

    /// The expression of a number.
    pub fn expression(&self, form: Form) -> &Expression {
        &self.forms[form].expression
    }

    /// Does one form load what another one does, at least for the lanes for which that does?
    pub fn has_lanes_of(&self, form: Form, other: Form) -> bool {
        let [wide, narrow] = [form, other].map(|form| self.expression(form));
        let loads_for_more =
            || wide.guard.is_none() && narrow.guard.is_some() && wide.is_load() && wide.subject == narrow.subject;
        form == other || loads_for_more() && wide.types == narrow.types
    }

    /// The registers that a form reads, each once.
    pub fn regs(&self, form: Form) -> &[Reg] {
        &self.facts[form].regs
    }

    /// Operands of a pure form, as they were written first.
    pub fn operands(&self, form: Form) -> Option<&InstArgs> {
        let FormData { expression, written } = &self.forms[form];
        match &expression.subject {
            Subject::Pure(_, args) => Some(written.as_ref().unwrap_or(args)),
            Subject::Load(..) => None,
        }
    }

    /// The set of one form.
    pub fn only(&mut self, form: Form) -> FormSet {
        if let Some(known) = self.facts[form].only.expand() {
            return known;
        }
        let set = self.sets.push((SmallVec::from_elem(form, 1), self.footprint(form)));
        self.facts[form].only = set.into();
        set
    }

    /// A set with one form more.
    pub fn with(&mut self, set: FormSet, form: Form) -> FormSet {
        if self.members(set).contains(&form) {
            return set;
        }
        let mut forms = self.sets[set].0.clone();
        forms.push(form);
        self.set(forms)
    }

    /// The set of these forms, which are in the order in which they came up.
    pub fn set(&mut self, forms: SmallVec<[Form; 4]>) -> FormSet {
        if let &[only] = forms.as_slice() {
            return self.only(only);
        }
        if let Some(&known) = self.set_numbers.get(&forms) {
            return known;
        }
        let footprint = forms.iter().fold(Footprint::default(), |all, &form| all.with(self.footprint(form)));
        let set = self.sets.push((forms.clone(), footprint));
        self.set_numbers.insert(forms, set);
        set
    }

    /// The forms of a set.
    pub fn members(&self, set: FormSet) -> &[Form] {
        &self.sets[set].0
    }

    /// The form that an instruction computes, from what registers hold before it. None for what questions do not ask
    /// about: effects, copies, what has no destination, addresses that are no sums.
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

    /// The form that a form behind an instruction was before it. None where it cannot be said: then the instruction
    /// ends the question.
    pub fn before(&mut self, names: AffineNames<'_>, inst: Inst, dsts: &[Reg], form: Form) -> Option<Form> {
        let Expression { subject, guard, types } = &self.forms[form].expression;
        let Subject::Load(kind, sum) = subject else { return None };
        if guard.is_some_and(|guard| dsts.contains(&guard.reg)) {
            return None;
        }
        let Substituted::Converted(sum) = names.before(inst, sum) else { return None };
        let before = Expression { subject: Subject::Load(kind.clone(), sum), guard: *guard, types: types.clone() };
        Some(self.number(before))
    }

    /// Is it a load of several elements?
    pub fn is_vector(&self, form: Form) -> bool {
        matches!(&self.forms[form].expression.subject, Subject::Load(kind, _) if kind.opcode.vector > 1)
    }

    /// The form of one element of what a vector load's form loads, into a register of that type's.
    pub fn element(&mut self, form: Form, index: u8) -> Option<Form> {
        let Expression { subject: Subject::Load(kind, sum), guard, types } = &self.forms[form].expression else {
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

    /// The form as people read it: `A[i + 1]`, `A[2*i].v2`, `add.s32 a, b`.
    pub fn text(&self, module: &Module, func: &Function, form: Form) -> String {
        let Expression { subject, guard, types: _ } = &self.forms[form].expression;
        match subject {
            Subject::Load(kind, sum) => {
                let text = sum.to_address(func).map_or_else(
                    || sum_text(module, func, sum),
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

    /// All forms of a set, joined by "or".
    pub fn set_text(&self, module: &Module, func: &Function, set: FormSet) -> String {
        let texts: Vec<String> = self.members(set).iter().map(|&form| self.text(module, func, form)).collect();
        texts.join(" or ")
    }
}

/// Bytes from where a vector load begins to one of its elements.
pub fn element_offset(opcode: Opcode, index: u8) -> i64 {
    i64::from(opcode.ty.bytes()) * i64::from(index)
}

/// The opcode of a load that is asked about: whether it may fault makes no other value.
pub fn plain(opcode: Opcode) -> Opcode {
    Opcode { flags: opcode.flags - Flags::SPEC, ..opcode }
}

/// Is it a pure instruction that does more than copy?
pub fn is_scalar_expression(data: &InstData) -> bool {
    let is_computed = data.opcode.op.is_pure() || data.opcode.op.is_texture();
    is_computed && !data.dsts.is_empty() && !matches!(data.opcode.op, Op::Mov | Op::Cvta)
}

/// A sum that is no address of the language, in bytes.
fn sum_text(module: &Module, func: &Function, sum: &RegisterSum) -> String {
    use core::fmt::Write;
    let mut text = String::from("[");
    for (index, &(atom, coefficient)) in sum.terms().iter().enumerate() {
        text.push_str(match (index, coefficient < 0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        });
        if coefficient.unsigned_abs() != 1 {
            let _ = write!(text, "{}*", coefficient.unsigned_abs());
        }
        match atom {
            Atom::Symbol(symbol) => {
                let data = InstData::new(Opcode::mov(Type::B64), [], [Operand::Symbol(symbol)]);
                let copied = expression_text(module, func, &data, &|_| None);
                text.push_str(copied.split_once(' ').map_or("", |(_, name)| name));
            }
            Atom::Special(special) => {
                let _ = write!(text, "{special}");
            }
            Atom::Value(reg, _) => text.push_str(&func.regs[reg].name),
            // Only sums over values count rounds.
            Atom::Rounds(..) => {}
        }
    }
    if sum.offset() != 0 || sum.terms().is_empty() {
        let sign = if sum.offset() < 0 { " - " } else { " + " };
        let _ = write!(text, "{}{}", if sum.terms().is_empty() { "" } else { sign }, sum.offset().unsigned_abs());
    }
    text.push(']');
    text
}
