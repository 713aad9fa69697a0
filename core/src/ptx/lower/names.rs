//! Turns PTX names into names of the text IR.
//!
//! ```text
//! %r12 → r12     $L__BB0_2 → L__BB0_2     %SP → SP     $str$1 → str_1     12 → L12
//! ```
//!
//! The text IR has letters, digits and underscores only, and reads `inf` and `nan` as numbers.

use alloc::format;
use alloc::string::String;

/// The name without its sigils, in the characters of the text IR. Two names may become one; the caller numbers them.
pub fn clean(name: &str) -> String {
    let bare = name.trim_start_matches(['%', '$']);
    let mut clean: String = bare.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if clean.is_empty() || clean.starts_with(|c: char| c.is_ascii_digit()) {
        clean.insert(0, 'L');
    }
    if matches!(clean.as_str(), "inf" | "nan") {
        clean.push('_');
    }
    clean
}

/// The name that LLVM's numbering gives a block without a label: blocks are `$L__BBf_0`, `$L__BBf_1`, … in order of
/// creation, and only those that a branch names get their label printed. So the block that falls out of
/// `L__BB0_2` is `L__BB0_3`, and the one that falls out of the entry is number 1. `None` where the labels are not
/// LLVM's.
pub fn fallthrough(previous: &str, labels: &str) -> Option<String> {
    let (stem, _) = split(labels)?;
    let number = split(previous).filter(|(own, _)| *own == stem).map_or(0, |(_, number)| number);
    Some(format!("{stem}{}", number.checked_add(1)?))
}

fn split(label: &str) -> Option<(&str, u32)> {
    let at = label.strip_prefix("L__BB")?.rfind('_')? + "L__BB".len() + 1;
    Some((&label[..at], label[at..].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_sigils() {
        for (ptx, wir) in
            [("%r12", "r12"), ("$L__BB0_2", "L__BB0_2"), ("$str$1", "str_1"), ("12", "L12"), ("%nan", "nan_")]
        {
            assert_eq!(clean(ptx), wir);
        }
    }

    #[test]
    fn blocks_without_labels_get_the_number_llvm_gave_them() {
        assert_eq!(fallthrough("entry", "L__BB0_4").as_deref(), Some("L__BB0_1"));
        assert_eq!(fallthrough("L__BB0_2", "L__BB0_4").as_deref(), Some("L__BB0_3"));
        assert_eq!(fallthrough("entry", "loop"), None);
    }
}
