//! Shapes with a rule of their own. Each is told where the mark stands and says where the token does.

use std::ops::Range;

use super::{Letters, is_word};

/// `sk-` alone: the old OpenAI form, DeepSeek's, and what others hand out.
pub(super) fn bare_sk(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let run = word(text, &mark)?;
    let tail = &text[mark.end..run.end];
    let has = |of: fn(&u8) -> bool| tail.iter().any(of);
    let is_old = tail.len() == 48 && tail.iter().all(u8::is_ascii_alphanumeric);
    let is_lower = tail.len() == 32 && tail.iter().all(|b| Letters::Lower.holds(*b));
    // Words with hyphens are no key; a key of this length has all three.
    let is_long =
        (40..=200).contains(&tail.len()) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    ((is_old || is_lower || is_long) && has(u8::is_ascii_digit) && Letters::Word.is_varied(tail))
        .then_some(run)
}

pub(super) fn google_refresh(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let run = word(text, &mark)?;
    let tail = &text[mark.end..run.end];
    let is_drawn = tail.iter().any(u8::is_ascii_digit) && tail.iter().any(u8::is_ascii_uppercase);
    (tail.len() >= 30 && is_drawn && Letters::Word.is_varied(tail)).then_some(run)
}

/// Forty characters of base64 that stand behind a name, with what assigns them in between.
pub(super) fn behind_a_name(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let gap = text[mark.end..].iter().take(8).take_while(|b| b" \t\"'\\:=>".contains(b)).count();
    let start = mark.end + gap;
    let run = text[start..].iter().take(41).take_while(|b| Letters::Base64.holds(**b)).count();
    (gap > 0 && run == 40 && Letters::Base64.is_varied(&text[start..start + 40])).then_some(start..start + 40)
}

/// A value in a connection string.
pub(super) fn base64_behind(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let run = text[mark.end..].iter().take(200).take_while(|b| Letters::Base64.holds(**b)).count();
    (run >= 30 && Letters::Base64.is_varied(&text[mark.end..mark.end + run]))
        .then_some(mark.end..mark.end + run)
}

/// Three letters before the mark, which is a digit and `Q~`, and 31 to 34 behind it.
pub(super) fn azure_secret(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let holds = |b: &u8| Letters::Word.holds(*b) || matches!(b, b'~' | b'.');
    let start = mark.start.checked_sub(3)?;
    let head = &text[start..mark.start];
    let before = start.checked_sub(1).and_then(|before| text.get(before));
    let run = text[mark.end..].iter().take(36).take_while(|b| holds(b)).count();
    let run = run - text[..mark.end + run].iter().rev().take_while(|b| **b == b'.').count().min(run);
    let fits = head.iter().all(holds) && !is_word(before);
    (fits && (31..=34).contains(&run)).then_some(start..mark.end + run)
}

pub(super) fn slack(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let kind = text.get(mark.end)?;
    let has_kind = matches!(kind, b'a' | b'b' | b'e' | b'o' | b'p' | b'r' | b's')
        && text.get(mark.end + 1) == Some(&b'-');
    let run = word(text, &mark).filter(|_| has_kind)?;
    let tail = &text[mark.end + 2..run.end];
    (tail.len() >= 20 && tail.iter().any(u8::is_ascii_digit) && Letters::Word.is_varied(tail)).then_some(run)
}

/// Only what comes behind the host is secret, but all of it.
pub(super) fn slack_webhook(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let holds = |b: &u8| b.is_ascii_alphanumeric() || *b == b'/';
    let run = text[mark.end..].iter().take(120).take_while(|b| holds(b)).count();
    let path = &text[mark.end..mark.end + run];
    let parts = path.split(|b| *b == b'/').count();
    (parts == 3 && run >= 30).then_some(mark.end..mark.end + run)
}

/// A bot's number, a colon, `AA` and 33 more.
pub(super) fn telegram(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let digits = text[..mark.start].iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count();
    let start = mark.start - digits;
    // Telegram puts the word `bot` right before it into a path.
    let before = start.checked_sub(1).and_then(|before| text.get(before));
    let is_bounded = !is_word(before) || text[..start].ends_with(b"/bot");
    let run = text[mark.end..].iter().take(34).take_while(|b| Letters::Word.holds(**b)).count();
    ((8..=11).contains(&digits) && run == 33 && is_bounded).then_some(start..mark.end + run)
}

/// Three parts of base64url with dots between, the first two being JSON objects by their beginning.
pub(super) fn jwt(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    if is_word(mark.start.checked_sub(1).and_then(|before| text.get(before))) {
        return None;
    }
    let part = |from: usize| text[from..].iter().take_while(|b| Letters::Word.holds(**b)).count();
    let head = part(mark.start);
    let second = mark.start + head + 1;
    if head < 17 || text.get(second - 1) != Some(&b'.') || !text[second..].starts_with(b"ey") {
        return None;
    }
    let claims = part(second);
    let third = second + claims + 1;
    if claims < 17 || text.get(third - 1) != Some(&b'.') {
        return None;
    }
    let signature = part(third);
    (signature >= 8).then_some(mark.start..third + signature)
}

/// From `-----BEGIN … PRIVATE KEY` to its end, or to the end of what looks like its content.
pub(super) fn pem(text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let head = &text[mark.end..text.len().min(mark.end + 64)];
    let name_len = memchr::memmem::find(head, b"PRIVATE KEY")?;
    let is_name = head[..name_len].iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ');
    if !is_name {
        return None;
    }
    let body = mark.end + name_len + "PRIVATE KEY".len();
    let rest = &text[body..text.len().min(body + LONGEST_PEM)];
    if let Some(end) = memchr::memmem::find(rest, b"-----END ") {
        let tail = &rest[end + 9..];
        let close = memchr::memmem::find(tail, b"-----").map_or(0, |at| if at < 64 { at + 5 } else { 0 });
        return Some(mark.start..body + end + 9 + close);
    }
    // Cut short: the content itself, with its line breaks in any spelling.
    let holds = |b: &u8| Letters::Base64.holds(*b) || b"- \r\n\\:,".contains(b);
    let run = rest.iter().take_while(|b| holds(b)).count();
    (run >= 20).then_some(mark.start..body + run)
}

/// The run of word letters that starts at the mark, if nothing stands before it.
fn word(text: &[u8], mark: &Range<usize>) -> Option<Range<usize>> {
    if is_word(mark.start.checked_sub(1).and_then(|before| text.get(before))) {
        return None;
    }
    let run = text[mark.end..].iter().take(201).take_while(|b| Letters::Word.holds(**b)).count();
    (run <= 200).then_some(mark.start..mark.end + run)
}

/// A chain of certificates with its key is shorter.
const LONGEST_PEM: usize = 16 * 1024;
