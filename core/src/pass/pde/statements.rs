//! Statements that may sink, and what stops them in a block.
//!
//! ```text
//! n: x = mul.f32 a, b      x = a * b could go to the end of n: nothing behind it reads or writes x, or writes a or b
//!    c = add.f32 a, 1.0
//! m: a = mov.f32 0.0       in m it could go as far as to the front of this
//! ```
//!
//! A statement is a pure instruction with one destination and no guard, or a load; equal instructions in several blocks are
//! one statement. It stays in front of what reads or writes its destination or writes one of its operands, and a load also
//! in front of whatever may write the [memory](super::memory) that it reads, orders memory, or waits for others.
//!
//! In a block only the last instruction that touches a register can be a statement that leaves it, so that the statements of
//! one register cost as much as there are blocks that touch it. They are [kept](Catalogue) while the function changes: what
//! stands in nodes that were changed is looked at again, and the rest stays. What a statement does is not copied: it names an
//! instruction like it, whose data stays where it is when it is taken out. Beside the statements of a register stands what
//! is kept of the [looks](Look) at them, since in each round most registers that are asked for have to answer for all of
//! their statements that nothing has changed.

use alloc::vec::Vec;
use core::hash::BuildHasher;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE, Touches};
use super::course::Entry;
use super::frequent::Frequent;
use super::memory::is_changing_load;
use super::moves::Moves;
use super::signature::{Signature, rank};
use super::touching::Touching;
use crate::ir::{Function, Inst, InstData, Op, Reg};
use crate::pass::fetch::fetch;
use crate::pass::path_guided::nodes::Node;

/// An instruction that may sink, wherever it stands.
pub(super) struct Statement {
    /// An instruction like it, which has perhaps gone; where something else has taken its place the statement stands nowhere.
    pub inst: Inst,
    /// Register that it writes.
    pub dst: Reg,
    /// Registers that it reads.
    pub uses: SmallVec<[Reg; 4]>,
    /// Occurrences that are not stopped in the rest of their block, in order, each with its place.
    pub occurrences: SmallVec<[Occurrence; 1]>,
    /// The bits of the registers that it writes and reads.
    signature: Signature,
    /// Does it read memory that may be written?
    is_changing_load: bool,
    /// Index of its look among the statements that write its register.
    look: u32,
}

/// A statement of a register, and what is kept of the last look at it, in one place for all that are to be asked.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The statement.
    pub number: u32,
    /// Under what the look is kept that found that it stays; [`UNSETTLED`], or [`NOWHERE`] for what nobody looks at, as it
    /// stands nowhere, or nowhere that is frequently executed.
    settled: u32,
    /// The first and the last node that were looked at.
    span: Span,
}

/// There has been no look at it as it stands.
const UNSETTLED: u32 = NOWHERE - 1;

impl Look {
    /// The look under which is kept why it stays. None where there is none.
    pub fn settled(&self) -> Option<u32> {
        (self.settled < UNSETTLED).then_some(self.settled)
    }

    /// Is it to be looked at, and has not been?
    pub fn is_unsettled(&self) -> bool {
        self.settled == UNSETTLED
    }

    /// Is one of these nodes, in order, not far away from all that was looked at?
    pub fn is_near(&self, nodes: &[u32]) -> bool {
        self.span.is_near(nodes)
    }

    /// Tests entries of nodes.
    pub fn is_near_entry(&self, entries: &[Entry]) -> bool {
        self.span.is_near_by(entries, |&entry| entry.node())
    }
}

/// The first and the last of some nodes.
#[derive(Clone, Copy)]
struct Span {
    least: u32,
    most: u32,
}

impl Span {
    /// Span of no nodes.
    const NONE: Span = Span { least: NOWHERE, most: 0 };

    /// Is one of these nodes, in order, neither in front of all nor behind?
    fn is_near(self, nodes: &[u32]) -> bool {
        self.is_near_by(nodes, |&node| node)
    }

