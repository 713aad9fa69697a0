//! Advice about the length of a link.

/// Lengths in characters up to which links work: in every chat, in phones' address bars, and in all address bars.
const LINK_LIMITS: [usize; 3] = [2_000, 8_000, 32_000];

/// A warning about a link that is too long for some; none for one that works everywhere.
pub fn link_advice(length: usize) -> Option<&'static str> {
    match LINK_LIMITS.iter().position(|&limit| length <= limit) {
        Some(0) => None,
        Some(1) => Some("Some chat programs cut links of more than 2,000 characters."),
        Some(_) => Some("Too long for phones (over 8,000 characters). Send the file instead."),
        None => Some("Too long for address bars. Send the file instead."),
    }
}
