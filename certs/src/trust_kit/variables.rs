//! The environment that sends a child through the proxy and makes it trust our CA.
//!
//! Which client listens to which variable was measured; the order of the list below is that of the groups.
//! What a user set to point at something of their own (`NODE_OPTIONS`, `PYTHONPATH` …) is extended, what
//! could lead past the proxy (`NO_PROXY`, `ALL_PROXY` …) is replaced or taken away.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{KEYSTORE, NODE_EXTRA, PHP, PRELOAD, PYTHON, TrustKit, WGETRC, java_keystore};
use crate::CertError;

/// The usual `no_proxy`: servers on this machine are reached without the proxy.
pub const LOOPBACK_IS_DIRECT: &str = "localhost,127.0.0.1,::1";

/// Changes to the environment of a child, always in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variables {
    pub set: Vec<(String, OsString)>,
    pub unset: Vec<&'static str>,
}

impl TrustKit {
    /// The variables for a child whose own environment would be `inherited`.
    ///
    /// `proxy_url` is `http://HOST:PORT`, with `USER@` in front of the host to select a session (children get
    /// it as `USER:x@`); Java has no variable for a proxy user and always lands in the default session. `no_proxy` is usually
    /// [`LOOPBACK_IS_DIRECT`]; with an empty one loopback goes through the proxy too, except in clients that
    /// never allow that (Go, Ruby).
    pub fn variables(
        &self,
        proxy_url: &str,
        no_proxy: &str,
        inherited: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Variables, CertError> {
        let (host, port) = host_and_port(proxy_url)?;
        let mut set: Vec<(String, OsString)> = Vec::new();
        let mut put = |name: &str, value: &OsStr| set.push((name.to_owned(), value.to_owned()));
        let proxy_url = with_password(proxy_url);
        for name in PROXY {
            put(name, proxy_url.as_ref());
        }
        for name in NO_PROXY {
            put(name, no_proxy.as_ref());
        }
        let bundle = self.bundle_pem();
        for name in BUNDLES {
            put(name, bundle.as_os_str());
        }
        put("NODE_EXTRA_CA_CERTS", self.dir.join(NODE_EXTRA).as_os_str());
        put("DENO_CERT", self.ca_pem().as_os_str());
        put("NODE_USE_ENV_PROXY", "1".as_ref());
        let require = quoted("--require=", &self.dir.join(PRELOAD));
        put("NODE_OPTIONS", &after(inherited("NODE_OPTIONS"), " ", &require));
        let java = self.java_options(host, port, no_proxy);
        put("JAVA_TOOL_OPTIONS", &after(inherited("JAVA_TOOL_OPTIONS"), " ", &java));
        put("WGETRC", self.dir.join(WGETRC).as_os_str());
        put("PHP_INI_SCAN_DIR", &php_scan_dirs(inherited("PHP_INI_SCAN_DIR"), &self.dir.join(PHP)));
        put("PYTHONPATH", &before(inherited("PYTHONPATH"), ":", &self.dir.join(PYTHON)));
        Ok(Variables { set, unset: UNSET.to_vec() })
    }

    fn java_options(&self, host: &str, port: u16, no_proxy: &str) -> OsString {
        let store = quoted("-Djavax.net.ssl.trustStore=", &self.dir.join(KEYSTORE));
        let password = java_keystore::PASSWORD;
        let direct = non_proxy_hosts(no_proxy);
        // Type, password and direct hosts are named so that inherited ones, of another store, do not apply.
        let options = format!(
            "-Dhttp.proxyHost={host} -Dhttp.proxyPort={port} -Dhttps.proxyHost={host} -Dhttps.proxyPort={port} \
             -Dhttp.nonProxyHosts={direct} {store} -Djavax.net.ssl.trustStoreType=JKS \
             -Djavax.net.ssl.trustStorePassword={password}"
        );
        options.into()
    }
}

/// The proxy's host (without brackets) and port.
fn host_and_port(proxy_url: &str) -> Result<(&str, u16), CertError> {
    // The address is not repeated: its user part may be a secret by mistake.
    let refuse = |problem| CertError::ProxyUrl { problem };
    let rest = proxy_url.strip_prefix("http://").ok_or_else(|| refuse("it does not start with http://"))?;
    if rest.contains(|c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\'' | '\\')) {
        return Err(refuse("it holds blanks or quotes"));
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let address = rest.rsplit_once('@').map_or(rest, |(_user, address)| address);
    let (host, port) = address.rsplit_once(':').ok_or_else(|| refuse("it has no port"))?;
    let port = port.parse().map_err(|_| refuse("its port is not a number up to 65535"))?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() {
        return Err(refuse("it has no host"));
    }
    Ok((host, port))
}

/// Adds a password, which the proxy does not look at, to a user name that has none: the fetch of Node 22 and
/// 24 sends neither when there is only a name.
fn with_password(proxy_url: &str) -> String {
    match proxy_url.rsplit_once('@') {
        Some((user, address)) if user.matches(':').count() == 1 => format!("{user}:{ANY_PASSWORD}@{address}"),
        _ => proxy_url.to_owned(),
    }
}

/// A list in the manner of `no_proxy`, as Java spells it. An empty one sends loopback through the proxy too.
fn non_proxy_hosts(no_proxy: &str) -> String {
    let mut patterns = Vec::new();
    for entry in no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let bare = entry.trim_start_matches('*').trim_start_matches('.');
        if entry == "*" || bare.parse::<std::net::Ipv4Addr>().is_ok() {
            patterns.push(entry.to_owned());
        } else if bare.parse::<std::net::Ipv6Addr>().is_ok() {
            patterns.push(format!("[{bare}]"));
        } else {
            patterns.push(bare.to_owned());
            patterns.push(format!("*.{bare}"));
        }
    }
    patterns.join("|")
}

