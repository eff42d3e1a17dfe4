//! Whether a file calls itself a cassette without saying which rules scrubbed it.

/// Cassettes carry a `redaction:` mapping at their top, from the scrubber that wrote them.
pub(crate) fn is_unscrubbed(bytes: &[u8]) -> bool {
    let mut is_cassette = false;
    let head = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for line in head[..head.len().min(HEAD)].split(|b| *b == b'\n') {
        if let Some(version) = line.strip_prefix(b"wiretape:") {
            let version = version.trim_ascii_start();
            let version = version.strip_prefix(b"'").or(version.strip_prefix(b"\"")).unwrap_or(version);
            is_cassette = version.starts_with(b"cassette/");
        }
        let is_lead = line.trim_ascii().is_empty() || line.starts_with(b"#") || line.starts_with(b"---");
        if line.starts_with(b"redaction:") || !(is_cassette || is_lead) {
            // A page that shows a cassette is none.
            return false;
        }
        // Everything that speaks of the whole cassette stands above them.
        if line.starts_with(b"exchanges:") {
            break;
        }
    }
    is_cassette
}

/// More than may stand above the exchanges.
const HEAD: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_without_a_redaction_mapping_is_told_from_one_with_it() {
        assert!(is_unscrubbed(b"wiretape: cassette/1\nexchanges: []\n"));
        assert!(!is_unscrubbed(b"wiretape: cassette/1\nredaction:\n  ruleset: 2\nexchanges: []\n"));
        assert!(!is_unscrubbed(b"wiretape: overlay/1\noverlays: []\n"));
        assert!(is_unscrubbed(b"# ours\n---\nwiretape: 'cassette/1'\nexchanges: []\n"));
        assert!(!is_unscrubbed(b"a file that says\nwiretape: cassette/1\n"));
    }

    #[test]
    fn a_redaction_mapping_among_the_exchanges_does_not_count() {
        assert!(is_unscrubbed(b"wiretape: cassette/1\nexchanges:\nredaction:\n"));
    }
}
