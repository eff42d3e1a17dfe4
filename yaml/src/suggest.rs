//! "Did you mean": the help for a word that is not among those we know.

/// Names the nearest known word, or all of them if none is near.
pub(crate) fn help(given: &str, known: &[&str]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    // A hostile word may be a megabyte long; nothing that long is a slip of the finger.
    let nearest = (given.len() <= LONGEST)
        .then(|| {
            known
                .iter()
                .map(|word| (strsim::damerau_levenshtein(given, word), *word))
                .min()
        })
        .flatten()
        .filter(|(distance, word)| *distance <= word.len().max(given.len()).div_ceil(3));
    Some(match nearest {
        Some((_, word)) => format!("did you mean `{word}`?"),
        None => {
            let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            format!("known here: {}", known.join(", "))
        }
    })
}

const LONGEST: usize = 64;
