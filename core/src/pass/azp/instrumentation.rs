//! Instrumentation: each candidate counts how often warps write it, and how often with zero in all
//! lanes.
//!
//! ```text
//! s = ld.global.f32 x[i]           global k_zeros: u64[2]
//!                                  s = ld.global.f32 x[i]
//!                                  t1 = activemask; t2 = shl.b32 1, %laneid; t3 = sub.u32 t2, 1
//!                            ──▶   t4 = and.b32 t1, t3; t5 = setp.eq.u32 t4, 0      the first lane
//!                                  t6 = setp.eq.f32 s, 0.0; t7 = vote.all t6; t8 = and.pred t7, t5
//!                                  @t5 red.global.add.u64 k_zeros[0], 1
//!                                  @t8 red.global.add.u64 k_zeros[1], 1
//! ```
//!
//! A machine runs this to find a `profile zero` without a simulator. Every candidate has two
//! counters in a global of the module: at `2 k` its writes by a warp, at `2 k + 1` those that gave
//! zero in all active lanes; the remark of each names them. A vector counts where the last of its
//! registers is written, and as zero if all of them are. Of a guarded write only the lanes count in
//! which the guard holds, and it counts only if there is one. A predicate is zero where it is
//! false, for which no comparison is needed.
//!
//! Sound: the new instructions read registers and write new ones, and their only effect is on the
//! counters, which nothing else reads. They depend on which lanes are active, so they follow the
//! write directly. A function that has counters is left alone, since instrumenting again would
//! count the counting.
//!
//! Cost: linear in the function and its candidates. Limits: registers of 8 bits have no comparison
//! with zero and are not counted, nor the results of a terminator, nor a guarded write of its own
//! guard.
//!
//! Source: AZP, section 3.2.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::candidates::numbered;
use super::facts::Facts;
use super::zero_test::{can_compare, can_test, is_predicate, make_zero_test};
use crate::compact_sort::CompactSort;
use crate::edit::Rewrite;
use crate::flow::Elements;
use crate::ir::{
    Address, AddressBase, AtomicOp, Block, Cmp, Comments, Function, Global, GlobalData, Guard, Inst, InstData, Module,
    Op, Opcode, Operand, Reg, Space, Span, Special, Symbol, Type, Write,
};
use crate::trace::{Fact, Place, Remark};
use crate::view::View;

/// Bytes of a counter.
const COUNTER_BYTES: i64 = 8;

/// A candidate that is counted.
pub(super) struct Counted {
    number: u32,
    /// Instruction that writes the last of its registers.
    last: Inst,
    regs: SmallVec<[Reg; 4]>,
    /// Its writes as profiles name them.
    names: Vec<String>,
}

/// The candidates that are counted, in the order of the text.
pub(super) fn find_counted(facts: &Facts<'_>) -> Vec<Counted> {
    let Facts { func, values, .. } = facts;
    let mut writes: BTreeMap<(Inst, Reg), Write> = BTreeMap::new();
    func.for_each_write(|inst, write| {
        writes.insert((inst, write.reg), write);
    });
    let counted = |number: u32, group: &Elements| {
        let last = values.definition(*group.last()?).inst()?;
        // A register that is overwritten before the last is written, or a guard of itself, cannot
        // be tested.
        let data = &func.insts[last];
        let is_there = group.iter().all(|&value| facts.is_held_after(last, value));
        if !is_there || data.guard.is_some_and(|guard| data.dsts.contains(&guard.reg)) {
            return None;
        }
        let name = |&value: &_| {
            let write = writes.get(&(values.definition(value).inst()?, values.reg(value)))?;
            let number = if write.occurrence > 0 { format!("#{}", write.occurrence) } else { String::new() };
            Some(format!("{}.{}{number}", func.blocks[write.block].name, func.regs[write.reg].name))
        };
        let names = group.iter().map(name).collect::<Option<Vec<String>>>()?;
        Some(Counted { number, last, regs: group.iter().map(|&value| values.reg(value)).collect(), names })
    };
    let mut found: Vec<Counted> = Vec::new();
    for (number, mut group) in numbered(facts) {
        let is_vector = group.len() > 1;
        // A predicate is in no vector.
        let is_counted = if is_vector { can_compare } else { can_test };
        group.retain(|value| is_counted(func, values.reg(*value)));
        if group.len() > usize::from(is_vector) {
            found.extend(counted(number, &group));
        }
    }
    let ranks: BTreeMap<Block, usize> = func.block_order().zip(0..).collect();
    found.compact_sort_by_key(|it| {
        (func.inst_block(it.last).map(|block| ranks[&block]), facts.place(it.last), it.number)
    });
    found
}

