//! Programs of what lanes do together: votes, shuffles, matches, reductions, barriers and atomics,
//! each form in a program of its own.
//!
//! ```text
//! p = setp.ne.u32 flag, 0 ; v = vote.ballot.b32 p     by all lanes, and by those that a branch sends there
//! o = atom.shared.max.s64 t[i], a                     each lane at its own place: the old value counts
//! red.global.add.u32 x[j], a                          many lanes at one place: only the sum does
//! ```
//!
//! What PTX leaves open is kept out: a shuffle reads lanes that take part, and the order of lanes at one place makes no
//! difference.

use std::fmt::Write;

/// Threads of a launch: two blocks of four warps.
const THREADS: u32 = 256;

/// Every program, by its operation.
pub fn programs() -> Vec<(String, String)> {
    let mut programs = Vec::new();
    for (operation, ty) in collectives() {
        programs.push((operation.clone(), collective(&operation, ty, false)));
        // Shuffles read lanes that take part, and a barrier is for all threads.
        if !operation.contains("shfl") && !operation.contains("bar.") {
            programs.push((format!("{operation} behind a branch"), collective(&operation, ty, true)));
        }
    }
    for space in ["global", "shared"] {
        for (operation, ty) in atomics() {
            for root in ["atom", "red"].into_iter().filter(|root| *root == "atom" || operation != "cas") {
                let name = format!("{root}.{space}.{operation}.{ty}");
                if root == "atom" {
                    programs.push((format!("{name} by itself"), atomic(root, space, operation, ty, false)));
                }
                if commutes(operation, ty) {
                    programs.push((format!("{name} together"), atomic(root, space, operation, ty, true)));
                }
            }
        }
    }
    programs.push(("bar.sync".to_owned(), BARRIER.to_owned()));
    programs
}

/// Operations that assign `v` from words `a` and `b`, a long word `w`, a float `f` and a predicate `p`; and the type of
/// `v`.
fn collectives() -> Vec<(String, &'static str)> {
    let mut list = vec![
        ("v = vote.ballot.b32 p".to_owned(), "b32"),
        ("v = vote.ballot.b32 !p".to_owned(), "b32"),
        ("v = activemask.b32".to_owned(), "b32"),
        ("v = match.any.b32 a".to_owned(), "b32"),
        ("v = match.any.b64 w".to_owned(), "b32"),
        ("v = match.all.b32 a".to_owned(), "b32"),
        ("{v, u} = match.all.b32 c".to_owned(), "b32"),
        ("{v, u} = match.all.b64 w".to_owned(), "b32"),
    ];
    // Of the last, operands are negative in some lanes.
    for operation in ["add.u32", "min.u32", "max.u32", "and.b32", "or.b32", "xor.b32"] {
        list.push((format!("v = redux.{operation} a"), "b32"));
    }
    for operation in ["add.s32", "min.s32", "max.s32"] {
        list.push((format!("d = sub.s32 a, 1\n    v = redux.{operation} d"), "b32"));
    }
    for (ask, ty) in [("popc.u32", "b32"), ("and.pred", "pred"), ("or.pred", "pred")] {
        list.push((format!("v = bar.red.{ask} p"), ty));
        list.push((format!("q = setp.lt.u32 a, 3\n    v = bar.red.{ask} !q, 5"), ty));
    }
    for mode in ["all", "any", "uni"] {
        list.push((format!("v = vote.{mode}.pred p"), "pred"));
    }
    for mode in ["idx", "up", "down", "bfly"] {
        // Without its third operand, in segments of 8 lanes, and in those of a clamp of its own.
        let up = mode == "up";
        for clamp in [None, Some(if up { 0x1800 } else { 0x181F }), Some(if up { 5 } else { 0x0C1B })] {
            let clamp = clamp.map_or(String::new(), |clamp| format!(", {clamp}"));
            list.push((format!("v = shfl.{mode}.b32 a, b{clamp}"), "b32"));
            list.push((format!("{{v, u}} = shfl.{mode}.b32 b, b{clamp}"), "b32"));
        }
        list.push((format!("v = shfl.{mode}.b32 f, 3"), "f32"));
    }
    list
}

fn collective(operation: &str, ty: &str, behind_branch: bool) -> String {
    let mut text = String::from(
        "kernel k(x: ptr.global, y: ptr.global, r: ptr.global, s: ptr.global) {\n    reg u: pred\nentry:\n    \
         i = mad.u32 %ctaid, %ntid, %tid\n    a = ld.global.b32 x[i]\n    b = ld.global.b32 y[i]\n    \
         c = shr.b32 i, 6\n    w = cvt.u64.u32 a\n    f = cvt.rn.f32.u32 a\n    bit = and.b32 a, 1\n    \
         p = setp.ne.u32 bit, 0\n    u = mov.pred 0\n",
    );
    let _ = writeln!(text, "    v = mov.{ty} {}", if ty == "f32" { "0.0" } else { "0" });
    let (before, after) = if behind_branch {
        ("    q = setp.gt.u32 b, 11\n    br q, some, done\nsome:\n", "    br done\ndone:\n")
    } else {
        ("", "")
    };
    let stored = if ty == "pred" {
        "    z = selp.u32 1, 0, v\n    st.global.u32 r[i], z\n"
    } else {
        "    st.global.b32 r[i], v\n"
    };
    let _ = write!(
        text,
        "{before}    {operation}\n{after}{stored}    t = selp.u32 1, 0, u\n    st.global.u32 s[i], t\n    ret\n}}\n\
         launch k {{\n    grid 2\n    block 128\n    seed 3\n    x = buffer u32[{THREADS}] random(0, 3)\n    \
         y = buffer u32[{THREADS}] random(0, 31)\n    r = buffer b32[{THREADS}] const 0\n    \
         s = buffer u32[{THREADS}] const 0\n}}\n"
    );
    text
}

