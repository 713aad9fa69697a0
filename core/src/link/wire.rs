//! Bytes in an address, and how to find them after mail, chat programs and browsers handled it.
//!
//! ```text
//! JSON ──deflate──▶ CRC-32 of the JSON, length, deflated bytes ──base64url──▶ #v2.3q2-7w…
//! ```
//!
//! 1. Percent escapes are undone; white space, invisible characters, `>` at line starts (quotations) and `=`
//!    (quoted-printable line ends, padding) are skipped.
//! 2. Each `#` may begin a link. The longest one is read: Markdown may show a shortened one before it.
//! 3. A payload ends at the first other character, such as `.`, `)`, `>` or `&`; `+` and `/` are read as `-` and `_`.
//!    What follows the end of the deflated bytes is ignored.
//!
//! A damaged link passes the checksum once in 2³² times. The length tells a shortened link from a changed one.
//! Version 1 (`#v1.d:…`) has neither.
//!
//! Cost: linear in the text; at most [`MAX_TEXT_BYTES`] are decompressed.
//!
//! Source: RFC 1951 (deflate), RFC 4648 section 5 (base64url, without padding), ISO 3309 (CRC-32).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

use super::{LinkError, MAX_TEXT_BYTES};
use crate::text::invisible_name;

/// Longer payloads are refused unread: random text of the largest size, deflated and encoded, is shorter.
pub(super) const MAX_PAYLOAD_CHARS: usize = 2 * MAX_TEXT_BYTES;

/// Effort of miniz_oxide, of 10. Links are written once and sent often.
const COMPRESSION_LEVEL: u8 = 10;

/// Bytes of a version 2 payload before the deflated ones: the checksum and the length, little-endian.
const HEADER_BYTES: usize = 4 + 3;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The fragment of an address, `#` included, that holds `json`.
pub(super) fn write(json: &str) -> String {
    let deflated = compress_to_vec(json.as_bytes(), COMPRESSION_LEVEL);
    let mut bytes = Vec::with_capacity(HEADER_BYTES + deflated.len());
    bytes.extend(crc32(json.as_bytes()).to_le_bytes());
    bytes.extend(&(deflated.len() as u32).to_le_bytes()[..3]);
    bytes.extend(deflated);
    let mut link = String::from("#v2.");
    encode_base64(&bytes, &mut link);
    link
}

/// The JSON of the link in `text`.
pub(super) fn read(text: &str) -> Result<String, LinkError> {
    let text = clean(text);
    let starts = text.match_indices('#').map(|(at, _)| at + 1);
    // A fragment may come without its `#`, with a quotation mark or a bracket before it.
    let lone = text.find(|letter: char| letter.is_ascii_alphanumeric()).filter(|_| !text.contains('#'));
    let payload =
        starts.chain(lone).filter_map(|start| Payload::find(&text, start)).max_by_key(|found| found.end - found.start);
    let payload = payload.ok_or(LinkError::NotALink)?;
    let characters = payload.end - payload.start;
    if characters > MAX_PAYLOAD_CHARS {
        return Err(LinkError::PayloadTooLong);
    }
    let bytes = decode_base64(&text[payload.start..payload.end]);
    match payload.version {
        "v1" => inflate(&bytes).map_err(|status| match status {
            TINFLStatus::HasMoreOutput => LinkError::TooLarge,
            TINFLStatus::FailedCannotMakeProgress => payload.cut(&text, None),
            _ => LinkError::Damaged,
        }),
        "v2" => {
            let Some((&[a, b, c, d, low, middle, high], deflated)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
                return Err(payload.cut(&text, None));
            };
            let checksum = u32::from_le_bytes([a, b, c, d]);
            inflate(deflated).ok().filter(|json| crc32(json.as_bytes()) == checksum).ok_or_else(|| {
                let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
                let missing = ((HEADER_BYTES + length) * 8).div_ceil(6).saturating_sub(characters);
                if missing > 0 { payload.cut(&text, Some(missing)) } else { LinkError::Damaged }
            })
        }
        version => Err(LinkError::UnknownVersion(version.to_string())),
    }
}

/// A link within a cleaned text.
struct Payload<'a> {
    /// Such as `v2`.
    version: &'a str,
    /// Start of its fragment.
    fragment: usize,
    start: usize,
    end: usize,
}

