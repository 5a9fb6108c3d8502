//! tiktoken files: on each line a token's bytes in base64, a space and its id.
//!
//! ```text
//! IQ== 0          !
//! Ig== 1          "
//! ```
//!
//! The format has no special tokens. Those of the public files are listed here; a file is
//! recognised by a hash of its tokens, so that its name does not matter.

use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::draft::VocabularyDraft;
use crate::vocabulary::token_table::{TokenKind, TokenTable};

/// The special tokens of a public tiktoken file.
struct PublicVocabulary {
    /// [`fingerprint`] of its tokens.
    fingerprint: u64,
    /// Ids and names of its special tokens.
    special: &'static [(u32, &'static str)],
    /// Ids of the end tokens.
    end: &'static [u32],
    /// Further special tokens `<|reserved_special_token_N|>`: the first id and N, the last id.
    reserved: Option<(u32, u32, u32)>,
}

const PUBLIC_VOCABULARIES: [PublicVocabulary; 5] = [
    // o200k_base
    PublicVocabulary {
        fingerprint: 0xC7BA_5F03_2878_1837,
        special: &[(199_999, "<|endoftext|>"), (200_018, "<|endofprompt|>")],
        end: &[199_999],
        reserved: None,
    },
    // cl100k_base
    PublicVocabulary {
        fingerprint: 0x2DB9_2C64_BF46_2D4A,
        special: &[
            (100_257, "<|endoftext|>"),
            (100_258, "<|fim_prefix|>"),
            (100_259, "<|fim_middle|>"),
            (100_260, "<|fim_suffix|>"),
            (100_276, "<|endofprompt|>"),
        ],
        end: &[100_257],
        reserved: None,
    },
    // p50k_base
    PublicVocabulary {
        fingerprint: 0xC506_AB96_CF61_9D60,
        special: &[(50_256, "<|endoftext|>")],
        end: &[50_256],
        reserved: None,
    },
    // r50k_base, which is GPT-2's
    PublicVocabulary {
        fingerprint: 0xCB47_5F81_E570_C65C,
        special: &[(50_256, "<|endoftext|>")],
        end: &[50_256],
        reserved: None,
    },
    // Llama 3, with the names of 3.1 and later
    PublicVocabulary {
        fingerprint: 0x02ED_9C0A_DE6E_0D96,
        special: &[
            (128_000, "<|begin_of_text|>"),
            (128_001, "<|end_of_text|>"),
            (128_002, "<|reserved_special_token_0|>"),
            (128_003, "<|reserved_special_token_1|>"),
            (128_004, "<|finetune_right_pad_id|>"),
            (128_005, "<|reserved_special_token_2|>"),
            (128_006, "<|start_header_id|>"),
            (128_007, "<|end_header_id|>"),
            (128_008, "<|eom_id|>"),
            (128_009, "<|eot_id|>"),
            (128_010, "<|python_tag|>"),
        ],
        end: &[128_001, 128_008, 128_009],
        reserved: Some((128_011, 3, 128_255)),
    },
];

/// Reads a tiktoken file.
///
/// Errors, with the line, on a line that is no entry and on an id that is given twice.
pub(crate) fn read(text: &[u8]) -> Result<VocabularyDraft> {
    let mut draft = VocabularyDraft::default();
    let mut bytes = Vec::new();
    for (index, line) in text.split(|&b| b == b'\n').enumerate() {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        let broken = |why: &str| {
            Error::new(ErrorKind::Vocabulary, why)
                .at_line_column(index + 1, 1)
                .with_help("a line of a tiktoken file is a token in base64, a space and its id")
        };
        let id = entry(line, &mut bytes).ok_or_else(|| broken("not a line of a tiktoken file"))?;
        if draft.table.kind(id) != TokenKind::Missing {
            return Err(broken(&format!("id {id} is given twice")));
        }
        draft.table.set(id, &bytes, TokenKind::Text)?;
    }
    if draft.table.len() == 0 {
        return Err(Error::new(ErrorKind::Vocabulary, "the tiktoken file is empty"));
    }
    let found = fingerprint(&draft.table);
    if let Some(public) = PUBLIC_VOCABULARIES.iter().find(|public| public.fingerprint == found) {
        add_special(&mut draft, public)?;
    }
    Ok(draft)
}

