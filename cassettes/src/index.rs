//! A cassette made ready for look-ups: built once, shared by every session that plays it.

use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
    thread,
};

use exchange::{Content, Exchange, Peer, Piece, Request};
use matchers::{Canonical, Key, Policy};

use crate::{
    disguise::{Seen, StandIn, stand_ins},
    format::{Cassette, Redaction},
    rebind::uuids_in,
    scrub::{Scrubbed, placeholders},
    text::{self, Leaf},
};

#[derive(Debug)]
pub struct Index {
    exchanges: Vec<Scrubbed<Exchange>>,
    canonicals: Vec<Canonical>,
    queues: HashMap<Route, Vec<u32>>,
    redaction: Option<Redaction>,
    policy: Policy,
    has_omitted: bool,
    stand_ins: Vec<StandIn>,
    /// Which replies hold a placeholder.
    disguised: HashSet<u32>,
    makers: OnceLock<HashMap<String, Peer>>,
}

/// A way to find exchanges: by what a request says to the letter, or with UUIDs and times left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    Exact(Key),
    Loose(Key),
}

impl Index {
    /// `default` holds where the cassette does not carry its own policy.
    pub fn new(cassette: Cassette, default: &Policy) -> Self {
        let policy = cassette.policy.unwrap_or_else(|| default.clone());
        let (redaction, exchanges) = (cassette.redaction, cassette.exchanges);
        let (canonicals, seen): (Vec<_>, Vec<_>) = read_all(&exchanges, &policy).into_iter().unzip();
        let stand_ins = stand_ins(seen.iter(), redaction.as_ref());
        let disguised =
            (0u32..).zip(&seen).filter(|(_, seen)| seen.in_reply).map(|(place, _)| place).collect();
        let mut queues: HashMap<Route, Vec<u32>> = HashMap::with_capacity(exchanges.len() * 2);
        for (place, canonical) in (0u32..).zip(&canonicals) {
            queues.entry(Route::Exact(canonical.exact)).or_default().push(place);
            // Only an exchange with something to leave open can stand in for a request that is not its own.
            if !canonical.slots.is_empty() {
                queues.entry(Route::Loose(canonical.loose)).or_default().push(place);
            }
        }
        let has_omitted = exchanges.iter().any(|e| matches!(e.request.body.content, Content::Omitted { .. }));
        Self {
            exchanges,
            canonicals,
            queues,
            redaction,
            policy,
            has_omitted,
            stand_ins,
            disguised,
            makers: OnceLock::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// A live request in the form in which exchanges are found.
    pub fn read(&self, request: &Scrubbed<Request>) -> Canonical {
        canonical(request, &self.policy)
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How the cassette says that it was scrubbed.
    pub fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    pub fn exchanges(&self) -> &[Scrubbed<Exchange>] {
        &self.exchanges
    }

    /// What a client of the cassette may send where a secret stood.
    pub fn stand_ins(&self) -> &[StandIn] {
        &self.stand_ins
    }

    /// Whether the reply of an exchange holds a placeholder.
    pub(crate) fn is_disguised(&self, place: usize) -> bool {
        u32::try_from(place).is_ok_and(|place| self.disguised.contains(&place))
    }

    /// Whether a request's body was too large to keep.
    pub(crate) fn has_omitted(&self) -> bool {
        self.has_omitted
    }

    pub(crate) fn exchange(&self, place: usize) -> &Scrubbed<Exchange> {
        &self.exchanges[place]
    }

    pub(crate) fn canonical(&self, place: usize) -> &Canonical {
        &self.canonicals[place]
    }

    /// The places of the exchanges that this route leads to, in recorded order.
    pub(crate) fn queue(&self, route: Route) -> &[u32] {
        self.queues.get(&route).map_or(&[], Vec::as_slice)
    }

    /// Who brought a UUID into the recording, if it stands there at all. Looked for only when somebody first asks.
    pub(crate) fn maker_of(&self, value: &str) -> Option<Peer> {
        let makers = self.makers.get_or_init(|| {
            let mut makers = HashMap::new();
            for exchange in &self.exchanges {
                for (peer, uuid) in uuids_of(exchange) {
                    makers.entry(uuid).or_insert(peer);
                }
            }
            makers
        });
        makers.get(&value.to_ascii_lowercase()).copied()
    }
}

/// A placeholder matches another of its kind wherever texts are compared. Inside of base64, of a compressed file or of a
/// file's name it is bytes like any others, and its number says only how many secrets were met before.
fn canonical(request: &Request, policy: &Policy) -> Canonical {
    let is_multipart = request.headers.media_type().is_some_and(|media| media.starts_with("multipart/"));
    if !request.body.bytes().is_some_and(|bytes| is_multipart || placeholders::may_be_in(bytes)) {
        return matchers::canonical(request, policy);
    }
    let mut without_numbers = |leaf: &Leaf<'_>| placeholders::edits(leaf.text, &mut without_number);
    let body = text::rewrite_body(&request.body, &request.headers, &mut without_numbers);
    matchers::canonical(&Request { body, ..request.clone() }, policy)
}

fn without_number(placeholder: &str) -> Option<String> {
    Some(format!("{}:0}}}}", placeholder.rsplit_once(':')?.0))
}

/// Canonical forms cost the most when a large cassette is made ready, so they are made on all cores.
fn read_all(exchanges: &[Scrubbed<Exchange>], policy: &Policy) -> Vec<(Canonical, Seen)> {
    let of = |part: &[Scrubbed<Exchange>]| -> Vec<(Canonical, Seen)> {
        part.iter().map(|e| (canonical(&e.request, policy), Seen::of(e))).collect()
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    if exchanges.len() < WORTH_A_THREAD || workers == 1 {
        return of(exchanges);
    }
    thread::scope(|scope| {
        let parts = exchanges.chunks(exchanges.len().div_ceil(workers));
        let handles: Vec<_> = parts.map(|part| scope.spawn(move || of(part))).collect();
        handles.into_iter().flat_map(|h| h.join().expect("canonical forms do not panic")).collect()
    })
}

/// Every UUID of an exchange with the side that said it, in the order in which they were said.
fn uuids_of(exchange: &Exchange) -> Vec<(Peer, String)> {
    let mut found = Vec::new();
    let mut look =
        |peer: Peer, text: &[u8]| found.extend(uuids_in(text).into_iter().map(|uuid| (peer, uuid)));
    let request = &exchange.request;
    look(Peer::Client, request.url.to_string().as_bytes());
    request.headers.iter().for_each(|h| look(Peer::Client, h.value()));
    request.body.bytes().into_iter().for_each(|body| look(Peer::Client, body));
    if let Some(response) = exchange.reply.response() {
        response.headers.iter().for_each(|h| look(Peer::Server, h.value()));
        response.body.bytes().into_iter().for_each(|body| look(Peer::Server, body));
        for message in &response.messages {
            if let Piece::Text(text) = &message.piece {
                look(message.from, text.as_bytes());
            }
        }
    }
    found
}

const WORTH_A_THREAD: usize = 2_000;
