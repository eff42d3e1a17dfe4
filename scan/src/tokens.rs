//! Tokens that are known by their own shape, wherever they stand. Boundaries are tested here: what may precede and
//! follow a token depends on what it is made of.

use memchr::memmem;

use crate::{
    alphabet::{Alphabet, is_word},
    detect::{Certainty, Hit},
    encoded,
    shapes::{SHAPES, Shape},
    worth::{entropy, is_stand_in},
};

/// A token with a prefix of the table.
pub(crate) fn shape(text: &[u8], start: usize, number: usize, hits: &mut Vec<Hit>) {
    let shape = &SHAPES[number];
    let from = start + shape.prefix.len();
    let length = shape.body.run(text, from, shape.most);
    let is_checked = shape.kind == "github_token" && shape.body == Alphabet::Alnum;
    if is_checked && length >= GITHUB_BODY && has_checksum(&text[from..from + GITHUB_BODY]) {
        // Chance does not get thirty-two bits right: no boundary is asked for.
        hits.push(hit(start, from + GITHUB_BODY, shape.kind));
        return;
    }
    if !(shape.least..=shape.most).contains(&length) || !is_edge(text, start, shape.edge) {
        return;
    }
    let body = &text[from..from + length];
    let body = body.trim_ascii_end();
    if is_stand_in(body)
        || entropy(body) < LEAST_ENTROPY
        || !is_built(shape, body)
        || is_in_media(text, start, from + length)
    {
        return;
    }
    // OpenAI's own mark, under a prefix that others use too.
    let is_openai = memmem::find(body, b"T3BlbkFJ").is_some();
    hits.push(hit(start, from + length, if is_openai { "openai_key" } else { shape.kind }));
    if shape.kind == "aws_key_id" {
        hits.extend(aws_secret_beside(text, start, from + length));
    }
}

/// What the table cannot say of a body.
fn is_built(shape: &Shape, body: &[u8]) -> bool {
    let is_hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    let digits = body.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = body.iter().filter(|b| b.is_ascii_alphabetic()).count();
    match shape.prefix {
        // A bare prefix says little: the rest must be of a machine's making.
        "sk-" | "hf_" | "ntn_" | "secret_" | "gsk_" | "csk-" => {
            letters > 0 && (digits > 1 || body.len() >= 30 && has_both_cases(body))
        }
        "lsv2_pt_" | "lsv2_sk_" => body[32] == b'_' && is_hex(&body[..32]) && is_hex(&body[33..]),
        "SG." => body[22] == b'.' && !body[..22].contains(&b'.') && !body[23..].contains(&b'.'),
        "glsa_" => body[32] == b'_' && is_hex(&body[33..]),
        "PMAK-" => body[24] == b'-' && is_hex(&body[..24]),
        "xapp-" => body[0].is_ascii_digit() && body[1] == b'-',
        "github_pat_" => !body.contains(&b'-'),
        _ => digits > 0 || has_both_cases(body) || body.len() >= 30 || shape.body == Alphabet::Base32,
    }
}

/// `header.payload.signature`, the header being JSON that names an algorithm.
pub(crate) fn jwt(text: &[u8], start: usize) -> Option<Hit> {
    if !text[start..].starts_with(b"eyJ") || !is_edge(text, start, Alphabet::Word) {
        return None;
    }
    let segment = |from: usize| {
        let length = Alphabet::Word.run(text, from, MOST_SEGMENT);
        (length <= MOST_SEGMENT).then_some(from + length)
    };
    let header = segment(start)?;
    let payload = (text.get(header) == Some(&b'.')).then(|| segment(header + 1)).flatten()?;
    let signature = (text.get(payload) == Some(&b'.')).then(|| segment(payload + 1)).flatten()?;
    if header - start < 15 || payload - header < 10 || !names_an_algorithm(&text[start..header]) {
        return None;
    }
    let is_dead = signature - payload < 9 || is_stand_in(&text[payload + 1..signature]);
    (!is_dead).then(|| hit(start, signature, "jwt"))
}

