//! Recipe of a generated program, before it has names: plain data that `proptest` draws and shrinks.
//!
//! Every number here is taken modulo whatever it chooses from when the program is written, so each recipe is a
//! well-typed program: registers are assigned before they are read, every loop ends, every access stays inside its
//! buffer, a thread writes only to memory of its own, and barriers, votes and shuffles stand where all threads come by.
//! A run therefore has one result whatever order the warps are scheduled in, and a pass may not change it.

use proptest::prelude::*;

/// A whole program: one kernel, its helper functions and a launch.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// How it is run.
    pub launch: LaunchRecipe,
    /// Statements of the helper function.
    pub helper: Vec<Statement>,
    /// Statements of the kernel.
    pub body: Vec<Statement>,
    /// Which registers are stored at the end, one bit each: what nobody stores may be dead.
    pub observed: u32,
    /// Which of the pointer parameters are `restrict`, one bit each.
    pub restrict: u8,
}

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRecipe {
    /// Blocks.
    pub grid: u8,
    /// Chooses the threads a block.
    pub block: u8,
    /// Chooses the lanes a warp.
    pub warp: u8,
    /// Seed of buffers and draws.
    pub seed: u8,
    /// Tenths: probability that a warp's elements share a draw.
    pub coherence: u8,
    /// Tenths: probability that an element is zero.
    pub zero: u8,
}

/// A predicate register, plain or negated.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Which one.
    pub reg: u8,
    /// Is it negated?
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A register of the kind that is wanted: below 128 one of the pool, above one that was written recently.
    Reg(u8),
    /// A small number.
    Small(i8),
    /// A number that breaks careless arithmetic: the extremes of the type, -0.0, NaN, infinity.
    Awkward(u8),
    /// A special register, where the type is `u32`.
    Special(u8),
}

/// A piece of memory that belongs to the thread, or that nobody writes.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which memory, and which spelling of the address.
    pub memory: u8,
    /// The constant part.
    pub offset: u8,
    /// The register that chooses the element, where the spelling has an index.
    pub index: u8,
    /// Chooses the width of the access.
    pub width: u8,
}

/// One step of a program.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Statement {
    /// An operation on registers: an entry of the table of operations.
    Compute { op: u8, dst: u8, args: [Value; 3], guard: Option<Condition> },
    /// A load.
    Load { dst: u8, place: Place, guard: Option<Condition> },
    /// A store to memory of the thread's own.
    Store { place: Place, value: Value, guard: Option<Condition> },
    /// Adds to a counter that all threads share and none reads.
    Count { slot: u8, value: Value, guard: Option<Condition> },
    /// Draws from an input.
    Draw { dst: u8, input: u8 },
    /// Calls the helper function.
    Call { dst: u8, args: [Value; 2], guard: Option<Condition> },
    /// Calls a function with two exits.
    CallTo { dst: u8, arg: Value, first: Vec<Statement>, second: Vec<Statement> },
    /// Through shared memory and two barriers; only where all threads of the block come by.
    Exchange { dst: u8, value: Value, distance: u8 },
    /// A vote or shuffle; only where all lanes come by.
    Converge { kind: u8, dst: u8, value: Value, condition: Condition },
    /// Two ways that meet again.
    If { condition: Condition, uniform: bool, on_true: Vec<Statement>, on_false: Vec<Statement> },
    /// Several ways that meet again.
    Switch { value: Value, arms: Vec<Vec<Statement>> },
    /// A loop that is left after `trips` rounds, or earlier where the condition holds.
    Loop { trips: u8, leave: Option<Condition>, body: Vec<Statement> },
    /// Blocks that jump to each other as they like; jumps back use up fuel. The last target leaves.
    Tangle { fuel: u8, blocks: Vec<(Vec<Statement>, Jump)> },
    /// Some threads are done.
    Leave { condition: Condition },
}

/// How a block of a tangle ends.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Jump {
    /// To one block.
    Always(u8),
    /// To one of two.
    If(Condition, u8, u8),
}

/// Programs of ordinary size.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    (launch(), statements(2, 1..5, true), statements(3, 1..10, false), any::<u32>(), any::<u8>())
        .prop_map(|(launch, helper, body, observed, restrict)| Recipe { launch, helper, body, observed, restrict })
}

/// How it is run.
pub fn launch() -> impl Strategy<Value = LaunchRecipe> {
    (1..=2u8, any::<u8>(), any::<u8>(), any::<u8>(), 0..=10u8, 0..=10u8).prop_map(
        |(grid, block, warp, seed, coherence, zero)| LaunchRecipe { grid, block, warp, seed, coherence, zero },
    )
}

/// Lists of statements. `depth` bounds how deeply they nest; a `pure` list has neither memory nor calls.
pub fn statements(
    depth: u32,
    count: std::ops::Range<usize>,
    pure: bool,
) -> impl Strategy<Value = Vec<Statement>> + Clone {
    prop::collection::vec(statement(depth, pure), count)
}