    /// Is one of what is in the order of these nodes?
    #[inline]
    fn is_near_by<T>(self, all: &[T], node: impl Fn(&T) -> u32) -> bool {
        // Mostly all of them are far away.
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return false };
        if self.most < node(first) || self.least > node(last) {
            return false;
        }
        all.get(all.partition_point(|one| node(one) < self.least)).is_some_and(|one| node(one) <= self.most)
    }

    fn with(self, other: Span) -> Span {
        Span { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// Statements of a register of which it is kept beside where they looked, so that those far away are not asked.
const MANY: usize = 16;

/// Looks that are asked together whether any was near.
const TOGETHER: usize = 4;

/// Occurrence of a statement.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    node: u32,
    /// Its place among those of the node.
    pub place: u32,
    pub inst: Inst,
}

impl Occurrence {
    /// The node.
    pub fn node(&self) -> Node {
        self.node as Node
    }
}

impl Statement {
    /// Sort key: the first occurrence.
    pub fn order(&self) -> (Node, u32) {
        (self.occurrences[0].node(), self.occurrences[0].place)
    }

    /// Is an instruction like it?
    pub fn is(&self, func: &Function, inst: Inst) -> bool {
        self.inst == inst || func.insts[self.inst] == func.insts[inst]
    }

    /// Finds another instruction like it where something else has taken the place of the one that was known.
    fn keep_like(&mut self, func: &Function) {
        let writes = |inst: Inst| func.insts[inst].dst() == Some(self.dst);
        if !writes(self.inst)
            && let Some(other) = self.occurrences.iter().find(|occurrence| writes(occurrence.inst))
        {
            self.inst = other.inst;
        }
    }

    /// Can it go to the end of the block from where it is the last to touch its destination?
    fn is_free_behind(&self, accesses: &Accesses, occurrence: &Occurrence) -> bool {
        self.uses.iter().all(|&used| leaves_free(accesses, used, self.dst, occurrence))
            && (!self.is_changing_load || is_behind_effects(accesses, occurrence))
    }

    /// Does it stand in a node?
    pub fn stands_in(&self, node: Node) -> bool {
        match self.occurrences.as_slice() {
            [only] => only.node() == node,
            all => all.binary_search_by_key(&node, Occurrence::node).is_ok(),
        }
    }

    /// Does an instruction belong to it?
    pub fn contains(&self, inst: Inst) -> bool {
        self.occurrences.iter().any(|occurrence| occurrence.inst == inst)
    }

    /// The place of the first instruction of a node that stops it.
    #[inline]
    pub fn first_stop(&self, accesses: &Accesses, node: Node) -> Option<u32> {
        // Most nodes have nothing to do with it.
        let may_stop = accesses.may_touch(node, self.signature) || self.is_changing_load;
        if may_stop { self.first_that_stops(accesses, node) } else { None }
    }

    fn first_that_stops(&self, accesses: &Accesses, node: Node) -> Option<u32> {
        let mut first = accesses.touches(node, self.dst).map_or(NOWHERE, |touches| touches.first);
        for &reg in &self.uses {
            first = first.min(accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.first_write));
        }
        if self.is_changing_load {
            first = first.min(accesses.effects(node, self.occurrences[0].inst).map_or(NOWHERE, |(first, _)| first));
        }
        (first != NOWHERE).then_some(first)
    }
}

/// See the file's head.
#[derive(Default)]
pub(super) struct Catalogue {
    /// All of them, in no order, and perhaps some that no longer stand anywhere.
    statements: Vec<Statement>,
    /// Looks at the statements of each register.
    looks: Vec<SmallVec<[Look; 1]>>,
    /// Spans of the statements of each register with more than [`MANY`] of them.
    spans: HashMap<Reg, Vec<Span>>,
    /// Statements that nobody has looked at as they stand since they were last taken out here, some more than once.
    unsettled: Vec<u32>,
    /// Registers of which somebody has asked for the statements.
    asked: FixedBitSet,
    /// Registers written by the statements in each node, in the order of their ranks, and these statements.
    standing: Vec<SmallVec<[(Reg, u32); 4]>>,
    /// Statements that read each register, in order.
    readers: Vec<SmallVec<[u32; 4]>>,
    /// Spans of the visited readers of each register with more than [`MANY`] of them.
    reader_spans: HashMap<Reg, Vec<Span>>,
    /// Statements by the hashes of their instructions: those that write a register that others write too. Mostly there is one.
    known: HashTable<(u64, u32)>,
    hasher: DefaultHashBuilder,
    /// Which of them are looked at.
    frequent: Frequent,
}