/// Lets a function count these candidates.
pub(super) fn instrument(view: &mut View<'_>, counted: &[Counted]) {
    let Some(entry) = view.func().entry_block().filter(|_| !counted.is_empty()) else { return };
    let module = view.module();
    let stem = format!("{}_zeros", view.func().name);
    if let Some(counters) = find_counters(module, view.func(), &stem) {
        let message = format!("`{counters}` counts zeros already; its own instructions are not counted");
        return view.miss(|_| Remark::missed("instrumented", entry, message));
    }
    let name = fresh_name(module, view.func(), &stem);
    let mut rewrite = view.rewrite(|_| {
        let message = format!(
            "`{name}` counts for {} candidate{} how often a warp writes each, and how often zero",
            counted.len(),
            if counted.len() == 1 { "" } else { "s" }
        );
        Remark::applied("counters", entry, message).with("counters", Fact::Count(2 * counted.len() as u64))
    });
    let global = rewrite.create_global(module, counters(name.clone(), 2 * counted.len() as u32));
    rewrite.finish();

    let mut counters_after: BTreeMap<Inst, Vec<usize>> = BTreeMap::new();
    counted.iter().enumerate().for_each(|(place, it)| counters_after.entry(it.last).or_default().push(place));
    let blocks: Vec<Block> = view.func().block_order().collect();
    for block in blocks {
        let insts: Vec<Inst> = view.func().block_insts(block).collect();
        let mut leader = None;
        for (place, &inst) in insts.iter().enumerate() {
            if view.func().insts[inst].may_wait() {
                // Lanes may end in it, or go on in groups.
                leader = None;
            }
            for &counter in counters_after.get(&inst).into_iter().flatten() {
                let it = &counted[counter];
                let at = Place { block, before: insts.get(place + 1).copied() };
                let mut rewrite = view.rewrite(|_| counter_remark(it, block, &name, counter));
                count(&mut rewrite, at, it, (global, counter), &mut leader);
            }
        }
    }
}

/// A global of so many counters.
fn counters(name: String, len: u32) -> GlobalData {
    GlobalData {
        addresses: Vec::new(),
        reference: None,
        name,
        space: Space::Global,
        ty: Type::U64,
        len,
        init: None,
        comments: Comments::default(),
        declaration: None,
        span: Span::default(),
    }
}

fn counter_remark(it: &Counted, block: Block, global: &str, counter: usize) -> Remark {
    let (writes, zeros) = (2 * counter, 2 * counter + 1);
    let message = format!(
        "`{global}[{writes}]` counts how often a warp writes `{}`, `{global}[{zeros}]` how often zero in all lanes",
        it.names.join(" & ")
    );
    let remark = Remark::applied("count", block, message)
        .at(it.last)
        .with("candidate", Fact::Count(u64::from(it.number)))
        .with("counters", Fact::Text(global.to_string()))
        .with("writes_at", Fact::Count(writes as u64))
        .with("zeros_at", Fact::Count(zeros as u64));
    let remark = it.regs.iter().fold(remark, |remark, &reg| remark.with("register", Fact::Reg(reg)));
    it.names.iter().fold(remark, |remark, name| remark.with("write", Fact::Text(name.clone())))
}