/// One statement; see [`statements`].
pub fn statement(depth: u32, pure: bool) -> BoxedStrategy<Statement> {
    use Statement::{
        Call, CallTo, Compute, Converge, Count, Draw, Exchange, If, Leave, Load, Loop, Store, Switch, Tangle,
    };
    let compute = (any::<u8>(), any::<u8>(), [value(), value(), value()], guard())
        .prop_map(|(op, dst, args, guard)| Compute { op, dst, args, guard });
    let load = (any::<u8>(), place(), guard()).prop_map(|(dst, place, guard)| Load { dst, place, guard });
    let store = (place(), value(), guard()).prop_map(|(place, value, guard)| Store { place, value, guard });
    let count = (any::<u8>(), value(), guard()).prop_map(|(slot, value, guard)| Count { slot, value, guard });
    let draw = (any::<u8>(), any::<u8>()).prop_map(|(dst, input)| Draw { dst, input });
    let call = (any::<u8>(), [value(), value()], guard()).prop_map(|(dst, args, guard)| Call { dst, args, guard });
    let exchange =
        (any::<u8>(), value(), any::<u8>()).prop_map(|(dst, value, distance)| Exchange { dst, value, distance });
    let converge = (any::<u8>(), any::<u8>(), value(), condition())
        .prop_map(|(kind, dst, value, condition)| Converge { kind, dst, value, condition });
    let leave = condition().prop_map(|condition| Leave { condition });
    let straight = if pure {
        compute.boxed()
    } else {
        prop_oneof![
            12 => compute, 4 => load, 4 => store, 1 => count, 1 => draw, 1 => call, 1 => exchange, 1 => converge
        ]
        .boxed()
    };
    if depth == 0 {
        return straight;
    }
    let inner = statements(depth - 1, 0..4, pure);
    let branch = (condition(), any::<bool>(), inner.clone(), inner.clone())
        .prop_map(|(condition, uniform, on_true, on_false)| If { condition, uniform, on_true, on_false });
    let switch = (value(), prop::collection::vec(inner.clone(), 1..4)).prop_map(|(value, arms)| Switch { value, arms });
    let repeat = (0..4u8, prop::option::of(condition()), inner.clone()).prop_map(|(trips, leave, body)| Loop {
        trips,
        leave,
        body,
    });
    let jump = prop_oneof![
        any::<u8>().prop_map(Jump::Always),
        (condition(), any::<u8>(), any::<u8>()).prop_map(|(condition, a, b)| Jump::If(condition, a, b)),
    ];
    let tangle =
        (0..4u8, prop::collection::vec((inner.clone(), jump), 2..5)).prop_map(|(fuel, blocks)| Tangle { fuel, blocks });
    if pure {
        prop_oneof![8 => straight, 2 => branch, 1 => switch, 2 => repeat, 1 => tangle].boxed()
    } else {
        let call_to = (any::<u8>(), value(), inner.clone(), inner).prop_map(|(dst, arg, first, second)| CallTo {
            dst,
            arg,
            first,
            second,
        });
        prop_oneof![16 => straight, 4 => branch, 1 => switch, 4 => repeat, 2 => tangle, 1 => call_to, 1 => leave]
            .boxed()
    }
}

fn condition() -> impl Strategy<Value = Condition> + Clone {
    (any::<u8>(), any::<bool>()).prop_map(|(reg, negated)| Condition { reg, negated })
}

/// One instruction in five is guarded.
fn guard() -> impl Strategy<Value = Option<Condition>> + Clone {
    prop::option::weighted(0.2, condition())
}

fn value() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        10 => any::<u8>().prop_map(Value::Reg),
        3 => (-4..5i8).prop_map(Value::Small),
        1 => any::<u8>().prop_map(Value::Awkward),
        1 => any::<u8>().prop_map(Value::Special),
    ]
}

fn place() -> impl Strategy<Value = Place> + Clone {
    (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(memory, offset, index, width)| Place {
        memory,
        offset,
        index,
        width,
    })
}

impl Statement {
    /// May a thread be done for good in here?
    pub fn may_leave(&self) -> bool {
        let any = |statements: &[Statement]| statements.iter().any(Statement::may_leave);
        match self {
            Statement::Leave { .. } => true,
            Statement::CallTo { first, second, .. } => any(first) || any(second),
            Statement::If { on_true, on_false, .. } => any(on_true) || any(on_false),
            Statement::Switch { arms, .. } => arms.iter().any(|arm| any(arm)),
            Statement::Loop { body, .. } => any(body),
            Statement::Tangle { blocks, .. } => blocks.iter().any(|(statements, _)| any(statements)),
            _ => false,
        }
    }
}
