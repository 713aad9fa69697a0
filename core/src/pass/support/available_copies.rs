//! Which register holds a copy of what, at each point of a walk over the dominator tree.
//!
//! ```text
//! b = mov.u32 a            b is a copy of a
//! @p c = mov.u32 a         c is a copy of a where p holds
//! d = selp.u32 a, 7, p     d is a copy of a where p holds, of 7 where it does not
//! br p, n2, n3             in n2, and whatever n2 dominates, p holds
//! ```
//!
//! Blocks are visited in dominator-tree preorder. A copy between registers with one definition each
//! stays true in every block that the copy dominates, if the source's definition dominates the
//! copy: no path can run that definition again and reach a use without passing the copy again.
//! Everything else is true along an extended basic block (a block, those that only it leads to, and
//! so on), until one of its registers is written; each write gives a register a new version, and a
//! copy names the versions it was made of. Leaving a block takes back what was learnt in it.
//!
//! Every instruction costs a constant number of table look-ups; the tables are one entry a
//! register. Most registers have one definition and are no copies: of these the walk only notes the
//! block that writes them, so that there is nothing to take back.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Guard, Inst, InstData, Op, Operand, Reg};
use crate::view::View;

/// Source of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Another register.
    Reg(Reg),
    /// A constant's bits.
    Const(u64),
}

impl Source {
    /// The source that an operand is, if it can be one.
    fn of(operand: &Operand) -> Option<Source> {
        match operand {
            Operand::Reg(reg) => Some(Source::Reg(*reg)),
            Operand::Const(bits) => Some(Source::Const(*bits)),
            _ => None,
        }
    }
}

/// A source, with what has to stay as it was for the knowledge to stay true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Held {
    /// A register, and the write that it was copied after.
    Reg(Reg, Written),
    /// A constant's bits.
    Const(u64),
}

impl Held {
    fn source(self) -> Source {
        match self {
            Held::Reg(reg, _) => Source::Reg(reg),
            Held::Const(bits) => Source::Const(bits),
        }
    }
}

/// A predicate register at one of its versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Predicate {
    reg: Reg,
    written: Written,
}

/// Knowledge of a register since its last write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copy {
    /// Nothing.
    Unknown,
    /// It holds the source.
    Always(Held),
    /// It holds the source in lanes where the predicate has that value.
    Where(Predicate, bool, Held),
    /// It holds the first source in lanes where the predicate is true and the second one elsewhere.
    Select(Predicate, Option<Held>, Option<Held>),
}

/// State of the walk for every register. Small, because each instruction reads a few of them.
#[derive(Clone, Copy, Default)]
struct RegState {
    written: Written,
    known: Known,
}

/// The last write of a register on the way to the block that is open. Equal where no write stands between.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Written(u32);

impl Written {
    /// Version of a register with several definitions before any of them.
    const NEVER: Written = Written(0);
    /// Set for registers with one definition. The other bits are one more than the number of the block that it stands
    /// in, once the walk has come there, whether that dominates the open block or not.
    const ONCE: u32 = 1 << 31;
    /// Version of a register with one definition that the walk has not reached.
    const NOT_YET: Written = Written(Written::ONCE);
    /// Version of a parameter that is never written.
    const ON_ENTRY: Written = Written(u32::MAX);

    /// Version of a register with several definitions: the number of the write.
    fn version(number: u32) -> Written {
        debug_assert!(number & Written::ONCE == 0);
        Written(number)
    }

    fn once_in(block: Block) -> Written {
        Written(Written::ONCE | (block.as_u32() + 1))
    }

    fn is_once(self) -> bool {
        self.0 & Written::ONCE != 0
    }

    /// The block of the one definition, once the walk has come there.
    fn block(self) -> Option<Block> {
        let is_known = self.is_once() && self != Written::NOT_YET && self != Written::ON_ENTRY;
        is_known.then(|| Block::from_u32((self.0 & !Written::ONCE) - 1))
    }
}

/// Index of the knowledge of a register: twice an index into [`AvailableCopies::knowledge`], where
/// 0 is nobody's, and one more if the register is a copy. 0 where nothing is known.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Known(u32);

impl Known {
    const NOTHING: Known = Known(0);

    fn is_copy(self) -> bool {
        self.0 & 1 != 0
    }

    fn index(self) -> usize {
        (self.0 >> 1) as usize
    }
}

