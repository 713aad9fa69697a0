//! The only door through which a function changes.
//!
//! ```text
//! let mut rewrite = editor.rewrite(|func| Remark::applied("copy", block, "…"));
//! rewrite.replace(inst, data);          // as many edits as the rule needs
//! rewrite.finish();                     // the remark and its edits reach the sink together
//! ```
//!
//! An edit cannot exist without a remark, because only a [`Rewrite`] makes edits and only a remark makes a rewrite.
//! Every [`Edit`] carries what its inverse needs, so undoing a list of edits from its end restores the function
//! exactly, names included. Ids are handed out once: redoing a creation brings the same id back.
//!
//! A function may get a global of its own with [`Rewrite::create_global`]: the one change outside of it, which is undone and
//! redone with the rest.
//!
//! Each edit takes constant time, apart from profiles, which are gone through where a function declares any, and rewritten whole
//! where somebody listens.
//! With the silent sink nothing is recorded and remarks are not even built.

mod profiles;
mod rewrite;

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use crate::ir::{Block, Func, Function, Global, GlobalData, Inst, InstData, Module, Profile, Reg, Type, ZeroEntry};
use profiles::{is_empty, split_in_profile};
use rewrite::Recording;

pub use rewrite::Rewrite;

/// Where an instruction stands: in a block, before another one or last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The block.
    pub block: Block,
    /// The instruction that follows, or none at the end.
    pub before: Option<Inst>,
}

/// One change with everything its inverse needs.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// A new register.
    CreateReg {
        /// Its id, the next one free.
        reg: Reg,
        /// Its name, never used before.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// A new, empty block.
    CreateBlock {
        /// Its id, the next one free.
        block: Block,
        /// Its name, never used before.
        name: String,
        /// The block it is a copy of.
        copy_of: Option<Block>,
        /// The block it is put before; none is the end.
        before: Option<Block>,
    },
    /// An empty block taken out of the text.
    RemoveBlock {
        /// The block.
        block: Block,
        /// The block that followed it.
        before: Option<Block>,
    },
    /// A new instruction.
    CreateInst {
        /// Its id, the next one free.
        inst: Inst,
        /// What it is.
        data: Box<InstData>,
        /// Where it goes.
        to: Place,
    },
    /// An instruction taken out of the text.
    RemoveInst {
        /// The instruction.
        inst: Inst,
        /// Where it stood.
        from: Place,
    },
    /// An instruction changed in place.
    ReplaceInst {
        /// The instruction.
        inst: Inst,
        /// What it was.
        old: Box<InstData>,
        /// What it is now.
        new: Box<InstData>,
    },
    /// An instruction put elsewhere.
    MoveInst {
        /// The instruction.
        inst: Inst,
        /// Where it stood.
        from: Place,
        /// Where it stands now.
        to: Place,
    },
    /// A new global of the module, which stands before the function in the text. It is there for the rest of the module once
    /// the function is closed.
    CreateGlobal {
        /// Its id, the next one free.
        global: Global,
        /// What it is; its name was never used before.
        data: Box<GlobalData>,
    },
    /// The declared profiles changed with the blocks they speak of.
    SetProfiles {
        /// What they were.
        old: Vec<Profile>,
        /// What they are now.
        new: Vec<Profile>,
    },
    /// A zero profile says something more.
    AddZeros {
        /// Its place among the function's profiles.
        profile: usize,
        /// What it says behind all that it said.
        entries: Vec<ZeroEntry>,
    },
}

/// What a list of edits invalidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// Blocks or edges.
    pub shape: bool,
    /// Instructions.
    pub values: bool,
}

impl Edit {
    /// What the edit invalidates.
    pub fn touches(&self, func: &Function) -> Touched {
        let of = |inst: &Inst| Touched { shape: func.insts[*inst].is_terminator(), values: true };
        match self {
            Edit::SetProfiles { .. } | Edit::AddZeros { .. } | Edit::CreateGlobal { .. } => Touched::default(),
            // Analyses of values have a place for each register.
            Edit::CreateReg { .. } => Touched { shape: false, values: true },
            Edit::CreateBlock { .. } | Edit::RemoveBlock { .. } => Touched { shape: true, values: true },
            Edit::CreateInst { inst, .. } | Edit::RemoveInst { inst, .. } | Edit::MoveInst { inst, .. } => of(inst),
            Edit::ReplaceInst { old, new, .. } => {
                // Where control may go from a block is what its terminator's targets say, whatever else changes.
                let keeps_edges = old.is_terminator() == new.is_terminator() && old.targets() == new.targets();
                Touched { shape: !keeps_edges, values: true }
            }
        }
    }