impl Catalogue {
    /// Collects the statements of all wanted registers, the frequent ones. Statements in one node are found
    /// together.
    pub fn of(func: &Function, accesses: &Accesses, frequent: &Frequent, is_wanted: impl Fn(Reg) -> bool) -> Catalogue {
        let mut catalogue = Catalogue { frequent: frequent.clone(), ..Catalogue::default() };
        catalogue.fit(accesses);
        // Room that nobody looks at costs nothing, and to move them does.
        catalogue.statements.reserve(func.insts.len() / 2);
        catalogue.asked.extend(func.regs.keys().filter(|&reg| is_wanted(reg)).map(EntityRef::index));
        for node in 0..accesses.nodes() {
            let wanted = || accesses.written_last(node).filter(|touches| is_wanted(touches.reg()));
            fetch(func, wanted().map(|touches| touches.last_writer));
            for touches in wanted() {
                catalogue.enter_at(func, accesses, touches, node);
            }
        }
        catalogue
    }

    /// All statements.
    pub fn into_statements(self) -> Vec<Statement> {
        self.statements
    }

    /// Gets to know the statements of a register.
    pub fn know(&mut self, func: &Function, accesses: &Accesses, reg: Reg) {
        if !self.asked.put(reg.index()) {
            for node in accesses.writers(reg).map(Touching::node) {
                if let Some(touches) = accesses.touches(node, reg).filter(|touches| touches.is_written_last()) {
                    self.enter_at(func, accesses, touches, node);
                }
            }
        }
        debug_assert!(self.is_right(func, accesses, reg), "the other statements are as they were");
    }

    /// There are as many registers and nodes as are known of now.
    pub fn fit(&mut self, accesses: &Accesses) {
        let count = self.looks.len().max(accesses.registers());
        self.looks.resize_with(count, SmallVec::new);
        self.asked.grow(count);
        self.readers.resize_with(count, SmallVec::new);
        self.standing.resize_with(accesses.nodes(), SmallVec::new);
    }

