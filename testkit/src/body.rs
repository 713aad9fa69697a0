//! Writes the statements of one function; see [`crate::emit`].

use std::fmt::Write;

use crate::operations::{Arg, Kind, OPERATIONS, Operation};
use crate::recipe::{Condition, Jump, Place, Statement, Value};

/// Registers of their own that an operand may reach back to.
const WINDOW: usize = 12;

/// The body of a function while it is written.
pub struct Emitter {
    text: String,
    /// No memory, inputs or calls.
    pure: bool,
    /// Do the threads of a block come by here together, as far as branches are concerned?
    together: bool,
    /// May a thread be done already?
    left: bool,
    instructions: usize,
    blocks: u32,
    counters: u32,
    /// Registers of their own that may be read here, by kind.
    recent: [Vec<u32>; Kind::ALL.len()],
    own_registers: u32,
}

impl Emitter {
    /// The body of a kernel, or of a function without memory, inputs and calls.
    pub fn new(pure: bool) -> Emitter {
        Emitter {
            text: String::new(),
            pure,
            together: !pure,
            left: false,
            instructions: 0,
            blocks: 0,
            counters: 0,
            recent: Default::default(),
            own_registers: 0,
        }
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many instructions have been written.
    pub fn instructions(&self) -> usize {
        self.instructions
    }

    /// Writes an instruction.
    pub fn line(&mut self, line: &str) {
        self.instructions += 1;
        let _ = writeln!(self.text, "    {line}");
    }

    /// Stores a register of the pool to an element of the thread's part of the output.
    pub fn observe(&mut self, kind: Kind, register: &str, slot: u32) {
        let (ty, stored) = match kind {
            Kind::U32 | Kind::S32 | Kind::F32 => (kind.type_name(), register),
            Kind::F64 => {
                self.line(&format!("narrow = cvt.f32.f64 {register}"));
                ("f32", "narrow")
            }
            Kind::U64 => {
                self.line(&format!("low = cvt.u32.u64 {register}"));
                ("u32", "low")
            }
            Kind::Pred => {
                self.line(&format!("flag = selp.u32 1, 0, {register}"));
                ("u32", "flag")
            }
        };
        self.line(&format!("st.global.{ty} o[go + {slot}], {stored}"));
    }

    /// Writes statements.
    pub fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    /// Writes a statement. What is not possible where it stands is left out.
    pub fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Compute { op, dst, args, guard } => {
                self.compute(&OPERATIONS[usize::from(*op) % OPERATIONS.len()], *dst, args, *guard);
            }
            Statement::Load { dst, place, guard } if !self.pure => self.load(*dst, *place, *guard),
            Statement::Store { place, value, guard } if !self.pure => self.store(*place, *value, *guard),
            Statement::Count { slot, value, guard } if !self.pure => {
                let (value, guard) = (self.value(Kind::U32, *value), guard_text(*guard));
                self.line(&format!("{guard}red.global.add.u32 c[{}], {value}", slot % 8));
            }
            Statement::Draw { dst, input } if !self.pure => {
                let inputs = [(Kind::Pred, "coin"), (Kind::U32, "level"), (Kind::F32, "noise")];
                let (kind, name) = inputs[usize::from(*input) % inputs.len()];
                let dst = self.dst(kind, *dst, false);
                self.line(&format!("{dst} = in.{} {name}", kind.type_name()));
            }
            Statement::Call { dst, args, guard } if !self.pure => {
                let (first, second) = (self.value(Kind::U32, args[0]), self.value(Kind::F32, args[1]));
                let dst = self.dst(Kind::F32, *dst, guard.is_some());
                self.line(&format!("{}{dst} = call helper({first}, {second})", guard_text(*guard)));
            }
            Statement::CallTo { dst, arg, first, second } if !self.pure => {
                let arg = self.value(Kind::U32, *arg);
                let dst = self.dst(Kind::U32, *dst, true);
                self.fork(&[first, second], false, |targets| format!("{dst} = call split({arg}) to {targets}"));
            }
            Statement::Exchange { dst, value, distance } if self.all_come_by() => {
                self.exchange(*dst, *value, *distance);
            }
            Statement::Converge { kind, dst, value, condition } if self.all_come_by() => {
                self.converge(*kind, *dst, *value, *condition);
            }
            Statement::If { condition, uniform, on_true, on_false } => {
                let uniform = *uniform && !self.pure;
                let condition = if uniform {
                    self.line(&format!("same = setp.lt.u32 n, {}", condition.reg % 16));
                    "same".to_string()
                } else {
                    condition_text(*condition)
                };
                self.fork(&[on_true, on_false], uniform, |targets| format!("br {condition}, {targets}"));
            }
            Statement::Switch { value, arms } => {
                let value = self.value(Kind::U32, *value);
                let ways: Vec<&[Statement]> = arms.iter().map(Vec::as_slice).collect();
                self.fork(&ways, false, |targets| format!("switch {value}, {targets}"));
            }
            Statement::Loop { trips, leave, body } => self.repeat(*trips, *leave, body),
            Statement::Tangle { fuel, blocks } => self.tangle(*fuel, blocks),
            Statement::Leave { condition } if !self.pure => {
                let (away, on) = (self.fresh_block(), self.fresh_block());
                self.line(&format!("br {}, {away}, {on}", condition_text(*condition)));
                self.label(&away);
                self.line("exit");
                self.label(&on);
                self.left = true;
            }
            _ => {}
        }
    }

    // --- one instruction -----------------------------------------------------------------------------------------

    fn compute(&mut self, operation: &Operation, dst: u8, values: &[Value; 3], guard: Option<Condition>) {
        let mut args = Vec::with_capacity(operation.args.len());
        for (index, arg) in operation.args.iter().enumerate() {
            let value = values[index % values.len()];
            args.push(match *arg {
                Arg::Value(kind) => self.value(kind, value),
                Arg::Reg(kind) => self.register(kind, number_of(value)),
                Arg::Condition => condition_text(Condition { reg: number_of(value), negated: dst % 2 == 1 }),
                Arg::Cycles => (number_of(value) % 32).to_string(),
            });
        }
        let dsts: Vec<String> = operation
            .dsts
            .iter()
            .zip(0..)
            .map(|(&kind, offset): (_, u8)| self.dst(kind, dst.wrapping_add(offset), guard.is_some()))
            .collect();
        let dst = if let [dst] = dsts.as_slice() { dst.clone() } else { format!("{{{}}}", dsts.join(", ")) };
        self.line(&format!("{}{dst} = {} {}", guard_text(guard), operation.opcode, args.join(", ")));
    }

    fn load(&mut self, dst: u8, place: Place, guard: Option<Condition>) {
        let guarded = guard.is_some();
        let guard = guard_text(guard);
        let access = self.access(place, true);
        let dst = match access.kind_of_load() {
            Loaded::One(kind) => self.dst(kind, dst, guarded || access.is_narrow()),
            Loaded::Two(kind) => {
                let (first, second) = (self.dst(kind, dst, guarded), self.dst(kind, dst.wrapping_add(1), guarded));
                format!("{{{first}, {second}}}")
            }
        };
        if access.ty == "u32" && place.width % 8 == 7 && access.space == ".global" {
            self.line(&format!("{guard}{dst} = atom.global.add.u32 {}, {}", access.address, place.offset));
        } else {
            self.line(&format!("{guard}{dst} = ld{}.{} {}", access.space, access.ty, access.address));
        }
    }

    fn store(&mut self, place: Place, value: Value, guard: Option<Condition>) {
        let guard = guard_text(guard);
        let access = self.access(place, false);
        let value = match access.kind_of_load() {
            Loaded::One(kind) if access.is_narrow() => self.register(kind, number_of(value)),
            Loaded::One(kind) => self.value(kind, value),
            Loaded::Two(kind) => {
                format!("{{{}, {}}}", self.value(kind, value), self.register(kind, number_of(value)))
            }
        };
        if access.ty == "u32" && place.width % 8 == 7 && access.space == ".global" {
            self.line(&format!("{guard}red.global.max.u32 {}, {value}", access.address));
        } else {
            self.line(&format!("{guard}st{}.{} {}, {value}", access.space, access.ty, access.address));
        }
    }

    /// Writes what the address needs and gives the access. Memory that nobody writes only serves loads.
    fn access(&mut self, place: Place, load: bool) -> Access {
        let near = place.offset % 8;
        let (space, ty, address) = match place.memory % if load { 12 } else { 9 } {
            0 => (".global", "f32", format!("a[g + {near}]")),
            1 => (".global", "f32", format!("a[g + {} + {near}]", self.index(place.index, 7))),
            2 => (".global", "f32", format!("a[g + 2*{} + {near}]", self.index(place.index, 3))),
            3 => (".global", "u32", format!("b[g + {near}]")),
            4 => (".global", "u32", format!("b[g + {} + {near}]", self.index(place.index, 7))),
            memory @ 5..=7 => {
                let base = ["ga", "gb", "gs"][usize::from(memory - 5)];
                let (ty, bytes) = [("f32", 4), ("u32", 4), ("u8", 1), ("s16", 2), ("u64", 8), ("v2.f32", 8)]
                    [usize::from(place.width % 6)];
                let offset = u32::from(place.offset) % (64 / bytes) * bytes;
                // Without a space the address tells.
                let space = if place.index % 4 == 3 { "" } else { ".global" };
                (space, ty, format!("[{base} + {offset}]"))
            }
            8 if place.width.is_multiple_of(2) => (".local", "f32", format!("own[{}]", place.offset % 16)),
            8 => (".local", "f32", format!("own[{} + {near}]", self.index(place.index, 7))),
            9 => (".global", "f32", format!("x[{} + {}]", self.index(place.index, 31), place.offset % 32)),
            10 => (".const", "f32", format!("table[{}]", self.index(place.index, 7))),
            _ => (".param", "f32", format!("params[{}]", place.offset % 4)),
        };
        Access { space, ty, address }
    }

    /// A register that holds another one's low bits.
    fn index(&mut self, reg: u8, mask: u8) -> &'static str {
        let name = ["j0", "j1", "j2"][usize::from(reg) % 3];
        let source = self.register(Kind::U32, reg);
        self.line(&format!("{name} = and.b32 {source}, {mask}"));
        name
    }

    /// Through shared memory: each thread reads what another one wrote.
    fn exchange(&mut self, dst: u8, value: Value, distance: u8) {
        let value = self.value(Kind::U32, value);
        self.line(&format!("st.shared.u32 board[tid], {value}"));
        self.line("bar.sync");
        self.line(&format!("other = add.u32 tid, {distance}"));
        self.line("other = rem.u32 other, %ntid");
        let dst = self.dst(Kind::U32, dst, false);
        self.line(&format!("{dst} = ld.shared.u32 board[other]"));
        self.line("bar.sync");
    }

    fn converge(&mut self, kind: u8, dst: u8, value: Value, condition: Condition) {
        let condition = condition_text(condition);
        let distance = 1 << (dst % 3);
        let value = self.register(Kind::U32, number_of(value));
        let (written, operation) = match kind % 8 {
            0 => (Kind::Pred, format!("vote.any {condition}")),
            1 => (Kind::Pred, format!("vote.all {condition}")),
            2 => (Kind::U32, format!("vote.ballot {condition}")),
            3 => (Kind::U32, format!("shfl.bfly.b32 {value}, {distance}")),
            4 => (Kind::U32, format!("shfl.up.b32 {value}, {distance}")),
            5 => (Kind::U32, format!("shfl.idx.b32 {value}, {distance}")),
            6 => (Kind::U32, format!("match.any.b32 {value}")),
            _ => (Kind::U32, "activemask".to_string()),
        };
        let dst = self.dst(written, dst, false);
        self.line(&format!("{dst} = {operation}"));
    }

    // --- control flow --------------------------------------------------------------------------------------------

    /// Several ways that meet again. `terminator` gets the labels, separated by commas.
    fn fork(&mut self, ways: &[&[Statement]], uniform: bool, terminator: impl FnOnce(&str) -> String) {
        let labels: Vec<String> = ways.iter().map(|_| self.fresh_block()).collect();
        let join = self.fresh_block();
        self.line(&terminator(&labels.join(", ")));
        for (way, label) in ways.iter().zip(&labels) {
            self.label(label);
            self.scope(way, uniform);
            self.branch(&join);
        }
        self.label(&join);
    }

    /// A loop, tested at its head for an even number of rounds and at its end for an odd one.
    fn repeat(&mut self, trips: u8, leave: Option<Condition>, body: &[Statement]) {
        let counter = self.fresh_counter();
        let [head, inside, latch, after] = [(); 4].map(|()| self.fresh_block());
        let uniform = leave.is_none() && !body.iter().any(Statement::may_leave);
        let head_tested = trips.is_multiple_of(2);
        self.line(&format!("{counter} = mov.u32 0"));
        self.branch(if head_tested { &head } else { &inside });
        if head_tested {
            self.label(&head);
            self.line(&format!("more = setp.lt.u32 {counter}, {trips}"));
            self.line(&format!("br more, {inside}, {after}"));
        }
        self.label(&inside);
        self.line(&format!("{counter} = add.u32 {counter}, 1"));
        self.scope(body, uniform);
        let back = if head_tested { &head } else { &latch };
        match leave {
            Some(condition) => self.line(&format!("br {}, {after}, {back}", condition_text(condition))),
            None => self.branch(back),
        }
        if !head_tested {
            self.label(&latch);
            self.line(&format!("more = setp.lt.u32 {counter}, {trips}"));
            self.line(&format!("br more, {inside}, {after}"));
        }
        self.label(&after);
    }

    /// Blocks that jump to each other. A jump back goes through a block that uses up fuel, and goes on without any.
    fn tangle(&mut self, fuel: u8, blocks: &[(Vec<Statement>, Jump)]) {
        let tank = self.fresh_counter();
        let labels: Vec<String> = (0..=blocks.len()).map(|_| self.fresh_block()).collect();
        self.line(&format!("{tank} = mov.u32 {fuel}"));
        self.branch(&labels[0]);
        for (index, (statements, jump)) in blocks.iter().enumerate() {
            self.label(&labels[index]);
            self.scope(statements, false);
            let mut backward = Vec::new();
            let mut way = |emitter: &mut Emitter, target: u8| {
                let target = usize::from(target) % labels.len();
                if target > index {
                    return labels[target].clone();
                }
                let block = emitter.fresh_block();
                backward.push((block.clone(), target));
                block
            };
            let terminator = match *jump {
                Jump::Always(target) => format!("br {}", way(self, target)),
                Jump::If(condition, yes, no) => {
                    let (yes, no) = (way(self, yes), way(self, no));
                    format!("br {}, {yes}, {no}", condition_text(condition))
                }
            };
            self.line(&terminator);
            for (block, target) in backward {
                self.label(&block);
                self.line(&format!("more = setp.ne.u32 {tank}, 0"));
                self.line(&format!("@more {tank} = sub.u32 {tank}, 1"));
                self.line(&format!("br more, {}, {}", labels[target], labels[index + 1]));
            }
        }
        self.label(&labels[blocks.len()]);
    }

    /// Statements whose own registers nobody reads afterwards, for they may not have run.
    fn scope(&mut self, statements: &[Statement], uniform: bool) {
        let lengths = self.recent.each_ref().map(Vec::len);
        let outer = self.together;
        self.together &= uniform;
        self.statements(statements);
        self.together = outer;
        for (registers, length) in self.recent.iter_mut().zip(lengths) {
            registers.truncate(length);
        }
    }

    fn all_come_by(&self) -> bool {
        self.together && !self.left
    }

    fn label(&mut self, block: &str) {
        let _ = writeln!(self.text, "{block}:");
    }

    fn branch(&mut self, target: &str) {
        self.line(&format!("br {target}"));
    }

    fn fresh_block(&mut self) -> String {
        self.blocks += 1;
        format!("n{}", self.blocks)
    }

    fn fresh_counter(&mut self) -> String {
        self.counters += 1;
        format!("k{}", self.counters)
    }

    // --- operands ------------------------------------------------------------------------------------------------

    fn value(&self, kind: Kind, value: Value) -> String {
        const SPECIALS: [&str; 6] = ["%tid", "%ctaid", "%ntid", "%laneid", "%nctaid", "%tid.y"];
        match value {
            Value::Small(number) => match kind {
                Kind::U32 | Kind::U64 => number.unsigned_abs().to_string(),
                Kind::S32 => number.to_string(),
                Kind::F32 | Kind::F64 => format!("{number}.0"),
                Kind::Pred => self.register(kind, number.unsigned_abs()),
            },
            Value::Awkward(index) => {
                let numbers = kind.awkward();
                numbers[usize::from(index) % numbers.len()].to_string()
            }
            Value::Special(index) if kind == Kind::U32 => SPECIALS[usize::from(index) % SPECIALS.len()].to_string(),
            Value::Reg(index) | Value::Special(index) => self.register(kind, index),
        }
    }

    fn register(&self, kind: Kind, index: u8) -> String {
        let recent = &self.recent[kind as usize];
        let window = recent.len().min(WINDOW);
        if index >= 128 && window > 0 {
            return format!("v{}", recent[recent.len() - 1 - usize::from(index) % window]);
        }
        pool_register(kind, index)
    }

    /// Chooses a destination. One that may not be written in every lane goes to the pool, whose
    /// registers are all assigned.
    fn dst(&mut self, kind: Kind, index: u8, partial: bool) -> String {
        if index < 128 || partial {
            return pool_register(kind, index);
        }
        self.own_registers += 1;
        self.recent[kind as usize].push(self.own_registers);
        format!("v{}", self.own_registers)
    }
}