/// Three characters, a digit, `Q~`, and more.
pub(crate) fn azure_secret(text: &[u8], at: usize) -> Option<Hit> {
    let start = at.checked_sub(4)?;
    let is_part = |b: &u8| is_word(*b) || matches!(b, b'~' | b'.');
    let length = text[at + 2..].iter().take(36).take_while(|b| is_part(b)).count();
    let is_shaped = text[at] == b'Q'
        && text[start..start + 3].iter().all(is_part)
        && text[start + 3].is_ascii_digit()
        && (31..=34).contains(&length)
        && start.checked_sub(1).is_none_or(|before| !is_part(&text[before]))
        && !is_stand_in(&text[at + 2..at + 2 + length]);
    is_shaped.then(|| hit(start, at + 2 + length, "azure_secret"))
}

/// `123456789:AA…`
pub(crate) fn telegram(text: &[u8], at: usize) -> Option<Hit> {
    let digits = text[..at].iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count();
    let body = &text[at + 1..];
    let length = Alphabet::Word.run(body, 0, 35);
    let is_shaped =
        (8..=10).contains(&digits) && length == 35 && body.starts_with(b"AA") && !is_stand_in(&body[2..35]);
    is_shaped.then(|| hit(at - digits, at + 36, "telegram_token"))
}

/// `XXXXXXXXXXXXXX.atlasv1.…`
pub(crate) fn terraform(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let before = text[..start].iter().rev().take(15).take_while(|b| b.is_ascii_alphanumeric()).count();
    let length = Alphabet::Word.run(text, end, 80);
    let is_shaped = before == 14 && (50..=80).contains(&length) && !is_stand_in(&text[end..end + length]);
    is_shaped.then(|| hit(start - before, end + length, "terraform_token"))
}

/// Forty characters that say nothing of themselves, near the id they belong to.
fn aws_secret_beside(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let window = start.saturating_sub(AWS_NEAR)..(end + AWS_NEAR).min(text.len());
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'+');
    let mut at = window.start;
    for run in text[window].chunk_by(|a, b| is_part(a) == is_part(b)) {
        if run.len() == 40
            && is_part(&run[0])
            && has_both_cases(run)
            && run.iter().any(u8::is_ascii_digit)
            && !is_stand_in(run)
        {
            return Some(hit(at, at + 40, "aws_secret_key"));
        }
        at += run.len();
    }
    None
}

/// GitHub writes a CRC-32 of a token into its last six characters.
fn has_checksum(body: &[u8]) -> bool {
    let (random, sum) = body.split_at(GITHUB_BODY - 6);
    let mut rest = crc32fast::hash(random);
    sum.iter().rev().all(|character| {
        let digit = BASE62[rest as usize % 62];
        rest /= 62;
        digit == *character
    }) && !is_stand_in(random)
}

fn names_an_algorithm(header: &[u8]) -> bool {
    let text = encoded::base64(header);
    text.starts_with(b"{")
        && [&b"\"alg\""[..], b"\"typ\"", b"\"enc\""].iter().any(|name| memmem::find(&text, name).is_some())
}

fn is_edge(text: &[u8], start: usize, edge: Alphabet) -> bool {
    start.checked_sub(1).is_none_or(|before| !edge.has(text[before]))
}

/// Inside a long run of base64, chance writes every short prefix.
fn is_in_media(text: &[u8], start: usize, end: usize) -> bool {
    let is_part = |b: &&u8| is_word(**b) || matches!(b, b'+' | b'/');
    let before = text[..start].iter().rev().take(MEDIA).take_while(is_part).count();
    let behind = text[end..].iter().take(MEDIA).take_while(is_part).count();
    before + behind >= MEDIA
}

pub(crate) fn has_both_cases(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_lowercase) && body.iter().any(u8::is_ascii_uppercase)
}

fn hit(start: usize, end: usize, kind: &'static str) -> Hit {
    Hit { start, end, kind, certainty: Certainty::Shape }
}

const GITHUB_BODY: usize = 36;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const MOST_SEGMENT: usize = 16 << 10;
const AWS_NEAR: usize = 200;
/// More than any path or name that a token may stand in.
const MEDIA: usize = 256;
const LEAST_ENTROPY: f64 = 2.4;
