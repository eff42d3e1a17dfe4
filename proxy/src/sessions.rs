//! All sessions of a proxy: its own, and those that a user name selects.
//!
//! The registry knows who is there and brings sessions to their end. It reads no file: what a session plays and records
//! is opened by an [`Opener`].

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use futures_util::future::join_all;
use tokio::sync::OnceCell;

use crate::{
    opener::{Asker, Keeper, Opener, Refusal, RefusalKind, Wish},
    session::{Mode, Session},
    session_name::SessionName,
};

pub struct Sessions {
    /// What calls without a user name belong to.
    own: Option<Arc<Session>>,
    opener: Arc<dyn Opener>,
    named: RwLock<HashMap<SessionName, Arc<Slot>>>,
}

/// A name that is taken. Empty while its session is being opened.
#[derive(Default)]
struct Slot(OnceCell<Member>);

struct Member {
    session: Arc<Session>,
    /// Taken by whoever ends the session.
    keeper: Mutex<Option<Box<dyn Keeper>>>,
}

/// Whether a name may be taken already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    Shared,
    New,
}

impl Sessions {
    pub(crate) fn new(own: Option<Arc<Session>>, opener: Arc<dyn Opener>) -> Self {
        Self { own, opener, named: RwLock::default() }
    }

    pub fn own(&self) -> Option<&Arc<Session>> {
        self.own.as_ref()
    }

    /// The session of a client's user name, opened if it is not there yet.
    pub(crate) async fn choose(self: &Arc<Self>, name: SessionName) -> Result<Arc<Session>, Refusal> {
        if let Some(session) = self.find(&name) {
            return Ok(session);
        }
        let wish = Wish { name, by: Asker::Client, mode: None, cassette: None, pace: None };
        let name = wish.name.clone();
        let opened = self.spawn_open(wish, Claim::Shared).await;
        if let Err(refusal) = &opened {
            self.opener.refused(&name, refusal);
        }
        opened
    }

    /// A session that was not there before.
    pub(crate) async fn create(self: &Arc<Self>, wish: Wish) -> Result<Arc<Session>, Refusal> {
        self.spawn_open(wish, Claim::New).await
    }

    /// A name that nobody has yet.
    pub(crate) fn free_name(&self) -> SessionName {
        let taken = self.read();
        let mut names = (1_usize..).filter_map(|n| format!("session-{n}").parse().ok());
        names.find(|name| !taken.contains_key(name)).expect("the numbers do not run out")
    }

    pub(crate) fn find(&self, name: &SessionName) -> Option<Arc<Session>> {
        if let Some(own) = self.own.as_ref().filter(|_| name.as_str() == OWN) {
            return Some(Arc::clone(own));
        }
        self.read().get(name)?.0.get().map(|member| Arc::clone(&member.session))
    }

    /// As [`Sessions::find`], and otherwise the words that help.
    pub(crate) fn expect(&self, name: &SessionName) -> Result<Arc<Session>, Refusal> {
        self.find(name).ok_or_else(|| {
            let names: Vec<String> = self.all().into_iter().map(|(name, _)| name).collect();
            let shown = names.iter().take(MOST_SHOWN).cloned().collect::<Vec<_>>().join(", ");
            let help = match names.len() {
                0 => "no session is open".to_owned(),
                count if count > MOST_SHOWN => format!("open are {shown} and {} more", count - MOST_SHOWN),
                _ => format!("open: {shown}"),
            };
            Refusal::new(RefusalKind::Missing, format!("there is no session `{name}`")).with_help(help)
        })
    }

    /// Every session that is open with its name: our own first, the others by name.
    pub(crate) fn all(&self) -> Vec<(String, Arc<Session>)> {
        let named = self.read();
        let open = named.iter().filter_map(|(name, slot)| Some((name, slot.0.get()?)));
        let mut open: Vec<_> =
            open.map(|(name, member)| (name.to_string(), Arc::clone(&member.session))).collect();
        open.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.own.iter().map(|own| (OWN.to_owned(), Arc::clone(own))).chain(open).collect()
    }

    /// Gives a session that replays another cassette. Its player starts anew, its log stays.
    pub(crate) async fn load(
        self: &Arc<Self>,
        name: &SessionName,
        cassette: PathBuf,
    ) -> Result<Arc<Session>, Refusal> {
        let session = self.expect(name)?;
        if session.mode() != Mode::Replay {
            let mode = session.mode().as_str();
            return Err(Refusal::new(
                RefusalKind::Conflict,
                format!(
                    "session `{name}` is in mode {mode}, and only one that replays can be given another cassette"
                ),
            ));
        }
        let pace = session.deck().map(|deck| deck.pace()).unwrap_or_default();
        let opener = Arc::clone(&self.opener);
        let (player, cassette) = blocking(move || Ok((opener.load(&cassette, pace)?, cassette))).await?;
        session.play(player, &cassette);
        Ok(session)
    }