/// How memory is touched.
struct Access {
    space: &'static str,
    ty: &'static str,
    address: String,
}

/// Type of the loaded value.
enum Loaded {
    One(Kind),
    Two(Kind),
}

impl Access {
    fn kind_of_load(&self) -> Loaded {
        match self.ty {
            "v2.f32" => Loaded::Two(Kind::F32),
            "f32" => Loaded::One(Kind::F32),
            "s16" => Loaded::One(Kind::S32),
            "u64" => Loaded::One(Kind::U64),
            _ => Loaded::One(Kind::U32),
        }
    }

    /// Is the register wider than the access?
    fn is_narrow(&self) -> bool {
        matches!(self.ty, "u8" | "s16")
    }
}

fn pool_register(kind: Kind, index: u8) -> String {
    let (prefix, count) = kind.pool();
    format!("{prefix}{}", usize::from(index) % count)
}

fn condition_text(condition: Condition) -> String {
    let negation = if condition.negated { "!" } else { "" };
    format!("{negation}{}", pool_register(Kind::Pred, condition.reg))
}

fn guard_text(guard: Option<Condition>) -> String {
    guard.map_or(String::new(), |condition| format!("@{} ", condition_text(condition)))
}

fn number_of(value: Value) -> u8 {
    match value {
        Value::Reg(number) | Value::Awkward(number) | Value::Special(number) => number,
        Value::Small(number) => number.unsigned_abs(),
    }
}
