//! A `profile path` or `profile edge` written into the text of a program.
//!
//! ```text
//! kernel k() {                   kernel k() {
//! a:                             a:
//!     ret                ──▶         ret
//!     profile path {                 profile path {
//!         a: 1                           a: 2
//!     }                              }
//! }                              }
//! ```
//!
//! Linear in the text. Limit: only where the paths are of the blocks that the text has, and what comes out can be read.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ir::{Block, Function};
use crate::text::parse;

/// A profile that is written as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextProfile {
    /// Paths, as their blocks.
    Path,
    /// Edges, as their two blocks.
    Edge,
}

impl TextProfile {
    const fn word(self) -> &'static str {
        match self {
            TextProfile::Path => "path",
            TextProfile::Edge => "edge",
        }
    }

    const fn separator(self) -> &'static str {
        match self {
            TextProfile::Path => " ",
            TextProfile::Edge => " -> ",
        }
    }
}

/// The source with these frequencies in the place of the profile of that kind that a function has there. `func` is the
/// function at a position, `start` the same function as it was read.
pub fn declared_in(
    source: &str,
    start: &Function,
    func: &Function,
    kind: TextProfile,
    paths: &[(&[Block], u64)],
) -> Option<String> {
    let names: BTreeMap<Block, &str> =
        start.block_order().map(|block| (block, start.blocks[block].name.as_str())).collect();
    let has_name = |&block: &Block| {
        let name = func.blocks.get(block).map(|data| data.name.as_str());
        name.is_some() && names.get(&block).copied() == name
    };
    if paths.is_empty() || !paths.iter().all(|(blocks, _)| blocks.iter().all(has_name)) {
        return None;
    }
    let line = |(blocks, frequency): &(&[Block], u64)| {
        let names: Vec<&str> = blocks.iter().map(|&block| func.blocks[block].name.as_str()).collect();
        format!("        {}: {frequency}\n", names.join(kind.separator()))
    };
    let lines: Vec<String> = paths.iter().map(line).collect();
    let block = format!("    profile {} {{\n{}    }}\n", kind.word(), lines.concat());
    let body = start.block_spans[start.entry_block()?].start as usize;
    replaced_in(source, body, kind, &block).filter(|text| !parse(text).has_errors())
}

/// Puts a block of text in the place of the profiles of a kind, in the kernel whose body is at an offset. Without one
/// the block comes at the end of the kernel.
fn replaced_in(source: &str, body: usize, kind: TextProfile, block: &str) -> Option<String> {
    let mut text = source.get(..body)?.to_owned();
    let (mut depth, mut at) = (1usize, None);
    let mut inside = false;
    let mut lines = source.get(body..)?.split_inclusive('\n');
    for line in lines.by_ref() {
        let code = line.split("//").next().unwrap_or("");
        let words: Vec<&str> = code.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let begins = depth == 1
            && words.first() == Some(&"profile")
            && words.get(1).is_some_and(|word| word.starts_with(kind.word()));
        inside |= begins;
        if begins && at.is_none() {
            at = Some(text.len());
        }
        for brace in code.matches(['{', '}']) {
            depth = if brace == "{" { depth + 1 } else { depth.checked_sub(1)? };
        }
        if depth == 0 {
            // The kernel ends here.
            at = at.or(Some(text.len()));
            text.push_str(line);
            break;
        }
        if !inside {
            text.push_str(line);
        }
        inside &= depth > 1;
    }
    text.insert_str(at?, block);
    text.extend(lines);
    (depth == 0).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{TextProfile, replaced_in};
    use alloc::format;

    #[test]
    fn a_profile_is_written_where_one_was_or_at_the_end() {
        let source = "kernel k() {\na:\n    ret // }\n    profile path {\n        a: 1\n    }\n}\nlaunch k {\n}\n";
        let at = source.find("a:").expect("a block");
        let new = "    profile path {\n        a: 2\n    }\n";
        assert_eq!(
            replaced_in(source, at, TextProfile::Path, new).as_deref(),
            Some(source.replace("a: 1", "a: 2").as_str())
        );
        let bare = "kernel k() {\na:\n    ret\n}\n";
        assert_eq!(
            replaced_in(bare, at, TextProfile::Path, new),
            Some(format!("kernel k() {{\na:\n    ret\n{new}}}\n"))
        );
        assert_eq!(replaced_in("kernel k() {\na:\n", at, TextProfile::Path, new), None);
        assert_eq!(replaced_in("ä", 1, TextProfile::Path, new), None);
        assert_eq!(replaced_in("}}", 0, TextProfile::Path, new), None);
    }

    #[test]
    fn each_kind_of_profile_is_replaced_alone() {
        let source = "kernel k() {\na:\n    ret\n    profile path {\n        a: 1\n    }\n    profile edge {\n        \
                      a -> a: 1\n    }\n}\n";
        let at = source.find("a:").expect("a block");
        let new = "    profile edge {\n        a -> a: 2\n    }\n";
        let wanted = source.replace("a -> a: 1", "a -> a: 2");
        assert_eq!(replaced_in(source, at, TextProfile::Edge, new), Some(wanted));
    }
}