    /// Ends a session: its last calls come to their end, what it recorded is written, its name is free again.
    pub(crate) async fn end(self: &Arc<Self>, name: &SessionName) -> Result<Arc<Session>, Refusal> {
        let session = self.expect(name)?;
        let conflict = |why: &str| Refusal::new(RefusalKind::Conflict, format!("session `{name}` {why}"));
        if self.own.as_ref().is_some_and(|own| Arc::ptr_eq(own, &session)) {
            return Err(conflict("is the proxy's own and ends with it"));
        }
        let Some(keeper) = self.take_keeper(name) else {
            return Err(conflict("is being ended already"));
        };
        let (sessions, name) = (Arc::clone(self), name.clone());
        // Seen through even if whoever asked does not wait for the answer.
        let ended = tokio::spawn(async move {
            session.close();
            session.settle(SETTLE).await;
            session.drain(SETTLE).await;
            let over = Arc::clone(&session);
            let kept = blocking(move || keeper.finish(&over)).await;
            sessions.write().remove(&name);
            kept.map(|()| session)
        });
        ended.await.unwrap_or_else(|error| Err(Refusal::new(RefusalKind::Failed, error.to_string())))
    }

    /// Waits until replies that are still being recorded have come to an end.
    pub(crate) async fn settle(&self) {
        let all = self.all();
        join_all(all.iter().map(|(_, session)| session.settle(SETTLE))).await;
    }

    /// Brings every session to its end, once no client is connected any more. What cannot be written is told.
    pub(crate) async fn finish(&self) -> Result<(), Refusal> {
        let all = self.all();
        join_all(all.iter().map(|(_, session)| session.drain(SETTLE))).await;
        let named = all.into_iter().filter_map(|(name, session)| {
            let keeper = self.take_keeper(&name.parse().ok()?)?;
            Some((session, keeper))
        });
        let named: Vec<_> = named.collect();
        blocking(move || {
            // Each is tried, whatever becomes of the others.
            let kept: Vec<_> = named.into_iter().map(|(session, keeper)| keeper.finish(&session)).collect();
            kept.into_iter().collect()
        })
        .await
    }

    async fn spawn_open(self: &Arc<Self>, wish: Wish, claim: Claim) -> Result<Arc<Session>, Refusal> {
        let sessions = Arc::clone(self);
        // A client that leaves meanwhile must not leave half a session behind.
        let opened = tokio::spawn(async move { sessions.open(wish, claim).await });
        opened.await.unwrap_or_else(|error| Err(Refusal::new(RefusalKind::Failed, error.to_string())))
    }

    async fn open(&self, wish: Wish, claim: Claim) -> Result<Arc<Session>, Refusal> {
        let name = wish.name.clone();
        let slot = self.claim(&name, claim)?;
        let opener = Arc::clone(&self.opener);
        let open = async || {
            let opened = blocking(move || opener.open(&wish)).await?;
            let session = Arc::new(Session::new(opened.config));
            Ok(Member { session, keeper: Mutex::new(Some(opened.keeper)) })
        };
        match slot.0.get_or_try_init(open).await {
            Ok(member) => Ok(Arc::clone(&member.session)),
            Err(refusal) => {
                let mut named = self.write();
                // Besides the registry and us, others may be about to try the same slot.
                if Arc::strong_count(&slot) == 2 && slot.0.get().is_none() {
                    named.remove(&name);
                }
                Err(refusal)
            }
        }
    }

    fn claim(&self, name: &SessionName, claim: Claim) -> Result<Arc<Slot>, Refusal> {
        let mut named = self.write();
        let is_own = self.own.is_some() && name.as_str() == OWN;
        if claim == Claim::New && (is_own || named.contains_key(name)) {
            let message = format!("there is a session `{name}` already");
            return Err(Refusal::new(RefusalKind::Conflict, message)
                .with_help("choose another name, or end that one first"));
        }
        if named.len() >= MOST_SESSIONS && !named.contains_key(name) {
            let message = format!("{MOST_SESSIONS} sessions are open, and no more are allowed");
            return Err(Refusal::new(RefusalKind::Conflict, message)
                .with_help("end those that are done: `wiretape ctl end NAME`"));
        }
        Ok(Arc::clone(named.entry(name.clone()).or_default()))
    }

    fn take_keeper(&self, name: &SessionName) -> Option<Box<dyn Keeper>> {
        let named = self.read();
        let member = named.get(name)?.0.get()?;
        member.keeper.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<SessionName, Arc<Slot>>> {
        // A panic elsewhere does not make the map wrong: it is changed in one step.
        self.named.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<SessionName, Arc<Slot>>> {
        self.named.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sessions({})", self.all().len())
    }
}

/// Files are opened, read and written where nobody else waits for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Refusal::new(RefusalKind::Failed, error.to_string())))
}

/// What the proxy's own session answers to.
pub(crate) const OWN: &str = "default";
/// How long the end of a session waits for replies that are still coming.
const SETTLE: Duration = Duration::from_secs(3);
/// Each costs little, but a client that makes up names must not fill the memory.
const MOST_SESSIONS: usize = 10_000;
const MOST_SHOWN: usize = 20;