    /// Does the edit again (or for the first time), as far as the function goes; see [`apply_all`].
    pub fn apply(&self, func: &mut Function) {
        match self {
            Edit::CreateReg { reg, name, ty } => {
                if reg.index() < func.regs.len() {
                    func.reclaim_reg_name(name);
                } else {
                    func.build_reg(name.clone(), *ty);
                }
            }
            Edit::CreateBlock { block, name, copy_of, before } => {
                if block.index() < func.blocks.len() {
                    func.reclaim_block_name(name);
                } else {
                    func.build_detached_block(name.clone(), *copy_of);
                }
                func.layout.insert_block(*block, *before);
            }
            Edit::RemoveBlock { block, .. } => func.layout.remove_block(*block),
            Edit::CreateInst { inst, data, to } => {
                if inst.index() >= func.insts.len() {
                    func.insts.push((**data).clone());
                }
                func.insert_inst(*inst, to.block, to.before);
            }
            Edit::RemoveInst { inst, .. } => func.remove_inst(*inst),
            Edit::ReplaceInst { inst, new, .. } => func.change_inst(*inst, |data| data.clone_from(new)),
            Edit::MoveInst { inst, to, .. } => {
                func.remove_inst(*inst);
                func.insert_inst(*inst, to.block, to.before);
            }
            Edit::CreateGlobal { data, .. } => func.reserve_reg_name(&data.name),
            Edit::SetProfiles { new, .. } => func.profiles.clone_from(new),
            Edit::AddZeros { profile, entries } => {
                zero_entries(func, *profile).into_iter().for_each(|all| all.extend_from_slice(entries));
            }
        }
    }

    /// Takes the edit back, as far as the function goes. It must be in the state that the edit left behind.
    pub fn undo(&self, func: &mut Function) {
        match self {
            Edit::CreateReg { name, .. } => func.release_reg_name(name),
            Edit::CreateBlock { block, name, .. } => {
                func.layout.remove_block(*block);
                func.release_block_name(name);
            }
            Edit::RemoveBlock { block, before } => func.layout.insert_block(*block, *before),
            Edit::CreateInst { inst, .. } => func.remove_inst(*inst),
            Edit::RemoveInst { inst, from } => func.insert_inst(*inst, from.block, from.before),
            Edit::ReplaceInst { inst, old, .. } => func.change_inst(*inst, |data| data.clone_from(old)),
            Edit::MoveInst { inst, from, .. } => {
                func.remove_inst(*inst);
                func.insert_inst(*inst, from.block, from.before);
            }
            Edit::CreateGlobal { data, .. } => func.release_reg_name(&data.name),
            Edit::SetProfiles { old, .. } => func.profiles.clone_from(old),
            Edit::AddZeros { profile, entries } => {
                zero_entries(func, *profile).into_iter().for_each(|all| all.truncate(all.len() - entries.len()));
            }
        }
    }
}

/// Was an opportunity taken or refused?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum RemarkKind {
    /// The edits that follow were made.
    Applied,
    /// Nothing was changed, and the message says why.
    Missed,
}

impl RemarkKind {
    /// `applied` or `missed`.
    pub const fn name(self) -> &'static str {
        match self {
            RemarkKind::Applied => "applied",
            RemarkKind::Missed => "missed",
        }
    }
}

/// A typed detail of a remark, for views that want more than the sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum Fact {
    /// A register, shown by its name.
    Reg(Reg),
    /// A block, shown by its label.
    Block(Block),
    /// A number; units stand in the fact's name.
    Number(f64),
    /// A count.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// Words.
    Text(String),
    /// Several blocks.
    Blocks(Vec<Block>),
    /// Several words in an order that means something.
    Words(Vec<String>),
}

/// The reason of a rewrite, or of a refusal.
#[derive(Clone, PartialEq, Debug)]
pub struct Remark {
    /// Taken or refused.
    pub kind: RemarkKind,
    /// The rule that fired or failed, a kebab-case word of the pass.
    pub rule: &'static str,
    /// The block it is about.
    pub block: Block,
    /// The instruction it is about, where there is one.
    pub inst: Option<Inst>,
    /// A full sentence without the final stop.
    pub message: String,
    /// Details by name.
    pub facts: Vec<(&'static str, Fact)>,
}

impl Remark {
    /// A reason for a change at a block.
    pub fn applied(rule: &'static str, block: Block, message: impl Into<String>) -> Remark {
        Remark { kind: RemarkKind::Applied, rule, block, inst: None, message: message.into(), facts: Vec::new() }
    }

    /// A reason for not changing anything.
    pub fn missed(rule: &'static str, block: Block, message: impl Into<String>) -> Remark {
        Remark { kind: RemarkKind::Missed, ..Remark::applied(rule, block, message) }
    }