    /// The looks at statements that read a register, if they may have been at one of these nodes, which are in order.
    pub fn reading_near<'a>(&'a self, reg: Reg, nodes: &'a [u32]) -> impl Iterator<Item = &'a Look> + 'a {
        let readers = self.readers.get(reg.index()).map_or(&[][..], SmallVec::as_slice);
        let spans = if readers.len() > MANY { self.reader_spans.get(&reg).map(Vec::as_slice) } else { None };
        let chunks = readers.chunks(TOGETHER).enumerate();
        let near = chunks.filter(move |&(place, _)| is_near(spans, place, |span| span.is_near(nodes)));
        near.flat_map(|(_, readers)| readers).map(|&number| self.look(number))
    }

    /// The looks at the statements that write a register, and perhaps at some that no longer stand anywhere, if they are
    /// known.
    fn looks(&self, reg: Reg) -> &[Look] {
        self.looks.get(reg.index()).map_or(&[], |looks| looks)
    }

    /// Those of them that may have been at one of these nodes, or of those, both in order.
    pub fn looks_near<'a>(
        &'a self,
        reg: Reg,
        nodes: &'a [u32],
        others: &'a [u32],
    ) -> impl Iterator<Item = &'a Look> + 'a {
        let all = self.looks(reg);
        let spans = if all.len() > MANY { self.spans.get(&reg).map(Vec::as_slice) } else { None };
        let near = move |span: &Span| span.is_near(nodes) || span.is_near(others);
        let chunks = all.chunks(TOGETHER).enumerate();
        chunks.filter(move |&(place, _)| is_near(spans, place, near)).flat_map(|(_, looks)| looks)
    }

    /// The statements that are to be looked at since this was last asked, some more than once.
    pub fn take_unsettled(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.unsettled)
    }

    /// The look at a statement.
    pub fn look(&self, number: u32) -> &Look {
        let statement = self.statement(number);
        &self.looks[statement.dst.index()][statement.look as usize]
    }

    /// A statement has been looked at, and stays as long as nothing changes in these nodes.
    pub fn settle(&mut self, number: u32, settled: u32, looked_at: &[u32]) {
        let one = |&node: &u32| Span { least: node, most: node };
        let span = looked_at.iter().map(one).fold(Span::NONE, Span::with);
        let look = self.look_mut(number);
        (look.settled, look.span) = (settled, span);
        // Where its registers have many statements, it is kept together with others.
        let Catalogue { statements, looks, spans, readers, reader_spans, .. } = self;
        let of = |look: &Look| look.span;
        let Statement { dst, look, ref uses, .. } = statements[number as usize];
        let all = &looks[dst.index()];
        if all.len() > MANY {
            widen(spans.entry(dst).or_default(), all, look as usize, span, of);
        }
        for &used in uses {
            let readers = &readers[used.index()];
            if readers.len() > MANY
                && let Ok(place) = readers.binary_search(&number)
            {
                let look = |&number: &u32| {
                    let statement = &statements[number as usize];
                    of(&looks[statement.dst.index()][statement.look as usize])
                };
                widen(reader_spans.entry(used).or_default(), readers, place, span, look);
            }
        }
    }

    /// A statement is to be looked at again, if it stands anywhere where that is frequently executed.
    pub fn unsettle(&mut self, number: u32) {
        let is_frequent = self.frequent.executes(self.statement(number));
        let look = self.look_mut(number);
        look.span = Span::NONE;
        look.settled = if is_frequent { UNSETTLED } else { NOWHERE };
        if is_frequent {
            self.unsettled.push(number);
        }
    }

    fn look_mut(&mut self, number: u32) -> &mut Look {
        let statement = &self.statements[number as usize];
        &mut self.looks[statement.dst.index()][statement.look as usize]
    }

    /// The statement of a number.
    pub fn statement(&self, number: u32) -> &Statement {
        &self.statements[number as usize]
    }

    /// Gets to know what stands now in nodes that have been changed.
    pub fn renew(&mut self, func: &Function, accesses: &Accesses, moves: Moves) {
        self.fit(accesses);
        let Moves { mut whole, landed, gone } = moves;
        for &(node, inst) in &gone {
            let Some(dst) = func.insts[inst].dst() else { continue };
            // What reads it in front of where it stood, or writes it, may stand now.
            match accesses.touches(node, dst) {
                Some(_) => whole.push(node),
                None => self.leave(node, dst),
            }
        }
        whole.sort_unstable();
        whole.dedup();
        for &node in &whole {
            let mut written = accesses.written_last(node).peekable();
            let mut standing_before = core::mem::take(&mut self.standing[node]);
            standing_before.retain(|&mut (reg, number)| {
                while written.next_if(|touches| rank(touches.reg()) < rank(reg)).is_some() {}
                let now = written.next_if(|touches| touches.reg() == reg);
                self.stands_still(func, accesses, number, node, now)
            });
            self.standing[node] = standing_before;
        }
        // What has come to one node may have left another.
        for &node in &whole {
            for touches in accesses.written_last(node) {
                if self.asked.contains(touches.reg().index()) {
                    self.enter_at(func, accesses, touches, node);
                }
            }
        }
        for &(node, inst, number) in &landed {
            let dst = self.statement(number).dst;
            let touches = accesses.touches_of(node, dst).filter(|touches| touches.is_written_last());
            if let Some(touches) = touches.filter(|touches| touches.last_writer == inst) {
                self.land(accesses, number, node, touches);
            }
        }
        // What writes its operands stood in front of it, and is perhaps the last to touch them now.
        for &(node, inst) in &gone {
            func.insts[inst].for_each_use(|used| {
                if !self.asked.contains(used.index()) {
                    return;
                }
                if let Some(touches) = accesses.touches(node, used).filter(|touches| touches.is_written_last()) {
                    self.enter_at(func, accesses, touches, node);
                }
            });
        }
    }

    /// A statement that has landed in a node is the last that touches what it writes, and perhaps stands there.
    fn land(&mut self, accesses: &Accesses, number: u32, node: Node, touches: &Touches) {
        let (statement, reg) = (&self.statements[number as usize], touches.reg());
        let occurrence = Occurrence { node: node as u32, place: touches.last, inst: touches.last_writer };
        if !self.asked.contains(reg.index()) || !statement.is_free_behind(accesses, &occurrence) {
            return;
        }
        if let Err(at) = self.standing[node].binary_search_by_key(&rank(reg), |&(reg, _)| rank(reg)) {
            self.standing[node].insert(at, (reg, number));
            self.stand(number, occurrence);
        }
    }

    fn stand(&mut self, number: u32, occurrence: Occurrence) {
        let occurrences = &mut self.statements[number as usize].occurrences;
        let place = occurrences.partition_point(|other| other.node < occurrence.node);
        occurrences.insert(place, occurrence);
        self.unsettle(number);
    }

    /// The statement that writes a register stands in a node no more.
    fn leave(&mut self, node: Node, reg: Reg) {
        let Ok(at) = self.standing[node].binary_search_by_key(&rank(reg), |&(reg, _)| rank(reg)) else { return };
        let (_, number) = self.standing[node].remove(at);
        let occurrences = &mut self.statements[number as usize].occurrences;
        if let Ok(place) = occurrences.binary_search_by_key(&node, Occurrence::node) {
            occurrences.remove(place);
            self.unsettle(number);
        }
    }

    /// Does a statement still stand in a node in which it stood, of whose register it is told what the node does to it now?
    fn stands_still(
        &mut self,
        func: &Function,
        accesses: &Accesses,
        number: u32,
        node: Node,
        touches: Option<&Touches>,
    ) -> bool {
        let statement = &mut self.statements[number as usize];
        let known = statement.occurrences.binary_search_by_key(&node, Occurrence::node);
        // Mostly it is the same instruction, which does not have to be read again.
        if let (Ok(place), Some(touches)) = (known, touches)
            && touches.last_writer == statement.occurrences[place].inst
        {
            let now = Occurrence { node: node as u32, place: touches.last, inst: touches.last_writer };
            if statement.is_free_behind(accesses, &now) {
                debug_assert!(standing(func, accesses, touches, node).is_some(), "it could go to the end as before");
                statement.occurrences[place] = now;
                return true;
            }
        }
        let now = touches.and_then(|touches| standing(func, accesses, touches, node));
        statement.keep_like(func);
        let Ok(place) = known else { return false };
        // Most stand as they stood, perhaps in another place.
        let now = now.filter(|now| statement.is(func, now.inst));
        let is_same = match now {
            Some(now) => core::mem::replace(&mut statement.occurrences[place], now).inst == now.inst,
            None => {
                statement.occurrences.remove(place);
                false
            }
        };
        if !is_same {
            self.unsettle(number);
        }
        now.is_some()
    }

    /// Forgets where the statements of a register stand, as that is told by more than the nodes in which they do.
    pub fn forget(&mut self, reg: Reg) {
        let Catalogue { statements, looks, asked, standing, .. } = self;
        let Some(looks) = looks.get_mut(reg.index()) else { return };
        asked.remove(reg.index());
        for look in looks {
            for occurrence in statements[look.number as usize].occurrences.drain(..) {
                standing[occurrence.node()].retain(|&mut (other, _)| other != reg);
            }
            look.settled = NOWHERE;
        }
    }

    /// Takes in what stands in a node, if a statement does that writes a register last.
    fn enter_at(&mut self, func: &Function, accesses: &Accesses, touches: &Touches, node: Node) {
        let reg = touches.reg();
        let Err(at) = self.standing[node].binary_search_by_key(&rank(reg), |&(reg, _)| rank(reg)) else { return };
        let Some(occurrence) = standing(func, accesses, touches, node) else { return };
        let number = self.number(func, occurrence.inst, reg);
        self.standing[node].insert(at, (reg, number));
        self.stand(number, occurrence);
    }

    /// Which statement an instruction is; perhaps one that stands nowhere yet.
    fn number(&mut self, func: &Function, inst: Inst, reg: Reg) -> u32 {
        let Catalogue { statements, looks, readers, known, hasher, .. } = self;
        let looks = &mut looks[reg.index()];
        let hash = |inst: Inst| hasher.hash_one(&func.insts[inst]);
        // What was known of a statement of another register may have become this instruction.
        let is_it = |number: u32| {
            let statement = &statements[number as usize];
            statement.dst == reg && statement.is(func, inst)
        };
        let found = match looks.as_slice() {
            [] => None,
            &[Look { number: only, .. }] => is_it(only).then_some(only),
            _ => known.find(hash(inst), |&(_, number)| is_it(number)).map(|&(_, number)| number),
        };
        found.unwrap_or_else(|| {
            let number = statements.len() as u32;
            let data = &func.insts[inst];
            let occurrences = SmallVec::new();
            let uses = data.uses();
            for &used in &uses {
                let readers = &mut readers[used.index()];
                if readers.last() != Some(&number) {
                    readers.push(number);
                }
            }
            let signature = uses.iter().fold(Signature::of(reg), |all, &used| all.and(Signature::of(used)));
            let look = looks.len() as u32;
            let is_changing_load = is_changing_load(data);
            statements.push(Statement { inst, dst: reg, uses, occurrences, signature, is_changing_load, look });
            looks.push(Look { number, settled: NOWHERE, span: Span::NONE });
            // The first is entered with the second.
            let entered = match looks.as_slice() {
                [] | [_] => &[],
                both @ [_, _] => both,
                [.., last] => core::slice::from_ref(last),
            };
            for &Look { number, .. } in entered {
                let hash = hash(statements[number as usize].inst);
                known.insert_unique(hash, (hash, number), |&(hash, _)| hash);
            }
            number
        })
    }

    /// Is what is kept of a register what would be found now?
    fn is_right(&self, func: &Function, accesses: &Accesses, reg: Reg) -> bool {
        let all = |catalogue: &Catalogue| -> Vec<Vec<(Node, u32, Inst)>> {
            let of = |look: &Look| {
                let occurrences = catalogue.statement(look.number).occurrences.iter();
                occurrences.map(|it| (it.node(), it.place, it.inst)).collect::<Vec<_>>()
            };
            let mut all: Vec<_> = catalogue.looks(reg).iter().map(of).filter(|it| !it.is_empty()).collect();
            all.sort_unstable();
            all
        };
        let mut anew = Catalogue::default();
        anew.fit(accesses);
        for node in accesses.writers(reg).map(Touching::node) {
            if let Some(touches) = accesses.touches(node, reg).filter(|touches| touches.is_written_last()) {
                anew.enter_at(func, accesses, touches, node);
            }
        }
        all(self) == all(&anew)
    }
}

