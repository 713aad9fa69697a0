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
        "the three names of the loaded value.",
        LOADS,
        &[],
    ),
    phase(
        "vng/synonyms.wir",
        "Two names for one element",
        "You find that A[x] and A[y + 1] are one element only if you go back on both paths.",
        "the thread that joins both names.",
        LOADS,
        &[],
    ),
    phase(
        "vng/constant.wir",
        "Constant without constants",
        "You cannot name x or y, but you know their sum and their product: 3 and 2 on both paths.",
        "the sum and the product on each path.",
        COMPUTED,
        &[],
    ),
    phase(
        "vng/recurrent.wir",
        "Two rounds ago",
        "You loaded A[i] as A[i + 2] two rounds before: you need a window of three rounds to see it.",
        "the names as the window grows.",
        LOADS,
        &[],
    ),
    phase(
        "vng/merge.wir",
        "Merge sort",
        "You compare two elements and take one: the other one you load again in the next round.",
        "the element that the next round loads again.",
        LOADS,
        &[],
    ),
    phase(
        "vng/estimators.wir",
        "How often, from counts of edges",
        "You know how often each edge runs, not which runs they are: 60 to 95 of 230 loads are redundant.",
        "the interval between the bounds of reuse.",
        LOADS,
        &[],
    ),
    phase(
        "vng/two-names.wir",
        "A value that splits",
        "You reach two loads from one name where j is i: what you know there counts twice.",
        "the name at the head of two threads.",
        LOADS,
        &[],
    ),
    phase(
        "vng/carried.wir",
        "Carried around a loop",
        "You load A[i] once, and use it in eight rounds of ten under the name A[j].",
        "the thread along the edge back to the loop's head.",
        LOADS,
        &[],
    ),
    phase(
        "vng/loop-once.wir",
        "An end that no run attains",
        "You count one round in three runs, and cannot exclude a reuse that no run has.",
        "the upper bound, which no run attains.",
        LOADS,
        &[],
    ),
    phase(
        "vng/twice.wir",
        "An index loaded twice",
        "You load an index twice and follow it twice: both elements have the name A[*(first) + 2].",
        "names that contain a loaded index.",
        LOADS,
        &[],
    ),
    phase(
        "vng/stored-index.wir",
        "An index stored and loaded",
        "You store an index and load it again: the element that it leads to you loaded on both paths, under two names.",
        "the store that the thread passes.",
        LOADS,
        &[],
    ),
    phase(
        "vng/at-hand.wir",
        "Nothing to compute",
        "You subtract what was added: on the left d - 1 is the parameter a.",
        "the parameter that answers on the left.",
        COMPUTED,
        &[],
    ),
    phase(
        "vng/kills.wir",
        "What may change an element",
        "You load A[i] four times; how often you need to depends on what you believe of B and of the barrier.",
        "what ends each thread, and how settings change it.",
        LOADS,
        &[],
    ),
    phase(
        "vng/opposites.wir",
        "One question in three forms",
        "You ask i < n, i >= n and n > i: one answer, once negated and once turned round.",
        "the one row for three comparisons.",
        COMPUTED,
        &[],
    ),
];
