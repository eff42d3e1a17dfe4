//! "Did you mean": the help for a word that is not among those we know.

/// Names the nearest known word, or all of them if none is near.
pub(crate) fn help(given: &str, known: &[&str]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    Some(match nearest(given, known) {
        Some(word) => format!("did you mean `{word}`?"),
        None => {
            let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            format!("known here: {}", known.join(", "))
        }
    })
}

/// The word that may have been meant, if one is near enough to be a slip of the finger.
pub(crate) fn nearest<'w>(given: &str, words: &[&'w str]) -> Option<&'w str> {
    // A hostile word may be a megabyte long; nothing that long is a slip of the finger.
    let candidates = words.iter().filter(|word| word.len().max(given.len()) <= LONGEST);
    candidates
        .map(|word| (strsim::damerau_levenshtein(given, word), *word))
        .min()
        .filter(|(distance, word)| *distance <= word.len().max(given.len()).div_ceil(3))
        .map(|(_, word)| word)
}

const LONGEST: usize = 64;