impl<'a> Payload<'a> {
    /// The link whose fragment begins at byte `at`, if that is one.
    fn find(text: &'a str, at: usize) -> Option<Payload<'a>> {
        const MAX_DIGITS: usize = 4;
        let fragment = &text[at..];
        let digits = fragment.strip_prefix('v')?.bytes().take(MAX_DIGITS).take_while(u8::is_ascii_digit).count();
        let version = &fragment[..1 + digits];
        let rest = fragment[version.len()..].strip_prefix('.').filter(|_| digits > 0)?;
        let payload = if version == "v1" { rest.strip_prefix("d:").unwrap_or(rest) } else { rest };
        let length = payload.bytes().position(|byte| digit_of(byte).is_none()).unwrap_or(payload.len());
        let start = text.len() - payload.len();
        Some(Payload { version, fragment: at, start, end: start + length })
    }

    /// The error of a link that ends too early. Its characters count from the start of the address.
    fn cut(&self, text: &str, missing: Option<usize>) -> LinkError {
        let (kept, rest) = text.split_at(self.end);
        let address = text[..self.fragment].rfind("http").unwrap_or(self.fragment.saturating_sub(1));
        LinkError::Cut { after: kept[address..].chars().count(), missing, found: rest.chars().next() }
    }
}

/// The text without percent escapes and without what programs put into a long address.
fn clean(text: &str) -> String {
    let text = decode_percents(text);
    let mut at_line_start = true;
    let mut keep = |letter: char| {
        if matches!(letter, '\n' | '\r') {
            at_line_start = true;
        }
        let is_skipped = letter.is_whitespace()
            || invisible_name(letter).is_some()
            || letter == '='
            || (letter == '>' && at_line_start);
        at_line_start &= is_skipped;
        !is_skipped
    };
    text.chars().filter(|&letter| keep(letter)).collect()
}

fn decode_percents(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| core::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%');
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The six bits of a character of base64 or base64url.
fn digit_of(character: u8) -> Option<u32> {
    let digit = match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'-' | b'+' => 62,
        b'_' | b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}

fn encode_base64(bytes: &[u8], text: &mut String) {
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        text.extend((0..=chunk.len()).map(|digit| char::from(ALPHABET[(bits >> (18 - 6 * digit)) as usize & 63])));
    }
}

/// The whole bytes of `text`; bits that fill none are left out.
fn decode_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0, 0);
    for digit in text.bytes().filter_map(digit_of) {
        bits = bits << 6 | digit;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

fn inflate(deflated: &[u8]) -> Result<String, TINFLStatus> {
    let json = decompress_to_vec_with_limit(deflated, MAX_TEXT_BYTES).map_err(|error| error.status)?;
    String::from_utf8(json).map_err(|_| TINFLStatus::Failed)
}

fn crc32(bytes: &[u8]) -> u32 {
    const REVERSED_POLYNOMIAL: u32 = 0xEDB8_8320;
    !bytes.iter().fold(!0, |checksum, &byte| {
        (0..8).fold(checksum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (REVERSED_POLYNOMIAL * (sum & 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_matches_published_value() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn both_alphabets_decode_to_the_same_bytes() {
        assert_eq!(decode_base64("-_-_"), [0xFB, 0xFF, 0xBF]);
        assert_eq!(decode_base64("+/+/"), decode_base64("-_-_"));
        assert_eq!(decode_base64("AAE"), [0, 1]);
        assert_eq!(decode_base64("AAEA"), [0, 1, 0]);
        assert!(decode_base64("A").is_empty());
    }

    #[test]
    fn version_1_reads_what_it_always_read() {
        let link = |json: &[u8]| {
            let mut link = String::from("#v1.d:");
            encode_base64(&compress_to_vec(json, COMPRESSION_LEVEL), &mut link);
            link
        };
        let small = link(b"{}");
        assert_eq!(read(&small).as_deref(), Ok("{}"));
        assert_eq!(read(&small.replace(':', "%3A")).as_deref(), Ok("{}"));
        assert!(matches!(read(&small[..small.len() - 2]), Err(LinkError::Cut { missing: None, .. })));
        assert_eq!(read(&link(b"\xFF")), Err(LinkError::Damaged));
        assert_eq!(read(&link(&[b' '; 64 * MAX_TEXT_BYTES])), Err(LinkError::TooLarge));
    }

    #[test]
    fn cleaning_keeps_what_an_address_has() {
        assert_eq!(clean("> https://a.b/%23v1.d%3Aab=\r\n> > c\u{AD}d%E2%80%8Be%"), "https://a.b/#v1.d:abcde%");
    }
}
