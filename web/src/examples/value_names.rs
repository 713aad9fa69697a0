//! Examples of values under many names, from Bodík's thesis and beside it.

use super::{Example, phase};

const LOADS: &[&str] = &["ssrqp"];
const COMPUTED: &[&str] = &["gvn-cse", "const-fold", "dce"];

/// Programs that compute a value again under another name.
pub const NAMES: &[Example] = &[
    phase(
        "vng/minimum.wir",
        "The least element",
        "You load val[m] in each round, and on each path you have it already: as val[0], as val[m], or as val[i].",
        LOADS,
        &[],
    ),
    phase(
        "vng/synonyms.wir",
        "Two names for one element",
        "You find that A[x] and A[y + 1] are one element only if you go back on both paths.",
        LOADS,
        &[],
    ),
    phase(
        "vng/constant.wir",
        "Constant without constants",
        "You cannot name x or y, but you know their sum and their product: 3 and 2 on both paths.",
        COMPUTED,
        &[],
    ),
    phase(
        "vng/recurrent.wir",
        "Two rounds ago",
        "You loaded A[i] as A[i + 2] two rounds before: you need a window of three rounds to see it.",
        LOADS,
        &[],
    ),
    phase(
        "vng/merge.wir",
        "Merge sort",
        "You compare two elements and take one: the other one you load again in the next round.",
        LOADS,
        &[],
    ),
    phase(
        "vng/estimators.wir",
        "How often, from counts of edges",
        "You know how often each edge runs, not which runs they are: 60 to 95 of 230 loads are redundant.",
        LOADS,
        &[],
    ),
    phase(
        "vng/two-names.wir",
        "A value that splits",
        "You reach two loads from one name where j is i: what you know there counts twice.",
        LOADS,
        &[],
    ),
    phase(
        "vng/carried.wir",
        "Carried around a loop",
        "You load A[i] once, and use it in eight rounds of ten under the name A[j].",
        LOADS,
        &[],
    ),
    phase(
        "vng/loop-once.wir",
        "An end that no run attains",
        "You count one round in three runs, and cannot exclude a reuse that no run has.",
        LOADS,
        &[],
    ),
    phase(
        "vng/twice.wir",
        "An index loaded twice",
        "You load an index twice and follow it twice: both elements have the name A[*(first) + 2].",
        LOADS,
        &[],
    ),
    phase(
        "vng/stored-index.wir",
        "An index stored and loaded",
        "You store an index and load it again: the element that it leads to you loaded on both paths, under two names.",
        LOADS,
        &[],
    ),
    phase(
        "vng/at-hand.wir",
        "Nothing to compute",
        "You subtract what was added: on the left d - 1 is the parameter a.",
        COMPUTED,
        &[],
    ),
    phase(
        "vng/kills.wir",
        "What may change an element",
        "You load A[i] four times; how often you need to depends on what you believe of B and of the barrier.",
        LOADS,
        &[],
    ),
    phase(
        "vng/opposites.wir",
        "One question in three forms",
        "You ask i < n, i >= n and n > i: one answer, once negated and once turned round.",
        COMPUTED,
        &[],
    ),
];