    /// The same about one instruction.
    pub fn at(mut self, inst: Inst) -> Remark {
        self.inst = Some(inst);
        self
    }

    /// With a detail.
    pub fn with(mut self, name: &'static str, fact: Fact) -> Remark {
        self.facts.push((name, fact));
        self
    }
}

/// Who hears of rewrites and refusals.
pub trait EditSink {
    /// False where nobody listens: then remarks are not built and edits not kept.
    const LISTENS: bool;

    /// A rewrite is complete: `func` is its result.
    fn rewritten(&mut self, func: &Function, remark: Remark, edits: Vec<Edit>);

    /// An opportunity was refused. The remark is built only by who keeps it.
    fn missed(&mut self, func: &Function, remark: impl FnOnce(&Function) -> Remark);
}

/// The sink of nobody. A zero-sized type, so that the doors cost nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl EditSink for Silent {
    const LISTENS: bool = false;
    fn rewritten(&mut self, _: &Function, _: Remark, _: Vec<Edit>) {}
    fn missed(&mut self, _: &Function, _: impl FnOnce(&Function) -> Remark) {}
}

/// Access to one function for changing it.
pub struct Editor<'a, S: EditSink> {
    func: &'a mut Function,
    sink: &'a mut S,
    rewrites: u64,
    touched: Touched,
    globals: Vec<GlobalData>,
    /// Edges that have been split, with the blocks in their middles, of which declared profiles do not know yet.
    unprofiled: Vec<(Block, Block, Block)>,
}

impl<S: EditSink> Drop for Editor<'_, S> {
    fn drop(&mut self) {
        self.let_profiles_follow();
    }
}

impl<'a, S: EditSink> Editor<'a, S> {
    /// Opens a function.
    pub fn new(func: &'a mut Function, sink: &'a mut S) -> Self {
        Editor { func, sink, rewrites: 0, touched: Touched::default(), globals: Vec::new(), unprofiled: Vec::new() }
    }

    /// The function as it is now.
    pub fn func(&self) -> &Function {
        self.func
    }

    /// Lets declared profiles follow all that [`Rewrite::split_edge_ahead`] has split, as is done at the latest when the
    /// editor goes.
    pub fn let_profiles_follow(&mut self) {
        if !self.unprofiled.is_empty() {
            let splits = core::mem::take(&mut self.unprofiled);
            self.func.profiles.iter_mut().for_each(|profile| split_in_profile(profile, &splits));
            self.func.profiles.retain(|profile| !is_empty(profile));
        }
    }

    /// Who listens.
    pub fn sink(&mut self) -> &mut S {
        self.sink
    }

    /// The function and who listens, for a solver that tells its facts.
    pub fn func_and_sink(&mut self) -> (&Function, &mut S) {
        (self.func, self.sink)
    }

    /// Rewrites made so far.
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// The globals that were created since this was last asked, for whoever holds the module.
    pub fn take_globals(&mut self) -> Vec<GlobalData> {
        core::mem::take(&mut self.globals)
    }

    /// What changed since this was last asked.
    pub fn take_touched(&mut self) -> Touched {
        core::mem::take(&mut self.touched)
    }

    /// Begins a rewrite. The reason is built before anything changes, and only if somebody listens.
    pub fn rewrite(&mut self, reason: impl FnOnce(&Function) -> Remark) -> Rewrite<'_, 'a, S> {
        let recording = S::LISTENS.then(|| Box::new(Recording { remark: reason(self.func), edits: Vec::new() }));
        Rewrite { editor: self, recording, changed: false }
    }

    /// Records a refused opportunity.
    pub fn miss(&mut self, reason: impl FnOnce(&Function) -> Remark) {
        if S::LISTENS {
            self.sink.missed(self.func, reason);
        }
    }
}

/// Takes a list of edits of a function back, last one first.
pub fn undo_all(module: &mut Module, func: Func, edits: &[Edit]) {
    for edit in edits.iter().rev() {
        edit.undo(&mut module.funcs[func]);
        if let Edit::CreateGlobal { global, .. } = edit {
            module.forget_global(*global);
        }
    }
}

/// Does a list of edits of a function again.
pub fn apply_all(module: &mut Module, func: Func, edits: &[Edit]) {
    for edit in edits {
        edit.apply(&mut module.funcs[func]);
        if let Edit::CreateGlobal { data, .. } = edit {
            module.create_global((**data).clone(), func);
        }
    }
}

/// What a zero profile says, to be changed.
fn zero_entries(func: &mut Function, profile: usize) -> Option<&mut Vec<ZeroEntry>> {
    if let Some(Profile::Zero(entries)) = func.profiles.get_mut(profile) { Some(Rc::make_mut(entries)) } else { None }
}
