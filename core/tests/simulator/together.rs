//! Votes, shuffles and matches under the active mask.

use super::run_blocks;

#[test]
fn votes_see_active_lanes_only() {
    let outcome = run_blocks(
        "",
        "    p = setp.lt.u32 i, 8\n    q = setp.lt.u32 i, 4\n    br p, low, high\nlow:\n    v = vote.ballot.b32 q\n    \
         br done\nhigh:\n    v = activemask.b32\n    br done\ndone:\n    st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| if i < 8 { 0x0F } else { 0xFFFF_FF00 }).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

#[test]
fn all_and_any() {
    let outcome = run_blocks(
        "",
        "    p = setp.lt.u32 i, 8\n    a = vote.all.pred p\n    b = vote.any.pred p\n    x = selp.u32 1, 0, a\n    \
         y = selp.u32 2, 0, b\n    v = add.u32 x, y\n    st.global.u32 r[i], v\n    ret\n",
    );
    assert_eq!(outcome.buffer("r"), [2; 32]);
}

#[test]
fn shuffles() {
    let shuffled = |opcode: &str, operands: &str| {
        let body = format!("    v = shfl.{opcode}.b32 i, {operands}\n    st.global.u32 r[i], v\n    ret\n");
        run_blocks("", &body).buffer("r").to_vec()
    };
    let lanes = |of: fn(u64) -> u64| (0..32).map(of).collect::<Vec<u64>>();
    assert_eq!(shuffled("idx", "5, 31"), [5; 32]);
    assert_eq!(shuffled("bfly", "1, 31"), lanes(|i| i ^ 1));
    assert_eq!(shuffled("down", "3, 31"), lanes(|i| if i + 3 < 32 { i + 3 } else { i }));
    assert_eq!(shuffled("up", "3, 0"), lanes(|i| i.checked_sub(3).unwrap_or(i)));
}

#[test]
fn matches_group_equal_values() {
    let outcome = run_blocks("", "    b = and.b32 i, 3\n    v = match.any.b32 b\n    st.global.u32 r[i], v\n    ret\n");
    let expected: Vec<u64> = (0..32).map(|i| 0x1111_1111 << (i % 4)).collect();
    assert_eq!(outcome.buffer("r"), expected);
}