/// Knowledge of a register that is a copy, or that a branch determines.
#[derive(Clone, Copy)]
struct Knowledge {
    copy: Copy,
    /// The extended block in which `copy` was learnt.
    copied_in: u32,
    /// Index of the branch's fact in [`AvailableCopies::told`]; 0 is nothing.
    told: u32,
}

/// A predicate's value on a path, as the branch tells that begins it.
#[derive(Clone, Copy)]
struct Told {
    value: bool,
    /// The extended block in which it was learnt.
    extended_block: u32,
    /// The block that the branch went to, which has no other predecessor.
    block: Block,
}

/// One open block of the walk. What was learnt since it was opened stands behind these places of the tables.
struct Scope {
    block: Block,
    /// End of its subtree in the dominator tree's preorder.
    end: u32,
    undo_from: u32,
    knowledge_from: u32,
    told_from: u32,
    extended_block: u32,
    /// Condition of the block's branch, and its target if that holds.
    question: Option<(Reg, bool, Block)>,
}

/// Operands of an instruction that read copies, by number, and the guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyReads(u8);

impl CopyReads {
    /// Operands that have a bit of their own.
    const PLACES: usize = 3;
    const ALL_PLACES: u8 = 0b111;
    /// The bit of all operands beyond those.
    const MORE: usize = CopyReads::PLACES;
    const GUARD: usize = 4;

    /// There are none.
    #[inline]
    fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Is the guard one?
    #[inline]
    pub fn guard(self) -> bool {
        self.0 & 1 << CopyReads::GUARD != 0
    }

    /// Calls `visit` with the operands, in order, of an instruction with `count` of them. Of those
    /// beyond the first few, with all or none.
    #[inline]
    pub fn for_each_operand(self, count: usize, mut visit: impl FnMut(usize)) {
        let mut left = self.0 & CopyReads::ALL_PLACES;
        while left != 0 {
            visit(left.trailing_zeros() as usize);
            left &= left - 1;
        }
        if self.0 & 1 << CopyReads::MORE != 0 {
            (CopyReads::PLACES..count).for_each(visit);
        }
    }
}

