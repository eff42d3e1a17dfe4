//! What the name of a field says of its value.

/// How a value under a name is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A credential of a machine: random, or no secret.
    Credential,
    /// One that a person may have chosen.
    Password,
    /// Often something else: only long random values count.
    Vague,
    Authorization,
    /// One cookie, known by its own name.
    Cookie,
    Cookies,
    SetCookie,
    /// Who pays.
    Account,
    /// A parameter of a URL.
    Query,
    /// It only sounds secret: worth a warning.
    Suspect,
}

/// `None`: nothing of it is secret.
pub(crate) fn class(name: &[u8], is_query: bool) -> Option<Class> {
    let plain: Vec<u8> =
        name.iter().filter(|b| b.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    let plain = std::str::from_utf8(&plain).ok()?;
    let ends = |words: &[&str]| words.iter().any(|word| plain.ends_with(word));
    let has = |words: &[&str]| words.iter().any(|word| plain.contains(word));
    match plain {
        "authorization" | "proxyauthorization" | "xauthorization" => return Some(Class::Authorization),
        "cookie" | "cookies" => return Some(Class::Cookies),
        "cfbm" | "cfuvid" => return Some(Class::Cookie),
        "setcookie" => return Some(Class::SetCookie),
        "openaiorganization" | "openaiproject" | "anthropicorganizationid" | "chatgptaccountid" => {
            return Some(Class::Account);
        }
        _ => {}
    }
    // A key of no kind is as often the name of an object.
    if plain == "key" && !is_query || has(HARMLESS) || ends(HARMLESS_ENDS) {
        return None;
    }
    if ends(PASSWORDS) {
        return Some(Class::Password);
    }
    if ends(CREDENTIALS) {
        return Some(Class::Credential);
    }
    if is_query && QUERY.contains(&plain) {
        return Some(Class::Query);
    }
    if ends(&["token", "secret", "secrets", "tokens", "credential", "credentials"]) {
        return Some(Class::Vague);
    }
    (ends(&["key", "keys"]) || has(&["secret", "credential", "authtoken"])).then_some(Class::Suspect)
}

/// They page, count, cache or name; or what they hold is made to be seen.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "public", "publishable", "pagetoken", "nexttoken", "prevtoken", "continuationtoken", "continuetoken",
    "synctoken", "cursor", "idempotency", "maxtoken", "mintoken", "numtoken", "tokencount", "tokenlimit",
    "tokenusage", "usertoken", "stoptoken", "specialtoken", "padtoken", "eostoken", "bostoken",
    "prompttoken", "completiontoken", "inputtoken", "outputtoken", "totaltoken", "cachedtoken",
    "reasoningtoken", "audiotoken", "texttoken", "imagetoken", "requesttoken", "clienttoken", "cachekey",
    "partitionkey", "sortkey", "primarykey", "foreignkey", "objectkey", "keyword", "hotkey", "tokenize",
    "tokentype", "secretname", "encrypted", "fingerprint", "passwordhash", "resumetoken", "resumptiontoken",
    "nextpage", "skiptoken", "deltatoken", "changetoken", "watermark", "concurrencytoken", "icepwd",
];
#[rustfmt::skip]
const HARMLESS_ENDS: &[&str] = &[
    "keyid", "tokenid", "secretid", "tokenurl", "tokenuri", "tokenendpoint", "expiresin", "expiresat",
    "tokens", "monkey", "turkey", "typekey", "namekey", "urlkey", "idkey", "i18nkey", "nodekey", "labelkey",
    "sshkey", "deploykey", "gpgkey", "hostkey", "langkey", "secretkeyref", "arn",
];
#[rustfmt::skip]
const QUERY: &[&str] = &[
    "sig", "signature", "token", "xamzsignature", "xamzsecuritytoken", "xgoogsignature", "apikey", "key",
    "accesstoken", "auth", "jwt", "sas", "secret", "password",
];
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pwd"];
#[rustfmt::skip]
const CREDENTIALS: &[&str] = &[
    "apikey", "clientsecret", "accesstoken", "refreshtoken", "idtoken", "authtoken", "authtokens",
    "secretkey", "secretaccesskey", "accesskey", "accountkey", "privatekey", "sessiontoken",
    "securitytoken", "webhooksecret", "signingsecret", "sharedaccesskey", "sastoken", "bearertoken",
    "oauthtoken", "oauthtokensecret", "accesstokensecret", "clientassertion", "apitoken", "apisecret",
    "appsecret", "bottoken", "privatetoken", "personalaccesstoken", "subscriptionkey", "functionskey",
    "masterkey", "encryptionkey", "signingkey", "jobtoken", "githubtoken", "xgoogapikey", "csrftoken",
    "xsrftoken", "logintoken", "consumersecret", "applicationkey", "appkey", "consumerkey",
    "authenticitytoken",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_judged_whatever_its_spelling() {
        for name in ["api_key", "API-KEY", "apiKey", "x-api-key", "OPENAI_API_KEY"] {
            assert_eq!(class(name.as_bytes(), false), Some(Class::Credential), "{name}");
        }
        assert_eq!(class(b"db.password", false), Some(Class::Password));
        assert_eq!(class(b"token", false), Some(Class::Vague));
        assert_eq!(class(b"Proxy-Authorization", false), Some(Class::Authorization));
    }

    #[test]
    fn paging_counting_and_public_names_hold_no_secret() {
        let names = [
            "next_page_token",
            "nextPageToken",
            "continuationToken",
            "max_tokens",
            "prompt_tokens",
            "public_key",
            "publishableKey",
            "idempotency_key",
            "signature",
            "encrypted_content",
            "key_id",
            "prompt_cache_key",
        ];
        for name in names {
            assert_eq!(class(name.as_bytes(), false), None, "{name}");
        }
    }

    #[test]
    fn a_signature_counts_only_in_a_url() {
        assert_eq!(class(b"X-Amz-Signature", true), Some(Class::Query));
        assert_eq!(class(b"signature", false), None);
    }
}