/// May some of so many looks have been near? Where that is not kept they may.
fn is_near(spans: Option<&[Span]>, place: usize, is_near: impl Fn(&Span) -> bool) -> bool {
    spans.and_then(|spans| spans.get(place)).is_none_or(is_near)
}

/// One of many has looked there, of which all are kept together with others.
fn widen<T>(spans: &mut Vec<Span>, all: &[T], place: usize, span: Span, of: impl Fn(&T) -> Span) {
    let known = spans.len();
    spans.extend(all.chunks(TOGETHER).skip(known).map(|some| some.iter().map(&of).fold(Span::NONE, Span::with)));
    let together = &mut spans[place / TOGETHER];
    *together = together.with(span);
}

/// The statement that stands in a node, is the last that touches what it writes, as is told, and could leave the node.
fn standing(func: &Function, accesses: &Accesses, touches: &Touches, node: Node) -> Option<Occurrence> {
    let occurrence = Occurrence { node: node as u32, place: touches.last, inst: touches.last_writer };
    let data = &func.insts[occurrence.inst];
    let mut may_leave = data.dst() == Some(touches.reg()) && may_sink(data);
    if may_leave {
        data.for_each_use(|used| may_leave &= leaves_free(accesses, used, touches.reg(), &occurrence));
    }
    (may_leave && (!is_changing_load(data) || is_behind_effects(accesses, &occurrence))).then_some(occurrence)
}

/// Does an operand of what is the last to touch its destination hold what it holds until the end of the block?
fn leaves_free(accesses: &Accesses, used: Reg, dst: Reg, occurrence: &Occurrence) -> bool {
    let last_write = accesses.touches_of(occurrence.node(), used).map_or(NOWHERE, |touches| touches.last_write);
    used != dst && (last_write == NOWHERE || last_write < occurrence.place)
}

/// Does a load read until the end of the block what it reads?
fn is_behind_effects(accesses: &Accesses, occurrence: &Occurrence) -> bool {
    accesses.effects(occurrence.node(), occurrence.inst).is_none_or(|(_, last)| last < occurrence.place)
}

/// Can it stand elsewhere, where its operands are the same?
pub(super) fn may_sink(data: &InstData) -> bool {
    let op = data.opcode.op;
    // What is ordered with other accesses keeps its place among them.
    let is_load = matches!(op, Op::Ld | Op::Tex1d | Op::Tex2d) && !data.opcode.reads_anew();
    data.guard.is_none() && data.dsts.len() == 1 && !data.is_terminator() && (op.is_pure() || is_load)
}
