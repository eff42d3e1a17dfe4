//! The order in which the stubs of a scenario answer, whichever files they stand in.

use std::collections::{HashMap, hash_map::Entry};

/// When a stub answers, and what comes after it.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) scenario: String,
    /// The state that the scenario must be in; `None`: any.
    pub(super) requires: Option<String>,
    /// The state that the answer leads to.
    pub(super) becomes: Option<String>,
}

/// The places of the exchanges in the order in which they answer. Those without a turn stay where they are, before
/// all that answer later than at first.
pub(super) fn order(turns: &[Option<Turn>]) -> Vec<usize> {
    let steps = steps(turns);
    let step = |turn: &Turn| {
        let Some(state) = turn.requires.as_deref() else { return 0 };
        let reached = steps.get(&(turn.scenario.as_str(), state)).copied();
        // A link of the chain may be missing; recorded states are numbered behind the name.
        reached.or_else(|| state.rsplit('-').next()?.parse().ok()).unwrap_or(u32::MAX)
    };
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by_key(|place| turns[*place].as_ref().map_or(0, step));
    order
}

/// How many answers it takes to bring each scenario into each of its states.
fn steps(turns: &[Option<Turn>]) -> HashMap<(&str, &str), u32> {
    let mut steps = HashMap::new();
    let mut after: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
    let mut reached = Vec::new();
    for turn in turns.iter().flatten() {
        let scenario = turn.scenario.as_str();
        if steps.insert((scenario, STARTED), 0).is_none() {
            reached.push((scenario, STARTED));
        }
        if let Some(next) = turn.becomes.as_deref() {
            let requires = turn.requires.as_deref().unwrap_or(STARTED);
            after.entry((scenario, requires)).or_default().push(next);
        }
    }
    for count in 1.. {
        let mut next = Vec::new();
        for (scenario, state) in reached {
            for state in after.remove(&(scenario, state)).unwrap_or_default() {
                if let Entry::Vacant(unseen) = steps.entry((scenario, state)) {
                    unseen.insert(count);
                    next.push((scenario, state));
                }
            }
        }
        if next.is_empty() {
            break;
        }
        reached = next;
    }
    steps
}

/// The state in which every scenario begins.
const STARTED: &str = "Started";

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(requires: &str, becomes: &str) -> Option<Turn> {
        let state = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Some(Turn { scenario: "cart".into(), requires: state(requires), becomes: state(becomes) })
    }

    #[test]
    fn states_answer_in_the_order_in_which_they_are_reached_whatever_their_names() {
        let turns = [turn("Paid", ""), None, turn("Filled", "Paid"), turn("Started", "Filled"), None];
        assert_eq!(order(&turns), [1, 3, 4, 2, 0]);
    }

    #[test]
    fn a_missing_link_is_bridged_by_the_numbers_of_recorded_states() {
        let turns =
            [turn("scenario-1-x-3", ""), turn("scenario-1-x-2", ""), turn("Started", ""), turn("lost", "")];
        assert_eq!(order(&turns), [2, 1, 0, 3]);
    }

    #[test]
    fn a_scenario_that_goes_round_ends() {
        let turns = [turn("off", "Started"), turn("Started", "off"), turn("", "off")];
        assert_eq!(order(&turns), [1, 2, 0]);
    }
}
