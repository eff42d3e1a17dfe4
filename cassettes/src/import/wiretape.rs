//! What an export of ours carries beyond the format it is in.

use yaml::{Node, Problem};

use super::desk::Desk;

/// Takes the exchange that stands under our own key in a foreign entry, if there is one. `false`: read the entry.
pub(super) fn restore(
    extension: Option<&Node<'_>>,
    entry: &Node<'_>,
    desk: &mut Desk<'_>,
) -> Result<bool, Problem> {
    let _ = (extension, entry, desk);
    Ok(false)
}