/// Adds the special tokens that the file itself does not name.
fn add_special(draft: &mut VocabularyDraft, public: &PublicVocabulary) -> Result<()> {
    let named = public.special.iter().map(|&(id, name)| (id, name.to_owned()));
    let reserved = public.reserved.into_iter().flat_map(|(first, number, last)| {
        (first..=last)
            .map(move |id| (id, format!("<|reserved_special_token_{}|>", id - first + number)))
    });
    for (id, name) in named.chain(reserved) {
        draft.table.set(id, b"", TokenKind::Special)?;
        draft.names.push((id, name));
    }
    draft.end = public.end.to_vec();
    Ok(())
}

/// Parses a line: returns the id and puts the token's bytes into `bytes`, which is cleared first.
fn entry(line: &[u8], bytes: &mut Vec<u8>) -> Option<u32> {
    let space = line.iter().position(|&b| b == b' ')?;
    bytes.clear();
    decode_base64(&line[..space], bytes)?;
    let id = &line[space + 1..];
    let digits = !id.is_empty() && id.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(id).ok().filter(|_| digits)?.parse().ok()
}

/// Appends the bytes of base64 text with padding (RFC 4648, section 4); `None` on other text.
fn decode_base64(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|&&b| b == b'=').count();
    if padding > 2 {
        return None;
    }
    for group in text[..text.len() - padding].chunks(4) {
        let mut bits = 0;
        for &digit in group {
            bits = bits << 6 | u32::from(base64_digit(digit)?);
        }
        // A short last group holds one or two bytes, and the bits beyond them are dropped.
        bits <<= 6 * (4 - group.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(())
}

fn base64_digit(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// FNV-1a (64 bits) over each token's length and bytes, in the order of ids. It only distinguishes
/// public files: a file that is made to collide gets the other one's special tokens, nothing else.
fn fingerprint(table: &TokenTable) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    for id in 0..table.len() as u32 {
        let bytes = table.text(id).unwrap_or_default();
        add(bytes.len() as u8);
        bytes.iter().copied().for_each(&mut add);
    }
    hash
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_base64_and_ids() {
        let draft = read(b"IQ== 0\r\n\nIiM= 2\nJCUm 1\n/w== 5").unwrap();
        let text: Vec<_> = (0..6).map(|id| draft.table.text(id)).collect();
        let expected: [Option<&[u8]>; 6] =
            [Some(b"!"), Some(b"$%&"), Some(b"\"#"), None, None, Some(b"\xFF")];
        assert_eq!(text, expected);
        assert!(draft.end.is_empty());
    }

    #[test]
    fn other_lines_are_refused_with_their_number() {
        for line in [
            "IQ==",
            "IQ= 1",
            "IQ 1",
            "I=== 1",
            "I!== 1",
            "IQ== +1",
            "IQ== ",
            "IQ==  1",
            "IQ== 0x1",
            "IQ== 99999999999",
            "IQ== 0",
            "{",
            "IQ==\t1",
        ] {
            let error = read(format!("IQ== 0\n{line}\n").as_bytes()).err().unwrap();
            assert!(error.to_string().starts_with("line 2, column 1: "), "{line}: {error}");
        }
        assert!(read(b"\n\n").is_err());
        assert!(read(b"IQ== 4000000000").is_err());
    }

    proptest! {
        #[test]
        fn base64_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let mut text = Vec::new();
            for group in bytes.chunks(3) {
                let bits = group.iter().fold(0, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - group.len()));
                let digit = |i| DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
                text.extend((0..4).map(|i| if i <= group.len() { digit(i) } else { b'=' }));
            }
            let mut out = Vec::new();
            decode_base64(&text, &mut out).unwrap();
            prop_assert_eq!(out, bytes);
        }
    }
}
