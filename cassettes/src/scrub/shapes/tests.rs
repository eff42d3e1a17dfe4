//! Tokens of every kind, made up at run time, and what is found of them.

use super::*;

/// Draws the same values for the same seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() >> 33) as usize % most
    }

    pub(crate) fn of(&mut self, alphabet: &str, len: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..len).map(|_| letters[self.below(letters.len())]).collect()
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";

fn alnum() -> String {
    [LOWER, UPPER, DIGITS].concat()
}

fn word() -> String {
    // A hyphen or underscore at either end would be a boundary's business, not the token's.
    alnum() + "_-"
}

/// How a token of each kind is made: pieces of fixed text and draws.
pub(crate) fn token(kind: usize, draw: &mut Draw) -> (&'static str, String) {
    let a = alnum();
    let w = word();
    let b64 = alnum() + "+/";
    let up = [UPPER, DIGITS].concat();
    let base32 = [UPPER, "234567"].concat();
    let mut d = |alphabet: &str, len: usize| draw.of(alphabet, len);
    let end = |text: String| format!("{}x", &text[..text.len() - 1]);
    match kind {
        0 => ("openai_key", format!("sk-{}T3BlbkFJ{}", d(&a, 20), d(&a, 20))),
        1 => ("openai_key", end(format!("sk-proj-{}T3BlbkFJ{}", d(&w, 74), d(&w, 74)))),
        2 => ("openai_key", end(format!("sk-svcacct-{}T3BlbkFJ{}", d(&w, 58), d(&w, 58)))),
        3 => ("openai_admin_key", end(format!("sk-admin-{}T3BlbkFJ{}", d(&w, 58), d(&w, 58)))),
        4 => ("anthropic_key", format!("sk-ant-api03-{}AA", d(&w, 93))),
        5 => ("anthropic_admin_key", format!("sk-ant-admin01-{}AA", d(&w, 93))),
        6 => ("anthropic_oauth", format!("sk-ant-oat01-{}AA", d(&w, 93))),
        7 => ("openrouter_key", format!("sk-or-v1-{}", d(HEX, 64))),
        8 => ("openai_key", format!("sk-{}0a", d(&[LOWER, DIGITS].concat(), 30))),
        9 => ("google_key", end(format!("AIza{}", d(&w, 35)))),
        10 => ("google_oauth", end(format!("ya29.{}", d(&w, 120)))),
        11 => ("google_client_secret", end(format!("GOCSPX-{}", d(&w, 28)))),
        12 => ("huggingface_token", format!("hf_{}", d(&[LOWER, UPPER].concat(), 34))),
        13 => ("groq_key", format!("gsk_{}", d(&a, 52))),
        14 => ("xai_key", format!("xai-{}", d(&a, 80))),
        15 => ("perplexity_key", format!("pplx-{}", d(&a, 48))),
        16 => ("replicate_token", end(format!("r8_{}", d(&w, 37)))),
        17 => ("langsmith_key", format!("lsv2_pt_{}_{}", d(HEX, 32), d(HEX, 10))),
        18 => ("nvidia_key", end(format!("nvapi-{}", d(&w, 64)))),
        19 => ("aws_key_id", format!("AKIA{}", d(&base32, 16))),
        20 => ("aws_key_id", format!("ASIA{}", d(&base32, 16))),
        21 => ("azure_secret", end(format!("{}8Q~{}", d(&a, 3), d(&a, 34)))),
        22 => ("digitalocean_token", format!("dop_v1_{}", d(HEX, 64))),
        23 => ("databricks_token", format!("dapi{}", d(HEX, 32))),
        24 => ("vault_token", end(format!("hvs.{}", d(&w, 90)))),
        25 => ("github_token", format!("ghp_{}", d(&a, 36))),
        26 => ("github_token", format!("gho_{}", d(&a, 36))),
        27 => ("github_token", format!("ghu_{}", d(&a, 36))),
        28 => ("github_token", format!("ghs_{}", d(&a, 36))),
        29 => ("github_token", format!("ghr_{}", d(&a, 76))),
        30 => ("github_pat", format!("github_pat_{}_{}", d(&a, 22), d(&a, 59))),
        31 => ("gitlab_token", end(format!("glpat-{}", d(&w, 20)))),
        32 => ("npm_token", format!("npm_{}", d(&a, 36))),
        33 => ("pypi_token", end(format!("pypi-AgEIcHlwaS5vcmc{}", d(&w, 120)))),
        34 => ("docker_token", end(format!("dckr_pat_{}", d(&w, 27)))),
        35 => ("slack_token", format!("xoxb-{}-{}-{}", d(DIGITS, 12), d(DIGITS, 13), d(&a, 24))),
        36 => ("telegram_token", end(format!("1{}:AA{}", d(DIGITS, 9), d(&w, 33)))),
        37 => ("stripe_key", format!("sk_live_{}", d(&a, 24))),
        38 => ("sendgrid_key", end(format!("SG.{}.{}", d(&w, 22), d(&w, 43)))),
        39 => ("shopify_token", format!("shpat_{}", d(HEX, 32))),
        40 => ("linear_key", format!("lin_api_{}", d(&a, 40))),
        41 => ("notion_token", format!("ntn_{}", d(&a, 46))),
        42 => ("figma_token", end(format!("figd_{}", d(&w, 40)))),
        43 => ("grafana_token", format!("glsa_{}_{}", d(&a, 32), d(HEX, 8))),
        44 => ("newrelic_key", format!("NRAK-{}", d(&up, 27))),
        45 => ("bedrock_key", format!("ABSK{}", d(&b64, 128))),
        46 => ("supabase_key", format!("sbp_{}", d(HEX, 40))),
        47 => ("jwt", end(format!("eyJ{}.eyJ{}.{}", d(&a, 33), d(&a, 80), d(&w, 43)))),
        48 => ("pinecone_key", end(format!("pcsk_{}", d(&w, 70)))),
        49 => ("fireworks_key", format!("fw_{}", d(&a, 24))),
        _ => unreachable!("there are {KINDS} kinds"),
    }
}

