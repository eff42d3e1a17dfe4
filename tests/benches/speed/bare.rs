//! The bare server: hyper over rustls, one reply, nothing else. What `wiretape` is held against.
//!
//! This program starts itself again as that server, so that both servers are processes of their own.

use std::{
    convert::Infallible,
    env, fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderValue, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{
    client::{Route, Target},
    corpus::{HOST, STREAM_PATH, one_kib},
    process::Process,
};

/// A running bare server.
#[derive(Debug)]
pub(crate) struct Bare {
    pub(crate) process: Process,
    pub(crate) target: Target,
    pub(crate) ca_file: std::path::PathBuf,
}

impl Bare {
    pub(crate) fn start(folder: &Path) -> Self {
        let ca_file = folder.join("bare-ca.pem");
        let program = env::current_exe().expect("a program knows its own path");
        let mut process = Process::start(Command::new(program).arg(ARGUMENT).arg(&ca_file), folder);
        let (line, _) = process.line();
        let address = line.parse().expect("the bare server says its address");
        let ca = fs::read(&ca_file).expect("the bare server leaves its CA");
        Self { process, target: Target::new(address, Route::Direct, &ca), ca_file }
    }
}

/// Serves until it is killed.
pub(crate) fn serve(ca_file: &Path) {
    let acceptor = TlsAcceptor::from(Arc::new(server_config(ca_file)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address: SocketAddr = listener.local_addr().expect("a bound listener has an address");
        println!("{address}");
        let body = Bytes::from(one_kib());
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, acceptor.clone(), body.clone()));
        }
    });
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, body: Bytes) {
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request| answer(request, body.clone()));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(None).auto_date_header(false);
    // A client that leaves is no error here.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, body: Bytes) -> Result<Response<ReplyBody>, hyper::Error> {
    let is_stream = request.uri().path() == STREAM_PATH;
    request.into_body().collect().await?;
    let (media, body) = match is_stream {
        true => ("text/event-stream", Either::Right(events())),
        false => ("application/json", Either::Left(Full::new(body))),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(response)
}

/// A stream as a model sends it: the first event at once, the others as they come to mind.
fn events() -> Events {
    let event = |number: usize| {
        let text = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"word {number}\"}}}}]}}\n\n");
        Ok(Frame::data(Bytes::from(text)))
    };
    let events = stream::iter(0..EVENTS).then(move |number| async move {
        if number > 0 {
            tokio::time::sleep(BETWEEN_EVENTS).await;
        }
        event(number)
    });
    StreamBody::new(events.boxed())
}

fn server_config(ca_file: &Path) -> ServerConfig {
    let ca_key = KeyPair::generate().expect("a CA key");
    let mut ca = named("speed CA", CertificateParams::default());
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key).expect("a CA certificate").pem();
    fs::write(ca_file, ca_pem).expect("the CA file is written");
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new([HOST.to_owned()])
        .map(|params| named(HOST, params))
        .and_then(|params| params.signed_by(&key, &Issuer::new(ca, ca_key)))
        .expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .expect("the key fits the certificate");
    // No client here resumes, and tickets would slow down every handshake: the bare server must not be slower
    // than it need be.
    config.send_tls13_tickets = 0;
    config
}

/// OpenSSL takes a certificate that has the name of its issuer for one that nobody signed.
fn named(name: &str, mut params: CertificateParams) -> CertificateParams {
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params
}

type Events = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;
type ReplyBody = Either<Full<Bytes>, Events>;

pub(crate) const ARGUMENT: &str = "--bare-server";
const EVENTS: usize = 5;
const BETWEEN_EVENTS: Duration = Duration::from_millis(1);
