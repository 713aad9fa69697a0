//! Code that several passes share.
//!
//! | room | what is in it | used by |
//! |---|---|---|
//! | `available_copies` | copies that hold at a place, by a walk | copy-prop, const-fold, simplify-cfg |
//! | `branch_slice` | instructions that may make a branch's outcome known | simplify-cfg |
//! | `copies` | an instruction's work done by copies | gvn-cse, late-commoning |
//! | `fresh_knowledge` | blocks where a walk can learn more after edges were removed | simplify-cfg |
//! | `last_assignment` | reads that lose their last assignment | const-fold, simplify-cfg, azp, spec-pre |
//! | `path_guided` | executed paths over nodes and critical edges | pde, spec-pre |
//! | `rounds` | the remark after the last permitted round | passes that repeat |

pub(in crate::pass) mod available_copies;
pub(in crate::pass) mod branch_slice;
pub(in crate::pass) mod copies;
pub(in crate::pass) mod fresh_knowledge;
pub(in crate::pass) mod last_assignment;
pub(in crate::pass) mod path_guided;
pub(in crate::pass) mod rounds;