pub(crate) const KINDS: usize = 50;

#[test]
fn a_token_of_every_kind_is_found_whole_and_by_its_kind() {
    let mut draw = Draw::new(1);
    for kind in 0..KINDS {
        for _ in 0..20 {
            let (expected, token) = token(kind, &mut draw);
            assert_eq!(kind_of(token.as_bytes()), Some(expected), "kind {kind}: {token}");
        }
    }
}

#[test]
fn a_token_has_a_boundary_on_both_sides() {
    let mut draw = Draw::new(2);
    for kind in (0..KINDS).filter(|kind| *kind != 36) {
        let (_, token) = token(kind, &mut draw);
        for around in ["a", "9", "_", "-"] {
            let text = format!("{around}{token}");
            assert!(tokens_in(text.as_bytes()).iter().all(|t| t.span.start != 1), "kind {kind}: {text}");
        }
        for (before, behind) in
            [("", ""), (" ", " "), ("=", "&"), ("\"", "\""), ("(", ")"), (":", "@"), (",", ",")]
        {
            let text = format!("{before}{token}{behind}");
            let found = tokens_in(text.as_bytes());
            assert_eq!(found.len(), 1, "kind {kind}: {text}");
            assert_eq!(found[0].span, before.len()..before.len() + token.len(), "kind {kind}: {text}");
        }
    }
}

#[test]
fn what_only_begins_like_a_token_is_none() {
    for text in [
        "sk-your-key-here",
        "sk-learn is a library, ask-me-anything-about-it-please-and-thank-you-very-much-indeed",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "hf_hub_download(repo_id)",
        "AKIAIOSFODNN",
        "risk-assessment-of-the-20th-century-and-its-consequences-for-us-all",
        "fw_size fc-cache key-value SG.B",
        "eyJhbGciOiJIUzI1NiJ9",
        "-----BEGIN PUBLIC KEY-----",
        "1//2",
    ] {
        assert_eq!(tokens_in(text.as_bytes()), [], "{text}");
    }
}

#[test]
fn a_private_key_is_found_from_its_first_line_to_its_last() {
    let mut draw = Draw::new(3);
    let body = draw.of(&alnum(), 64);
    for line in ["\n", "\\n", "\r\n"] {
        let pem = [
            "-----BEGIN RSA PRIVATE",
            &format!(" KEY-----{line}{body}{line}-----END RSA PRIVATE"),
            " KEY-----",
        ]
        .concat();
        let text = format!("key: {pem} and more");
        let found = tokens_in(text.as_bytes());
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(&text[found[0].span.clone()], pem);
        let cut = &text[..text.len() - 40];
        assert_eq!(tokens_in(cut.as_bytes()).len(), 1, "{cut}");
    }
}
