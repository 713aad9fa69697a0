//! A second opinion on `gvn-cse`: plain value numbering over the dominator tree, as the textbook has it.
//!
//! Source: P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, figure 4.

use std::collections::HashMap;

use proptest::prelude::*;
use warpscope_core::edit::Editor;
use warpscope_core::flow::{Definition, Value, Values};
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{Block, Function, Inst, InstData, Module, Op, Opcode, Operand};
use warpscope_core::pass::{Step, parse_pipeline};
use warpscope_core::trace::{NoTrace, Remark};
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::{emit, laws};

/// Instructions that the textbook covers: one result, no guard, no memory, no other lanes.
fn is_plain(data: &InstData) -> bool {
    data.dsts.len() == 1 && data.guard.is_none() && data.opcode.op.is_pure() && data.opcode.op != Op::Mov
}

fn plain_insts(module: &Module) -> usize {
    let insts = |func: &Function| func.block_order().flat_map(|block| func.block_insts(block)).collect::<Vec<_>>();
    module.funcs.values().map(|func| insts(func).iter().filter(|&&inst| is_plain(&func.insts[inst])).count()).sum()
}

/// An operand as the textbook's table has it: a value by its number, everything else as it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    Number(Value, bool),
    Other(Operand),
}

struct Textbook<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    values: &'a Values,
    /// A value's number is another value of the same number.
    number: HashMap<Value, Value>,
    table: HashMap<(Opcode, Vec<Key>), Value>,
    /// Replacements.
    found: Vec<(Inst, Value)>,
}

impl Textbook<'_> {
    fn number(&self, value: Value) -> Value {
        self.number.get(&value).copied().unwrap_or(value)
    }

    fn block(&mut self, block: Block) {
        let mut joins: HashMap<Vec<Value>, Value> = HashMap::new();
        for join in self.values.joins(block) {
            let args: Vec<Value> = self.values.join_args(join).iter().map(|arg| arg.value).collect();
            let is_known = |value: &Value| self.number.contains_key(value) || self.is_entry_value(*value);
            let number = if args.iter().all(is_known) {
                let numbers: Vec<Value> = args.iter().map(|&value| self.number(value)).collect();
                if numbers.iter().all(|&number| number == numbers[0]) {
                    numbers[0]
                } else {
                    *joins.entry(numbers).or_insert(join)
                }
            } else {
                join
            };
            self.number.insert(join, number);
        }
        let mut added = Vec::new();
        for inst in self.func.block_insts(block) {
            let data = &self.func.insts[inst];
            for &value in self.values.defined(inst) {
                self.number.insert(value, value);
            }
            if !is_plain(data) {
                continue;
            }
            let mut used = self.values.operands(inst).iter().map(|&value| self.number(value));
            let mut key: Vec<Key> = Vec::new();
            for operand in &data.args {
                key.push(match operand {
                    Operand::Reg(_) => Key::Number(used.next().expect("a register has a value"), false),
                    Operand::NotReg(_) => Key::Number(used.next().expect("a register has a value"), true),
                    other => Key::Other(other.clone()),
                });
            }
            if data.opcode.op.is_commutative() {
                key[..2].sort();
            }
            let value = self.values.defined(inst)[0];
            if let Some(&leader) = self.table.get(&(data.opcode, key.clone())) {
                self.number.insert(value, self.number(leader));
                self.found.push((inst, leader));
            } else {
                self.table.insert((data.opcode, key.clone()), value);
                added.push((data.opcode, key));
            }
        }
        let mut children: Vec<Block> = self.dominators.children(block).collect();
        children.sort_by_key(|&child| self.cfg.position(child));
        children.into_iter().for_each(|child| self.block(child));
        for key in added {
            self.table.remove(&key);
        }
    }

    fn is_entry_value(&self, value: Value) -> bool {
        self.values.definition(value) == Definition::Entry
    }
}

