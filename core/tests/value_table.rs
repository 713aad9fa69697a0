//! The value table that `gvn-cse` works with, as whoever steps through the pass sees it.

use std::fmt::Write;

use proptest::prelude::*;
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{Func, Module};
use warpscope_core::journal::Moment;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::session::{Options, Session};
use warpscope_core::trace::{Fact, Remark, TableEvent};
use warpscope_core::value_table::ValueTable;
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::{emit, laws};

fn session(source: &str, passes: &str) -> Session {
    let module: Module = laws::well_formed(source).expect("a good program");
    let steps = parse_pipeline(passes).expect("a good pipeline");
    Session::open(module, &Options { steps, ..Options::default() }, &mut || 0)
}

/// The table after the first `moments`.
fn table(moments: &[Moment<'_>]) -> ValueTable {
    ValueTable::at(moments.iter().filter_map(|moment| match moment {
        Moment::Table(event) => Some(*event),
        Moment::Event(_) => None,
    }))
}

fn shown(session: &Session, func: Func, table: &ValueTable) -> String {
    let blocks = &session.module().funcs[func].blocks;
    let mut text = String::new();
    for scope in &table.scopes {
        let _ = write!(text, "{}{} ", blocks[scope.block].name, if scope.is_in_reach { "" } else { " (out of reach)" });
    }
    text.push('\n');
    for row in &table.rows {
        let holders: Vec<&str> = row.holders.iter().map(|holder| holder.name.as_str()).collect();
        let scope = &blocks[row.holders[0].block].name;
        let _ = writeln!(text, "v{} {} | {} | {scope}", row.number, row.expression, holders.join(" "));
    }
    text
}

const PROGRAM: &str = "kernel k(a: u32, b: u32, o: ptr.global) {
entry:
    t = add.u32 a, b
    p = setp.lt.u32 %tid, a
    br p, left, join
left:
    y = add.u32 b, a
    m = mul.u32 y, 3
    st.global.u32 o[0], m
    br join
join:
    z = mul.u32 t, 3
    st.global.u32 o[1], z
    ret
}

launch k {
    grid 1
    block 32
    a = 7
    b = 9
    o = buffer u32[64] const 0
}
";

/// Word for a moment.
fn word(session: &Session, func: Func, moment: &Moment<'_>) -> String {
    let blocks = &session.module().funcs[func].blocks;
    match moment {
        Moment::Table(TableEvent::Opened { block, .. }) => format!("open {}", blocks[*block].name),
        Moment::Table(TableEvent::Held { number, .. }) => format!("v{number}"),
        Moment::Table(TableEvent::Closed { block }) => format!("close {}", blocks[*block].name),
        Moment::Event(event) => session.journal().events()[*event].remark.rule.to_string(),
    }
}

#[test]
fn the_table_grows_and_shrinks_with_the_dominator_tree() {
    let session = session(PROGRAM, "gvn-cse");
    let func = session.module().kernels().next().expect("a kernel");
    let moments = session.journal().moments(0, func);
    let words: Vec<String> = moments.iter().map(|moment| word(&session, func, moment)).collect();
    // A parameter is told when it is first read; `y` is found, then holds the number as well.
    let expected = "open entry, v1, v2, v3, v4, open left, repeated, v3, v5, close left, open join, v5, close join, \
                    close entry";
    assert_eq!(words.join(", "), expected);
    let found = words.iter().position(|word| word == "repeated").expect("a repetition");
    let in_entry = "v1 parameter | a | entry\nv2 parameter | b | entry\n";
    let before = format!("entry left \n{in_entry}v3 add.u32 v1, v2 | t | entry\nv4 setp.lt.u32 %tid, v1 | p | entry\n");
    assert_eq!(shown(&session, func, &table(&moments[..found])), before);
    let after = before.replace("| t |", "| t y |") + "v5 mul.u32 v3, 3 | m | left\n";
    assert_eq!(shown(&session, func, &table(&moments[..found + 3])), after);
    // What `left` knew is gone in `join`, which computes the product anew.
    let in_join = before.replace("left", "join") + "v5 mul.u32 v3, 3 | z | join\n";
    assert_eq!(shown(&session, func, &table(&moments[..found + 6])), in_join);
    assert_eq!(table(&moments), ValueTable::default());
}

#[test]
fn within_one_block_no_other_is_in_reach() {
    let session = session(PROGRAM, "gvn-cse[EnableGvnCseMode=1]");
    let func = session.module().kernels().next().expect("a kernel");
    let moments = session.journal().moments(0, func);
    let held = moments.iter().position(|moment| word(&session, func, moment) == "v5").expect("the product");
    let table = table(&moments[..held]);
    assert!(shown(&session, func, &table).starts_with("entry (out of reach) left "), "{table:?}");
    let sum = table.rows.iter().find(|row| row.number == 3).expect("the sum");
    assert_eq!(sum.holders[0].name, "y", "what is out of reach does not lead");
}

#[test]
fn other_passes_have_no_table() {
    let session = session(PROGRAM, "copy-prop,gvn-cse,dce");
    let func = session.module().kernels().next().expect("a kernel");
    let journal = session.journal();
    assert!(journal.moments(0, func).is_empty() && journal.moments(2, func).is_empty());
    assert!(!journal.moments(1, func).is_empty() && journal.moments(3, func).is_empty());
}

/// The count, text or block that a remark gives under a name.
fn fact<'a>(remark: &'a Remark, name: &str) -> Option<&'a Fact> {
    remark.facts.iter().find(|(known, _)| *known == name).map(|(_, fact)| fact)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// At every moment the open scopes are a chain of the dominator tree, and every row's leader was defined in one of
    /// them; every hit stands in the table that it was found in, as its remark says.
    #[test]
    fn the_table_is_what_the_remarks_say(recipe in recipe(), mode in 1..7_i32) {
        let session = session(&emit::program(&recipe), &format!("gvn-cse[EnableGvnCseMode={mode}]"));
        for (func, before) in session.start().funcs.iter() {
            let dominators = Dominators::compute(&Cfg::compute(before));
            let moments = session.journal().moments(0, func);
            for (place, moment) in moments.iter().enumerate() {
                let table = table(&moments[..place]);
                for pair in table.scopes.windows(2) {
                    prop_assert_eq!(dominators.immediate_dominator(pair[1].block), Some(pair[0].block));
                }
                for row in &table.rows {
                    for (index, holder) in row.holders.iter().enumerate() {
                        prop_assert!(table.scopes.iter().any(|scope| scope.block == holder.block), "{:?}", holder);
                        prop_assert!(!row.holders[..index].contains(holder), "{:?} twice", holder);
                    }
                }
                let Moment::Event(event) = moment else { continue };
                let event = &session.journal().events()[*event];
                if !event.is_rewrite() {
                    continue;
                }
                let Some(Fact::Count(number)) = fact(&event.remark, "number") else { panic!("no number") };
                let row = table.rows.iter().find(|row| u64::from(row.number) == *number).expect("a row");
                prop_assert_eq!(fact(&event.remark, "leader"), Some(&Fact::Text(row.holders[0].name.clone())));
                prop_assert_eq!(fact(&event.remark, "scope"), Some(&Fact::Block(row.holders[0].block)));
                prop_assert!(table.is_in_reach(row.holders[0].block));
            }
            prop_assert_eq!(table(&moments), ValueTable::default());
        }
    }
}