/// `option` followed by a path; in double quotes where Node and Java would split or unquote it otherwise.
fn quoted(option: &str, path: &Path) -> String {
    let path = path.to_str().expect("an awkward folder was refused");
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '%' | '=');
    if path.chars().all(plain) { format!("{option}{path}") } else { format!("\"{option}{path}\"") }
}

/// Puts ours behind what is there, once: `wiretape env` may be read twice by one shell.
fn after(inherited: Option<OsString>, separator: &str, ours: impl AsRef<OsStr>) -> OsString {
    let ours = ours.as_ref();
    match inherited.filter(|value| !value.is_empty()) {
        None => ours.to_owned(),
        Some(value) if value.as_encoded_bytes().ends_with(ours.as_encoded_bytes()) => value,
        Some(mut value) => {
            value.push(separator);
            value.push(ours);
            value
        }
    }
}

/// Puts ours in front of what is there, once.
fn before(inherited: Option<OsString>, separator: &str, ours: &Path) -> OsString {
    let ours = ours.as_os_str();
    match inherited.filter(|value| !value.is_empty()) {
        None => ours.to_owned(),
        Some(value) if std::env::split_paths(&value).next().is_some_and(|first| first == ours) => value,
        Some(value) => {
            let mut all = ours.to_owned();
            all.push(separator);
            all.push(value);
            all
        }
    }
}

/// PHP takes an empty entry for the folder it was built with, and an empty list for none at all.
fn php_scan_dirs(inherited: Option<OsString>, ours: &Path) -> OsString {
    match inherited {
        None => {
            let mut all = OsString::from(":");
            all.push(ours);
            all
        }
        inherited => after(inherited, ":", ours),
    }
}