/// The program after the textbook's pass, and how many plain instructions it found to repeat
/// others. Those whose leader's register is written again before are counted, but stay.
fn textbook(module: &Module) -> (Module, usize) {
    let mut after = module.clone();
    let mut count = 0;
    for func in after.funcs.values_mut() {
        let cfg = Cfg::compute(func);
        let dominators = Dominators::compute(&cfg);
        let values = Values::compute(func, &cfg, &dominators);
        let mut pass = Textbook {
            func,
            cfg: &cfg,
            dominators: &dominators,
            values: &values,
            number: HashMap::new(),
            table: HashMap::new(),
            found: Vec::new(),
        };
        dominators.roots().for_each(|root| pass.block(root));
        let found = pass.found;
        count += found.len();
        let before = func.clone();
        let mut silent = NoTrace;
        let mut editor = Editor::new(func, &mut silent);
        for (inst, leader) in found {
            let from = values.reg(leader);
            let dst = before.insts[inst].dsts[0];
            let holds = values.before(&before, inst, from) == Some(leader);
            if holds && before.reg_types[from].agrees_with(before.reg_types[dst]) && from != dst {
                let copy = InstData::new(Opcode::mov(before.reg_types[dst]), [dst], [Operand::Reg(from)]);
                editor.rewrite(|_| Remark::applied("copy", Block::from_u32(0), "")).replace(inst, copy);
            }
        }
    }
    (after, count)
}

/// Every full mode removes at least what the textbook does, and memory is the same after both.
fn agrees_with_the_textbook(source: &str) -> laws::Law {
    let module = laws::well_formed(source)?;
    let (after, found) = textbook(&module);
    let mut memory = laws::Memory::of(&module, false);
    memory.is_the_same_after(&after).map_err(|broken| format!("the textbook's pass: {broken}"))?;
    let allowed = plain_insts(&module) - found;
    for mode in 3..=6 {
        let steps: Vec<Step> = parse_pipeline(&format!("gvn-cse[EnableGvnCseMode={mode}]")).expect("a good pipeline");
        let ours = laws::run_silently(&module, &steps, false);
        let left = plain_insts(&ours);
        if left > allowed {
            return Err(format!("mode {mode} leaves {left} instructions, the textbook {allowed}"));
        }
        memory.is_the_same_after(&ours).map_err(|broken| format!("mode {mode}: {broken}"))?;
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

fn holds(source: &str) -> Result<(), TestCaseError> {
    agrees_with_the_textbook(source).map_err(|broken| TestCaseError::fail(format!("{broken}\nthe program:\n{source}")))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn gvn_cse_removes_at_least_what_the_textbook_does(recipe in recipe()) {
        holds(&emit::program(&recipe))?;
    }

    #[test]
    fn gvn_cse_removes_at_least_what_the_textbook_does_of_scattered_definitions(recipe in scattered()) {
        holds(&scattered::program(&recipe))?;
    }
}

#[test]
fn the_textbook_finds_something() {
    let source = "kernel k(a: u32, b: u32, o: ptr.global) {\nentry:\n    x = add.u32 a, b\n    y = add.u32 b, a\n    \
                  st.global.u32 o[0], x\n    st.global.u32 o[1], y\n    ret\n}\n";
    let module = laws::well_formed(source).expect("a good program");
    assert_eq!(textbook(&module).1, 1);
}

/// Checks an untraced run, where numbers are close together: the second result of `{p, q}` is not
/// what was computed after `s`, which is the first one.
#[test]
fn a_second_result_has_a_number_of_its_own() {
    let file = include_str!("golden/gvn-cse/results.wir");
    let source = file.split("// ----").next().expect("the program stands above");
    let module = laws::well_formed(source).unwrap();
    for passes in ["gvn-cse", "late-commoning"] {
        laws::every_step_is_sound(&module, &parse_pipeline(passes).unwrap(), false).unwrap();
        let after = laws::run_silently(&module, &parse_pipeline(passes).unwrap(), false);
        laws::memory_is_the_same(&module, &after, false).unwrap();
    }
}