/// Operations and types that PTX has, for both spaces.
fn atomics() -> Vec<(&'static str, &'static str)> {
    let mut list = Vec::new();
    for (operation, types) in [
        ("add", &["u32", "s32", "u64", "s64", "f32", "f64"][..]),
        ("min", &["u32", "s32", "u64", "s64"]),
        ("max", &["u32", "s32", "u64", "s64"]),
        ("and", &["b32", "b64", "u32", "s64"]),
        ("or", &["b32", "b64"]),
        ("xor", &["b32", "b64"]),
        ("inc", &["u32"]),
        ("dec", &["u32"]),
        ("exch", &["b32", "b64", "f32"]),
        ("cas", &["b16", "b32", "b64", "u64"]),
    ] {
        list.extend(types.iter().map(|ty| (operation, *ty)));
    }
    list
}

/// Does the order in which lanes come to one place make no difference?
fn commutes(operation: &str, ty: &str) -> bool {
    !ty.starts_with('f') && matches!(operation, "add" | "min" | "max" | "and" | "or" | "xor")
}

/// An atomic of each lane at its own place, or of all lanes at four; then what the place holds.
fn atomic(root: &str, space: &str, operation: &str, ty: &str, at_one_place: bool) -> String {
    let place = if at_one_place { "and.b32 %tid, 3" } else { "mov.u32 %tid" };
    let (memory, index) = if space == "shared" { ("t", "j") } else { ("o", "m") };
    let second = if operation == "cas" { ", b" } else { "" };
    let random = if ty.starts_with('f') { "random(-4, 4)" } else { "random(0, 5)" };
    let zero = if ty.starts_with('f') { "0.0" } else { "0" };
    let result = if root == "atom" { "old = " } else { "" };
    let mut text = format!(
        "kernel k(x: ptr.global, y: ptr.global, o: ptr.global, r: ptr.global, s: ptr.global) {{\n    \
         shared t: {ty}[128]\nentry:\n    l = mov.u32 %tid\n    i = mad.u32 %ctaid, %ntid, %tid\n    j = {place}\n    \
         m = mad.u32 %ctaid, %ntid, j\n    a = ld.global.{ty} x[i]\n    b = ld.global.{ty} y[i]\n    \
         old = mov.{ty} {zero}\n    first = ld.global.{ty} o[i]\n    st.shared.{ty} t[l], first\n    bar.sync\n    \
         {result}{root}.{space}.{operation}.{ty} {memory}[{index}], a{second}\n    bar.sync\n"
    );
    let kept = if at_one_place { "" } else { "    st.global.$ r[i], old\n" };
    let _ = write!(
        text,
        "{}    last = ld.shared.{ty} t[l]\n    st.global.{ty} s[i], last\n    ret\n}}\nlaunch k {{\n    grid 2\n    \
         block 128\n    seed 5\n    x = buffer {ty}[{THREADS}] {random}\n    y = buffer {ty}[{THREADS}] {random}\n    \
         o = buffer {ty}[{THREADS}] {random}\n    r = buffer {ty}[{THREADS}] const {zero}\n    \
         s = buffer {ty}[{THREADS}] const {zero}\n}}\n",
        kept.replace('$', ty)
    );
    text
}

/// A sum over a block by halves.
const BARRIER: &str = "kernel k(x: ptr.global, r: ptr.global) {
    shared t: u32[128]
entry:
    l = mov.u32 %tid
    i = mad.u32 %ctaid, %ntid, %tid
    a = ld.global.u32 x[i]
    st.shared.u32 t[l], a
    step = mov.u32 64
    br again
again:
    bar.sync
    low = setp.lt.u32 %tid, step
    br low, add, next
add:
    j = add.u32 %tid, step
    b = ld.shared.u32 t[j]
    c = ld.shared.u32 t[l]
    d = add.u32 b, c
    st.shared.u32 t[l], d
    br next
next:
    step = shr.u32 step, 1
    more = setp.ne.u32 step, 0
    br more, again, done
done:
    bar.sync
    e = ld.shared.u32 t[0]
    st.global.u32 r[i], e
    ret
}
launch k {
    grid 2
    block 128
    x = buffer u32[256] random(0, 1000)
    r = buffer u32[256] const 0
}
";

#[cfg(test)]
mod tests {
    use warpscope_core::verify::check;

    #[test]
    fn every_program_is_good() {
        let programs = super::programs();
        assert!(programs.len() > 100, "only {}", programs.len());
        for (name, source) in programs {
            let errors: Vec<_> = check(&source).diagnostics.into_iter().filter(|found| found.is_error()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}\n{source}");
        }
    }
}