const ANY_PASSWORD: &str = "x";
/// Both spellings: wget and gRPC know only the lower one, and Ruby uses the `http` one for https as well.
const PROXY: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// These replace the roots a client would use, so they name the whole bundle.
const BUNDLES: [&str; 12] = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "NPM_CONFIG_CAFILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
];
/// Inherited ones would win over ours in some client.
const UNSET: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "grpc_proxy", "no_grpc_proxy", "CARGO_HTTP_PROXY", "SSL_CERT_DIR"];

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::{Authority, Roots};

    const URL: &str = "http://case-7@127.0.0.1:4711";

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    fn kit() -> TrustKit {
        let authority = Authority::ephemeral(datetime!(2026-11-18 12:00 UTC)).unwrap();
        TrustKit::create(&authority, Roots::OursOnly, &nothing).unwrap()
    }

    fn value(variables: &Variables, name: &str) -> String {
        let found: Vec<_> = variables.set.iter().filter(|(set, _)| set == name).collect();
        assert_eq!(found.len(), 1, "{name}");
        found[0].1.clone().into_string().unwrap()
    }

    #[test]
    fn a_clean_environment_gets_exactly_this() {
        let kit = kit();
        let variables = kit.variables(URL, LOOPBACK_IS_DIRECT, &nothing).unwrap();
        let dir = kit.dir().to_str().unwrap();
        let java = format!(
            "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=4711 -Dhttps.proxyHost=127.0.0.1 \
             -Dhttps.proxyPort=4711 -Dhttp.nonProxyHosts=localhost|*.localhost|127.0.0.1|[::1] \
             -Djavax.net.ssl.trustStore={dir}/trust.jks -Djavax.net.ssl.trustStoreType=JKS \
             -Djavax.net.ssl.trustStorePassword=changeit"
        );
        let bundle = format!("{dir}/bundle.pem");
        let mut expected = vec![
            ("HTTPS_PROXY", "http://case-7:x@127.0.0.1:4711".to_owned()),
            ("https_proxy", "http://case-7:x@127.0.0.1:4711".to_owned()),
            ("HTTP_PROXY", "http://case-7:x@127.0.0.1:4711".to_owned()),
            ("http_proxy", "http://case-7:x@127.0.0.1:4711".to_owned()),
            ("NO_PROXY", "localhost,127.0.0.1,::1".to_owned()),
            ("no_proxy", "localhost,127.0.0.1,::1".to_owned()),
        ];
        expected.extend(BUNDLES.map(|name| (name, bundle.clone())));
        expected.extend([
            ("NODE_EXTRA_CA_CERTS", format!("{dir}/node-extra.pem")),
            ("DENO_CERT", format!("{dir}/ca.pem")),
            ("NODE_USE_ENV_PROXY", "1".to_owned()),
            ("NODE_OPTIONS", format!("--require={dir}/preload.cjs")),
            ("JAVA_TOOL_OPTIONS", java),
            ("WGETRC", format!("{dir}/wgetrc")),
            ("PHP_INI_SCAN_DIR", format!(":{dir}/php")),
            ("PYTHONPATH", format!("{dir}/py")),
        ]);
        let set: Vec<_> = variables
            .set
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap().to_owned()))
            .collect();
        assert_eq!(set, expected);
        let unset =
            ["ALL_PROXY", "all_proxy", "grpc_proxy", "no_grpc_proxy", "CARGO_HTTP_PROXY", "SSL_CERT_DIR"];
        assert_eq!(variables.unset, unset);
    }

    #[test]
    fn what_the_user_made_is_extended_and_no_proxy_is_replaced() {
        let kit = kit();
        let inherited = |name: &str| {
            Some(OsString::from(match name {
                "NODE_OPTIONS" => "--max-old-space-size=512",
                "JAVA_TOOL_OPTIONS" => "-Xmx1g",
                "PYTHONPATH" => "/mine:/other",
                "PHP_INI_SCAN_DIR" => "/php.d",
                _ => "*",
            }))
        };
        let variables = kit.variables(URL, "", &inherited).unwrap();
        let dir = kit.dir().to_str().unwrap();
        let value = |name| value(&variables, name);
        assert_eq!(value("NODE_OPTIONS"), format!("--max-old-space-size=512 --require={dir}/preload.cjs"));
        assert!(value("JAVA_TOOL_OPTIONS").starts_with("-Xmx1g -Dhttp.proxyHost=127.0.0.1 "));
        assert!(value("JAVA_TOOL_OPTIONS").contains(" -Dhttp.nonProxyHosts= "));
        assert_eq!(value("PYTHONPATH"), format!("{dir}/py:/mine:/other"));
        assert_eq!(value("PHP_INI_SCAN_DIR"), format!("/php.d:{dir}/php"));
        assert_eq!((value("NO_PROXY"), value("no_proxy")), (String::new(), String::new()));
    }

    #[test]
    fn reading_the_variables_twice_changes_nothing() {
        let kit = kit();
        let once = kit.variables(URL, LOOPBACK_IS_DIRECT, &nothing).unwrap();
        let inherited =
            |name: &str| once.set.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone());
        assert_eq!(kit.variables(URL, LOOPBACK_IS_DIRECT, &inherited).unwrap(), once);
    }

    #[test]
    fn php_that_scans_nothing_is_not_made_to_scan_its_default() {
        let kit = kit();
        let variables = kit.variables(URL, "", &|_| Some(OsString::new())).unwrap();
        assert_eq!(value(&variables, "PHP_INI_SCAN_DIR"), format!("{}/php", kit.dir().display()));
    }

    #[test]
    fn a_user_name_gets_a_password_where_it_has_none() {
        assert_eq!(with_password("http://case-7@[::1]:8080"), "http://case-7:x@[::1]:8080");
        for url in ["http://[::1]:8080", "http://a:b@127.0.0.1:8080", "http://a:@127.0.0.1:8080"] {
            assert_eq!(with_password(url), url);
        }
    }

    #[test]
    fn a_path_with_blanks_is_quoted() {
        let option = quoted("--require=", Path::new("/a b/preload.cjs"));
        assert_eq!(option, "\"--require=/a b/preload.cjs\"");
    }

    #[test]
    fn java_gets_its_own_spelling_of_direct_hosts() {
        let patterns = non_proxy_hosts("localhost, .corp.example,*.dev.example,10.0.0.1,::1,*");
        let expected =
            "localhost|*.localhost|corp.example|*.corp.example|dev.example|*.dev.example|10.0.0.1|[::1]|*";
        assert_eq!(patterns, expected);
        assert_eq!(non_proxy_hosts(""), "");
    }

    #[test]
    fn host_and_port_come_out_of_every_form_of_proxy_address() {
        for (url, expected) in [
            ("http://127.0.0.1:8080", ("127.0.0.1", 8080)),
            ("http://localhost:1/", ("localhost", 1)),
            ("http://case-7@[::1]:8080", ("::1", 8080)),
            ("http://a:b@c@127.0.0.1:8080", ("127.0.0.1", 8080)),
        ] {
            assert_eq!(host_and_port(url).unwrap(), expected, "{url}");
        }
        for url in
            ["127.0.0.1:8080", "https://a:1", "http://a", "http://:1", "http://a:65536", "http://a b:1"]
        {
            assert!(matches!(host_and_port(url), Err(CertError::ProxyUrl { .. })), "{url}");
        }
    }
}