/// Walks over a function. `look` may look up what an instruction reads. Where it finds something,
/// `visit` hears of it; it may change or remove that instruction, and gives whether the instruction
/// is still there.
pub fn walk_with_copies<F>(
    view: &mut View<'_>,
    look: impl Fn(&AvailableCopies, &InstData) -> Option<F>,
    visit: impl FnMut(&mut View<'_>, &AvailableCopies, (Block, Inst), F) -> bool,
) {
    walk(view, true, |_| true, |_| true, look, visit);
}

/// Walks with complementary guarded copies of one value counting as one copy, or not.
pub fn walk_with_copies_by<F>(
    view: &mut View<'_>,
    joins_complementary: bool,
    look: impl Fn(&AvailableCopies, &InstData) -> Option<F>,
    visit: impl FnMut(&mut View<'_>, &AvailableCopies, (Block, Inst), F) -> bool,
) {
    walk(view, joins_complementary, |_| true, |_| true, look, visit);
}

/// Walks over some of the blocks and some of their instructions. Blocks are given by their places in the dominator
/// tree's preorder; what dominates one that takes part must do so, too. What the other instructions write is taken for
/// unwritten.
pub fn walk_part_with_copies<F>(
    view: &mut View<'_>,
    block_takes_part: impl Fn(usize) -> bool,
    inst_takes_part: impl Fn(Inst) -> bool,
    look: impl Fn(&AvailableCopies, &InstData) -> Option<F>,
    visit: impl FnMut(&mut View<'_>, &AvailableCopies, (Block, Inst), F) -> bool,
) {
    walk(view, true, block_takes_part, inst_takes_part, look, visit);
}

fn walk<F>(
    view: &mut View<'_>,
    joins_complementary: bool,
    block_takes_part: impl Fn(usize) -> bool,
    inst_takes_part: impl Fn(Inst) -> bool,
    look: impl Fn(&AvailableCopies, &InstData) -> Option<F>,
    mut visit: impl FnMut(&mut View<'_>, &AvailableCopies, (Block, Inst), F) -> bool,
) {
    let (cfg, dominators) = (view.cfg(), view.dominators());
    let mut copies = AvailableCopies::new(view.func(), cfg, dominators.clone());
    copies.joins_complementary = joins_complementary;
    let mut place = 0;
    while let Some(&block) = dominators.preorder().get(place) {
        if !block_takes_part(place) {
            place += dominators.subtree(block).len();
            continue;
        }
        copies.enter(block, place as u32);
        place += 1;
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            if !inst_takes_part(inst) {
                continue;
            }
            let mut data = &view.func().insts[inst];
            if let Some(found) = look(&copies, data) {
                let stays = visit(view, &copies, (block, inst), found);
                debug_assert_eq!(stays, view.func().inst_block(inst).is_some());
                // What went away writes nothing.
                if !stays {
                    continue;
                }
                data = &view.func().insts[inst];
            }
            copies.define(data);
            if next.is_none() {
                copies.ask(data);
            }
        }
    }
}

/// The tables of one walk.
pub struct AvailableCopies {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
    /// Which registers have exactly one definition, a parameter's value on entry counted as one, is decided before the
    /// first block: who removes definitions on the way does not make others true elsewhere. One entry more, at the end,
    /// is nobody's.
    regs: Vec<RegState>,
    knowledge: Vec<Knowledge>,
    told: Vec<Told>,
    scopes: Vec<Scope>,
    undo: Vec<(Reg, RegState)>,
    last_version: u32,
    /// The open block.
    block: Block,
    extended_block: u32,
    last_extended_block: u32,
    /// Are complementary guarded copies of one value one copy?
    joins_complementary: bool,
}

impl AvailableCopies {
    /// Before the first block.
    fn new(func: &Function, cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> AvailableCopies {
        let written = |count| if count == 1 { Written::NOT_YET } else { Written::NEVER };
        let mut regs = Vec::with_capacity(func.regs.len() + 1);
        regs.extend(func.definition_counts().map(|count| RegState { written: written(count), known: Known::NOTHING }));
        // What nobody writes leaves nothing to take back.
        regs.push(RegState { written: Written::NOT_YET, known: Known::NOTHING });
        for reg in func.params.iter().filter_map(|param| param.reg) {
            let is_constant = func.definition_count(reg) == 0;
            regs[reg.index()].written = if is_constant { Written::ON_ENTRY } else { Written::version(1) };
        }
        let mut knowledge = Vec::with_capacity(regs.len() / 4);
        knowledge.push(Knowledge { copy: Copy::Unknown, copied_in: 0, told: 0 });
        let undo = Vec::with_capacity(regs.len() / 4);
        AvailableCopies {
            cfg,
            dominators,
            regs,
            knowledge,
            told: vec![Told { value: false, extended_block: 0, block: Block::new(0) }],
            scopes: Vec::new(),
            undo,
            last_version: 1,
            block: Block::new(0),
            extended_block: 0,
            last_extended_block: 0,
            joins_complementary: true,
        }
    }

    /// Goes to the next block of the dominator tree's preorder, the one at that place.
    fn enter(&mut self, block: Block, place: u32) {
        self.close_scopes(place);
        // A block with one predecessor goes on with what that one knew; the predecessor is its immediate dominator.
        let only_predecessor = match *self.cfg.predecessors(block) {
            [only] if !self.cfg.is_entry(block) => Some(only),
            _ => None,
        };
        let question = match self.scopes.last() {
            Some(scope) if only_predecessor == Some(scope.block) => {
                self.extended_block = scope.extended_block;
                scope.question
            }
            _ => {
                self.last_extended_block += 1;
                self.extended_block = self.last_extended_block;
                None
            }
        };
        self.block = block;
        self.scopes.push(Scope {
            block,
            end: place + self.dominators.subtree(block).len() as u32,
            undo_from: self.undo.len() as u32,
            knowledge_from: self.knowledge.len() as u32,
            told_from: self.told.len() as u32,
            extended_block: self.extended_block,
            question: None,
        });
        if let Some((reg, value, on_true)) = question {
            self.learn(reg, value == (on_true == block));
        }
    }

    /// Takes back what was learnt in blocks that do not dominate the one at that place.
    fn close_scopes(&mut self, place: u32) {
        let mut closed = None;
        while let Some(scope) = self.scopes.pop_if(|scope| scope.end <= place) {
            closed = Some(scope);
        }
        let Some(Scope { undo_from, knowledge_from, told_from, .. }) = closed else { return };
        while self.undo.len() > undo_from as usize
            && let Some((reg, state)) = self.undo.pop()
        {
            self.regs[reg.index()] = state;
        }
        self.knowledge.truncate(knowledge_from as usize);
        self.told.truncate(told_from as usize);
    }

    /// May [`AvailableCopies::lookup`] find something for the register? Mostly not, and this is the quicker question.
    #[inline]
    pub fn may_be_copy(&self, reg: Reg) -> bool {
        self.regs[reg.index()].known.is_copy()
    }

    /// Was what is known of the register learnt in the open block?
    pub fn was_copied_here(&self, reg: Reg) -> bool {
        let here = self.scopes.last().map_or(0, |scope| scope.knowledge_from as usize);
        self.regs[reg.index()].known.index() >= here
    }

    /// Operands of an instruction for which [`AvailableCopies::lookup`] may find something. Most instructions
    /// read none.
    #[inline]
    pub fn reads_if_any(&self, data: &InstData) -> Option<CopyReads> {
        Some(self.reads_of_copies(data)).filter(|reads| !reads.is_empty())
    }

    #[inline]
    fn reads_of_copies(&self, data: &InstData) -> CopyReads {
        // How many operands there are, and which of them are registers, is as good as random, so a
        // guess would cost more than to look at the last operand again, and at the last entry of
        // the table, which is no register's.
        let nobody = self.regs.len() - 1;
        let is_copy = |reg: Option<Reg>| u8::from(self.regs[reg.map_or(nobody, Reg::index)].known.is_copy());
        let mut places = is_copy(data.guard.map(|guard| guard.reg)) << CopyReads::GUARD;
        let args = data.args.as_slice();
        let Some(last) = args.len().checked_sub(1) else { return CopyReads(places) };
        let mut has_more = last >= CopyReads::PLACES;
        for place in 0..CopyReads::PLACES {
            let operand = &args[place.min(last)];
            places |= is_copy(operand.as_reg_or_negation()) << place;
            has_more |= matches!(operand, Operand::Address(_) | Operand::List(_));
        }
        if has_more {
            return self.reads_of_many(data);
        }
        CopyReads(places & (CopyReads::ALL_PLACES >> (CopyReads::PLACES - 1 - last) | 1 << CopyReads::GUARD))
    }

    /// Handles instructions with operands of several registers, or with many operands.
    fn reads_of_many(&self, data: &InstData) -> CopyReads {
        let mut places = data.guard.map_or(0, |guard| u8::from(self.may_be_copy(guard.reg)) << CopyReads::GUARD);
        for (place, operand) in data.args.iter().enumerate() {
            let mut any = false;
            operand.for_each_reg(&mut |reg| any |= self.may_be_copy(reg));
            places |= u8::from(any) << place.min(CopyReads::MORE);
        }
        CopyReads(places)
    }

    /// Value of a register, for an instruction under that guard.
    #[inline]
    pub fn lookup(&self, reg: Reg, guard: Option<Guard>) -> Option<Source> {
        let RegState { written, known } = self.regs[reg.index()];
        if !known.is_copy() {
            return None;
        }
        let knowledge = &self.knowledge[known.index()];
        // Mostly copies are asked for soon after they are made.
        if let Copy::Always(held) = knowledge.copy
            && knowledge.copied_in == self.extended_block
        {
            return self.still_holds_here(held).then(|| held.source());
        }
        let held = self.held(written, knowledge, guard)?;
        self.still_holds(written, knowledge.copied_in, held).then(|| held.source())
    }

    /// Source that a register was copied from on every path to an instruction under that guard,
    /// where it or its source may have been overwritten since.
    pub fn overwritten(&self, reg: Reg, guard: Option<Guard>) -> Option<Source> {
        let RegState { written, known } = self.regs[reg.index()];
        let knowledge = &self.knowledge[known.index()];
        let held = self.held(written, knowledge, guard)?;
        (!self.still_holds(written, knowledge.copied_in, held)).then(|| held.source())
    }

    /// Source that a register, last written so, was copied from in the lanes of an instruction under that guard.
    fn held(&self, written: Written, knowledge: &Knowledge, guard: Option<Guard>) -> Option<Held> {
        let value_of = |predicate| self.value_of(written, knowledge.copied_in, predicate, guard);
        match knowledge.copy {
            Copy::Unknown => None,
            Copy::Always(held) => Some(held),
            Copy::Where(predicate, value, held) => (value_of(predicate) == Some(value)).then_some(held),
            Copy::Select(predicate, on_true, on_false) => {
                if value_of(predicate)? {
                    on_true
                } else {
                    on_false
                }
            }
        }
    }

    /// A predicate's value here, if the path or a constant tells.
    pub fn predicate(&self, reg: Reg) -> Option<bool> {
        if self.regs[reg.index()].known == Known::NOTHING {
            return None;
        }
        self.known_value(reg).or_else(|| match self.lookup(reg, None) {
            Some(Source::Const(bits)) => Some(bits & 1 != 0),
            Some(Source::Reg(source)) => self.known_value(source),
            None => None,
        })
    }

    /// Value that a branch on the register itself implies.
    fn known_value(&self, reg: Reg) -> Option<bool> {
        let RegState { written, known } = self.regs[reg.index()];
        let Told { value, extended_block, block } = match self.knowledge[known.index()].told {
            0 => return None,
            told => self.told[told as usize],
        };
        let holds = extended_block == self.extended_block || self.was_written_before(written, block);
        holds.then_some(value)
    }

    /// Has the register exactly one definition, a parameter's value on entry counted as one?
    pub fn is_defined_once(&self, reg: Reg) -> bool {
        self.regs[reg.index()].written.is_once()
    }

    /// Has every path to here assigned the register, one with several definitions?
    pub fn is_assigned(&self, reg: Reg) -> bool {
        !matches!(self.regs[reg.index()].written, Written::NEVER | Written::NOT_YET)
    }

    /// Tells what an instruction writes, after its reads have been looked up.
    #[inline]
    fn define(&mut self, data: &InstData) {
        // One branch on everything, and none on whether there is a destination: each is as good as random.
        let may_copy = data.guard.is_some() | (data.opcode.op == Op::Mov) | (data.opcode.op == Op::Selp);
        let nobody = Reg::new(self.regs.len() - 1);
        match data.dsts.only_or(nobody) {
            Some(dst) if !may_copy => self.write(dst, Known::NOTHING),
            _ => self.define_others(data, may_copy),
        }
    }

    #[inline]
    fn write(&mut self, dst: Reg, known: Known) {
        let state = &mut self.regs[dst.index()];
        let before = *state;
        state.known = known;
        if before.written.is_once() {
            state.written = Written::once_in(self.block);
            if before.known == known {
                return;
            }
        } else {
            self.last_version += 1;
            state.written = Written::version(self.last_version);
        }
        self.undo.push((dst, before));
    }

    /// Handles instructions that may make copies, and those that write several registers. Apart from
    /// [`AvailableCopies::define`], which most instructions leave quickly.
    #[inline(never)]
    fn define_others(&mut self, data: &InstData, may_copy: bool) {
        let copy = if may_copy { self.copy_made_by(data) } else { Copy::Unknown };
        let known = match copy {
            Copy::Unknown => Known::NOTHING,
            copy => self.know(Knowledge { copy, copied_in: self.extended_block, told: 0 }),
        };
        for &dst in &data.dsts {
            self.write(dst, known);
        }
    }

    fn know(&mut self, knowledge: Knowledge) -> Known {
        let index = self.knowledge.len() as u32;
        let is_copy = knowledge.copy != Copy::Unknown;
        self.knowledge.push(knowledge);
        Known(index << 1 | u32::from(is_copy))
    }

    /// Source of the copy that the only destination of an instruction is, in the versions before the instruction.
    fn copy_made_by(&self, data: &InstData) -> Copy {
        let &[dst] = data.dsts.as_slice() else { return Copy::Unknown };
        // A register that is copied into itself, or chosen by itself, tells nothing of its new value.
        let hold = |operand: &Operand| match Source::of(operand)? {
            Source::Reg(reg) if reg == dst => None,
            Source::Reg(reg) => Some(Held::Reg(reg, self.regs[reg.index()].written)),
            Source::Const(bits) => Some(Held::Const(bits)),
        };
        let made = match (data.opcode.op, data.args.as_slice()) {
            (Op::Mov, [from]) => hold(from).map_or(Copy::Unknown, Copy::Always),
            (Op::Selp, [on_true, on_false, condition]) => {
                let (on_true, on_false) = (hold(on_true), hold(on_false));
                let (Operand::Reg(reg) | Operand::NotReg(reg)) = *condition else { return Copy::Unknown };
                let negated = matches!(condition, Operand::NotReg(_));
                let (on_true, on_false) = if negated { (on_false, on_true) } else { (on_true, on_false) };
                let predicate = Predicate { reg, written: self.regs[reg.index()].written };
                let known =
                    data.guard.filter(|guard| guard.reg == reg).map(|guard| !guard.negated).or(self.predicate(reg));
                match known {
                    _ if reg == dst => Copy::Unknown,
                    _ if on_true.is_some() && on_true == on_false => on_true.map_or(Copy::Unknown, Copy::Always),
                    Some(value) => (if value { on_true } else { on_false }).map_or(Copy::Unknown, Copy::Always),
                    None => Copy::Select(predicate, on_true, on_false),
                }
            }
            _ => Copy::Unknown,
        };
        match (made, data.guard) {
            (_, None) => made,
            (_, Some(guard)) if guard.reg == dst => Copy::Unknown,
            (made, Some(guard)) => self.under_guard(dst, guard, made),
        }
    }

    /// Effect of a guarded write: the new copy where the guard holds, and elsewhere the old one.
    fn under_guard(&self, dst: Reg, guard: Guard, made: Copy) -> Copy {
        let predicate = Predicate { reg: guard.reg, written: self.regs[guard.reg.index()].written };
        let value = !guard.negated;
        if self.predicate(guard.reg) == Some(value) {
            return made;
        }
        let before = &self.knowledge[self.regs[dst.index()].known.index()];
        let Copy::Always(held) = made else {
            // Nothing is known where the guard holds, so only the other lanes may keep what they had.
            return match before.copy {
                Copy::Where(known, known_value, held)
                    if known == predicate && known_value != value && before.copied_in == self.extended_block =>
                {
                    Copy::Where(known, known_value, held)
                }
                _ => Copy::Unknown,
            };
        };
        match before.copy {
            // Complementary guarded copies of one value are one copy.
            Copy::Where(known, known_value, other)
                if self.joins_complementary
                    && known == predicate
                    && known_value != value
                    && other == held
                    && before.copied_in == self.extended_block =>
            {
                Copy::Always(held)
            }
            Copy::Always(other) if other == held && before.copied_in == self.extended_block => Copy::Always(held),
            _ => Copy::Where(predicate, value, held),
        }
    }

    /// Notes what a block's last instruction asks.
    fn ask(&mut self, branch: &InstData) {
        if branch.opcode.op != Op::BrIf || branch.targets()[0] == branch.targets()[1] {
            return;
        }
        let (reg, value) = match branch.args[0] {
            Operand::Reg(reg) => (reg, true),
            Operand::NotReg(reg) => (reg, false),
            _ => return,
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.question = Some((reg, value, branch.targets()[0]));
        }
    }

    /// The one edge into the open block says what the branch saw.
    fn learn(&mut self, reg: Reg, value: bool) {
        let state = self.regs[reg.index()];
        let before = self.knowledge[state.known.index()];
        let told = self.told.len() as u32;
        self.told.push(Told { value, extended_block: self.extended_block, block: self.block });
        let known = self.know(Knowledge { told, ..before });
        self.undo.push((reg, state));
        self.regs[reg.index()].known = known;
    }

    /// The value of a predicate that the knowledge of a register leans on: told by the guard of the reader, or by the
    /// path.
    fn value_of(&self, owner: Written, learnt_in: u32, predicate: Predicate, guard: Option<Guard>) -> Option<bool> {
        let Predicate { reg, written } = predicate;
        if !self.still_holds(owner, learnt_in, Held::Reg(reg, written)) {
            return None;
        }
        match guard {
            Some(guard) if guard.reg == reg => Some(!guard.negated),
            _ => self.predicate(reg),
        }
    }

    /// Is a source what it was when a register, last written so, was made a copy of it?
    fn still_holds(&self, owner: Written, learnt_in: u32, held: Held) -> bool {
        if learnt_in == self.extended_block {
            return self.still_holds_here(held);
        }
        match (held, owner.block()) {
            (Held::Const(_), copied_in) => copied_in.is_some(),
            (Held::Reg(_, written), Some(copied_in)) => self.was_written_before(written, copied_in),
            (Held::Reg(..), None) => false,
        }
    }

    /// Tests a copy that was made in this extended block.
    #[inline]
    fn still_holds_here(&self, held: Held) -> bool {
        match held {
            Held::Const(_) => true,
            Held::Reg(reg, written) => self.regs[reg.index()].written == written,
        }
    }

    /// Had every path to a place in that block passed the one definition of a register that, there,
    /// was last written so?
    fn was_written_before(&self, written: Written, block: Block) -> bool {
        match written.block() {
            Some(definition) => definition == block || self.dominators.dominates(definition, block),
            None => written == Written::ON_ENTRY,
        }
    }
}