/// Inserts the instructions that count a candidate. `leader` holds in the first active lane, once
/// it is computed.
fn count(
    rewrite: &mut Rewrite<'_, '_>,
    at: Place,
    it: &Counted,
    (global, counter): (Global, usize),
    leader: &mut Option<Reg>,
) {
    let first = *leader.get_or_insert_with(|| find_leader(rewrite, at));
    let pred = |op: Op| Opcode::new(op, Type::Pred);
    let mut holds: Option<Reg> = None;
    for &reg in &it.regs {
        if is_predicate(rewrite.func(), reg) {
            // It is the only register of its candidate.
            holds = Some(put(rewrite, at, pred(Op::Not), Type::Pred, [Operand::Reg(reg)]));
            continue;
        }
        let next = rewrite.create_temporary(Type::Pred);
        let Some(test) = make_zero_test(rewrite.func(), next, reg, holds) else { return };
        rewrite.insert(at, test);
        holds = Some(next);
    }
    let Some(mut holds) = holds else { return };
    let mut counts = first;
    if let Some(guard) = rewrite.func().insts[it.last].guard {
        let (inside, outside) = if guard.negated {
            (Operand::NotReg(guard.reg), guard.reg)
        } else {
            (Operand::Reg(guard.reg), put(rewrite, at, pred(Op::Not), Type::Pred, [Operand::Reg(guard.reg)]))
        };
        holds = put(rewrite, at, pred(Op::Or), Type::Pred, [Operand::Reg(holds), Operand::Reg(outside)]);
        let some = put(rewrite, at, Opcode::untyped(Op::VoteAny), Type::Pred, [inside]);
        counts = put(rewrite, at, pred(Op::And), Type::Pred, [Operand::Reg(some), Operand::Reg(first)]);
    }
    let all = put(rewrite, at, Opcode::untyped(Op::VoteAll), Type::Pred, [Operand::Reg(holds)]);
    let zero = put(rewrite, at, pred(Op::And), Type::Pred, [Operand::Reg(all), Operand::Reg(counts)]);
    for (place, reg) in (2 * counter as i64..).zip([counts, zero]) {
        let opcode = Opcode { atomic: Some(AtomicOp::Add), ..Opcode::memory(Op::Red, Some(Space::Global), Type::U64) };
        let base = AddressBase::Symbol(Symbol::Global(global));
        let address = Address { base, terms: SmallVec::new(), offset: COUNTER_BYTES * place };
        let data = InstData::new(opcode, [], [Operand::Address(Box::new(address)), Operand::Const(1)]);
        rewrite.insert(at, data.guarded(Some(Guard { reg, negated: false })));
    }
}

/// Inserts the instructions that find the first active lane. Gives the predicate that holds there.
fn find_leader(rewrite: &mut Rewrite<'_, '_>, at: Place) -> Reg {
    let here = put(rewrite, at, Opcode::untyped(Op::Activemask), Type::B32, []);
    let mut computed = |op: Op, ty: Type, args: [Operand; 2]| put(rewrite, at, Opcode::new(op, ty), ty, args);
    let own = computed(Op::Shl, Type::B32, [Operand::Const(1), Operand::Special(Special::Laneid)]);
    let before = computed(Op::Sub, Type::U32, [Operand::Reg(own), Operand::Const(1)]);
    let others = computed(Op::And, Type::B32, [Operand::Reg(here), Operand::Reg(before)]);
    put(rewrite, at, Opcode::setp(Cmp::Eq, Type::U32), Type::Pred, [Operand::Reg(others), Operand::Const(0)])
}

/// Inserts an instruction. Gives the new register that it writes.
fn put(
    rewrite: &mut Rewrite<'_, '_>,
    at: Place,
    opcode: Opcode,
    ty: Type,
    args: impl IntoIterator<Item = Operand>,
) -> Reg {
    let reg = rewrite.create_temporary(ty);
    rewrite.insert(at, InstData::new(opcode, [reg], args));
    reg
}

/// The global in which a function counts zeros, by a name as [`fresh_name`] gives it, if it does.
fn find_counters<'m>(module: &'m Module, func: &Function, stem: &str) -> Option<&'m str> {
    let mut insts = func.block_order().flat_map(|block| func.block_insts(block)).map(|inst| &func.insts[inst]);
    insts.find_map(|data| match data.address()?.base {
        AddressBase::Symbol(Symbol::Global(global)) if data.opcode.op == Op::Red => {
            let name = module.globals.get(global)?.name.as_str();
            let rest = name.strip_prefix(stem)?;
            let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
            Some(name).filter(|_| rest.is_empty() || rest.strip_prefix('_').is_some_and(is_number))
        }
        _ => None,
    })
}

/// A name for a global that is free in the module.
fn fresh_name(module: &Module, open: &Function, stem: &str) -> String {
    let is_taken = |name: &str| {
        let mut funcs = module.funcs.values().chain([open]);
        module.global_by_name(name).is_some() || funcs.any(|func| func.name == name || func.reg_name_is_taken(name))
    };
    let numbered = (1..).map(|number| format!("{stem}_{number}"));
    core::iter::once(stem.to_string()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}
