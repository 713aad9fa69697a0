//! A `profile path` written into the text of a program.
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

use super::words::plain_names;
use crate::ir::{Block, Function};
use crate::text::parse;

/// The source with these frequencies in the place of the `profile path` that a function has there. `func` is the
/// function at hand, `start` the same as it was read.
pub(super) fn declared_in(
    source: &str,
    start: &Function,
    func: &Function,
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
        format!("        {}: {frequency}\n", plain_names(func, blocks.iter().copied()))
    };
    let lines: Vec<String> = paths.iter().map(line).collect();
    let block = format!("    profile path {{\n{}    }}\n", lines.concat());
    let body = start.block_spans[start.entry_block()?].start as usize;
    replaced_in(source, body, &block).filter(|text| !parse(text).has_errors())
}

/// Puts a block of text in the place of the `profile path` blocks of the kernel whose body is at an offset, or at the
/// end of that.
fn replaced_in(source: &str, body: usize, block: &str) -> Option<String> {
    let mut text = source.get(..body)?.to_owned();
    let (mut depth, mut at) = (1usize, None);
    let mut inside = false;
    let mut lines = source.get(body..)?.split_inclusive('\n');
    for line in lines.by_ref() {
        let code = line.split("//").next().unwrap_or("");
        let words: Vec<&str> = code.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let begins = depth == 1
            && words.first() == Some(&"profile")
            && words.get(1).is_some_and(|word| word.starts_with("path"));
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
    use super::replaced_in;
    use alloc::format;

    #[test]
    fn a_profile_is_written_where_one_was_or_at_the_end() {
        let source = "kernel k() {\na:\n    ret // }\n    profile path {\n        a: 1\n    }\n}\nlaunch k {\n}\n";
        let at = source.find("a:").expect("a block");
        let new = "    profile path {\n        a: 2\n    }\n";
        assert_eq!(replaced_in(source, at, new).as_deref(), Some(source.replace("a: 1", "a: 2").as_str()));
        let bare = "kernel k() {\na:\n    ret\n}\n";
        assert_eq!(replaced_in(bare, at, new), Some(format!("kernel k() {{\na:\n    ret\n{new}}}\n")));
        assert_eq!(replaced_in("kernel k() {\na:\n", at, new), None);
        assert_eq!(replaced_in("ä", 1, new), None);
        assert_eq!(replaced_in("}}", 0, new), None);
    }
}
