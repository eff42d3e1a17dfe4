//! Dummies: what a program is given where a secret stood, well-formed so that its own checks pass, and good for
//! nothing.
//!
//! They are made in memory, of nothing but the kind and the number of a placeholder. Their beginnings are the real
//! ones, their filler says `DUMMY` where the alphabet allows it, and checksums are wrong on purpose.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};

use crate::format::placeholder_parts;

/// The dummy for the placeholder `{{redacted:KIND:N}}`. A kind that has no shape of its own gets a word that is legal
/// in a URL, a header, a cookie and a JSON string as it stands.
pub fn dummy(kind: &str, number: u32) -> String {
    match kind {
        "jwt" => jwt(number),
        "private_key" => pem(number),
        "uuid" => uuid(number),
        "url" => format!("https://redacted.invalid/{number}"),
        "basic" => STANDARD.encode(format!("user-{number}:password-{number}")),
        "github_token" => checksummed("ghp_", Filler::new(kind, number)),
        "npm_token" => checksummed("npm_", Filler::new(kind, number)),
        _ => match SHAPES.iter().find(|(known, _)| *known == kind) {
            Some((_, parts)) => shaped(parts, Filler::new(kind, number)),
            None => format!("redacted-{}-{number:06}", kind.replace('_', "-")),
        },
    }
}

/// The dummy for a variable of which nothing is known but its name.
pub fn variable_dummy(name: &str) -> String {
    // Two variables of one kind are to differ, and each is to be the same everywhere.
    let number = crc32fast::hash(name.as_bytes());
    match kind_of_variable(name) {
        Some(kind) => dummy(kind, number),
        None => dummy(&name.to_ascii_lowercase(), number),
    }
}

/// The dummy for a variable that a cassette names. Where its placeholder tells no shape, the name may.
pub fn dummy_of_variable(name: &str, placeholder: &str) -> String {
    match placeholder_parts(placeholder) {
        Some((kind, number)) if has_shape(kind) || kind_of_variable(name).is_none() => dummy(kind, number),
        _ => variable_dummy(name),
    }
}

fn has_shape(kind: &str) -> bool {
    OF_THEIR_OWN.contains(&kind) || SHAPES.iter().any(|(known, _)| *known == kind)
}

fn kind_of_variable(name: &str) -> Option<&'static str> {
    VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// A piece of a secret's form.
#[derive(Debug, Clone, Copy)]
enum Part {
    Is(&'static str),
    Fill(Alphabet, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    Digits,
    Hex,
    /// `A-Z2-7`
    Base32,
    Letters,
    Alphanumeric,
}

impl Alphabet {
    fn characters(self) -> Vec<u8> {
        let letters = (b'A'..=b'Z').chain(b'a'..=b'z');
        match self {
            Self::Digits => (b'0'..=b'9').collect(),
            Self::Hex => (b'0'..=b'9').chain(b'a'..=b'f').collect(),
            Self::Base32 => (b'A'..=b'Z').chain(b'2'..=b'7').collect(),
            Self::Letters => letters.collect(),
            Self::Alphanumeric => (b'0'..=b'9').chain(letters).collect(),
        }
    }

    /// What tells a reader that this is a dummy.
    fn mark(self) -> &'static str {
        match self {
            Self::Digits => "",
            Self::Hex => "d0d0d0",
            _ => "DUMMY",
        }
    }
}

fn shaped(parts: &[Part], mut filler: Filler) -> String {
    let mut out = String::new();
    for part in parts {
        match *part {
            Part::Is(text) => out.push_str(text),
            Part::Fill(alphabet, length) => out.push_str(&filler.fill(alphabet, length)),
        }
    }
    out
}

/// Characters without meaning, the same for the same kind and number.
struct Filler {
    number: u32,
    state: u64,
}

impl Filler {
    fn new(kind: &str, number: u32) -> Self {
        let seed = u64::from(crc32fast::hash(kind.as_bytes())) << 32 | u64::from(number);
        Self { number, state: seed }
    }

    /// A long one starts with the mark and ends in the number, so that no two of a kind are alike.
    fn fill(&mut self, alphabet: Alphabet, length: usize) -> String {
        let characters = alphabet.characters();
        let (mark, digits) = if length < SHORTEST_MARKED {
            ("", 0)
        } else {
            (alphabet.mark(), digits_of_u32(characters.len()))
        };
        let mut text = mark.to_owned();
        while text.len() + digits < length {
            text.push(char::from(characters[self.below(characters.len())]));
        }
        let mut number = self.number as usize;
        let mut end = Vec::with_capacity(digits);
        for _ in 0..digits {
            end.push(characters[number % characters.len()]);
            number /= characters.len();
        }
        text.extend(end.into_iter().rev().map(char::from));
        text
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() >> 33) as usize % count
    }

    /// SplitMix64: any generator would do, as long as it stays the same.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn digits_of_u32(base: usize) -> usize {
    let mut rest = u32::MAX as usize;
    let mut digits = 0;
    while rest > 0 {
        rest /= base;
        digits += 1;
    }
    digits
}

/// A token whose last six characters are to be the CRC-32 of those before, and are not, with or without the prefix.
fn checksummed(prefix: &str, mut filler: Filler) -> String {
    let token = format!("{prefix}{}", filler.fill(Alphabet::Alphanumeric, 30));
    let right = [crc32fast::hash(token.as_bytes()), crc32fast::hash(&token.as_bytes()[prefix.len()..])];
    let wrong = (0..).find(|number| !right.contains(number)).expect("only two of all numbers are right");
    format!("{token}{wrong:06}")
}

/// No verifier takes it: it says that it is not signed, and carries a signature.
fn jwt(number: u32) -> String {
    let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    // Clients look whether a token has run out.
    let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"dummy-{number}","iat":0,"exp":{YEAR_2100}}}"#));
    format!("{head}.{claims}.{}", Filler::new("jwt", number).fill(Alphabet::Alphanumeric, 43))
}

/// A block in the form of a key, with no key in it.
fn pem(number: u32) -> String {
    let mut filler = Filler::new("private_key", number);
    let lines: String = (0..3).map(|_| filler.fill(Alphabet::Alphanumeric, 64) + "\n").collect();
    // Put together here, so that no scanner takes this file for one that holds a key.
    let label = ["PRIVATE", "KEY"].join(" ");
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn uuid(number: u32) -> String {
    let mut filler = Filler::new("uuid", number);
    let mut hex = |length| filler.fill(Alphabet::Hex, length);
    format!("{number:08x}-{}-4{}-8{}-{}", hex(4), hex(3), hex(3), hex(12))
}

/// A filler shorter than this has no room for a mark and the number.
const SHORTEST_MARKED: usize = 16;
const YEAR_2100: u64 = 4_102_444_800;
const OF_THEIR_OWN: &[&str] = &["basic", "github_token", "jwt", "npm_token", "private_key", "url", "uuid"];

use Alphabet::{Alphanumeric, Base32, Digits, Hex, Letters};
use Part::{Fill, Is};

/// Prefix, length and alphabet of what each kind stands for. An alphabet may be narrower than the real one.
const SHAPES: &[(&str, &[Part])] = &[
    ("anthropic_admin_key", &[Is("sk-ant-"), Is("admin01-"), Fill(Alphanumeric, 93), Is("AA")]),
    ("anthropic_key", &[Is("sk-ant-"), Is("api03-"), Fill(Alphanumeric, 93), Is("AA")]),
    ("anthropic_oauth", &[Is("sk-ant-"), Is("oat01-"), Fill(Alphanumeric, 93), Is("AA")]),
    ("aws_key_id", &[Is("AKIA"), Fill(Base32, 16)]),
    ("aws_secret", &[Fill(Alphanumeric, 40)]),
    ("azure_openai_key", &[Fill(Hex, 32)]),
    ("azure_secret", &[Fill(Alphanumeric, 3), Fill(Digits, 1), Is("Q~"), Fill(Alphanumeric, 34)]),
    ("bedrock_key", &[Is("ABSK"), Fill(Alphanumeric, 128)]),
    ("cohere_key", &[Fill(Alphanumeric, 40)]),
    ("databricks_token", &[Is("dapi"), Fill(Hex, 32)]),
    ("deepseek_key", &[Is("sk-"), Fill(Hex, 32)]),
    ("digitalocean_token", &[Is("dop_v1_"), Fill(Hex, 64)]),
    ("docker_token", &[Is("dckr_pat_"), Fill(Alphanumeric, 27)]),
    ("figma_token", &[Is("figd_"), Fill(Alphanumeric, 40)]),
    ("github_pat", &[Is("github_pat_"), Fill(Alphanumeric, 22), Is("_"), Fill(Alphanumeric, 59)]),
    ("gitlab_token", &[Is("glpat-"), Fill(Alphanumeric, 20)]),
    ("google_client_secret", &[Is("GOCSPX-"), Fill(Alphanumeric, 28)]),
    ("google_key", &[Is("AIza"), Fill(Alphanumeric, 35)]),
    ("google_oauth", &[Is("ya29."), Fill(Alphanumeric, 160)]),
    ("google_refresh", &[Is("1//"), Fill(Alphanumeric, 60)]),
    ("grafana_token", &[Is("glsa_"), Fill(Alphanumeric, 32), Is("_"), Fill(Hex, 8)]),
    ("groq_key", &[Is("gsk_"), Fill(Alphanumeric, 52)]),
    ("huggingface_token", &[Is("hf_"), Fill(Letters, 34)]),
    ("langsmith_key", &[Is("lsv2_pt_"), Fill(Hex, 32), Is("_"), Fill(Hex, 10)]),
    ("linear_key", &[Is("lin_api_"), Fill(Alphanumeric, 40)]),
    ("mistral_key", &[Fill(Alphanumeric, 32)]),
    ("notion_token", &[Is("ntn_"), Fill(Digits, 11), Fill(Alphanumeric, 35)]),
    ("nvidia_key", &[Is("nvapi-"), Fill(Alphanumeric, 64)]),
    (
        "openai_admin_key",
        &[
            Is("sk-"),
            Is("admin-"),
            Fill(Alphanumeric, 74),
            Is(OPENAI[0]),
            Is(OPENAI[1]),
            Fill(Alphanumeric, 74),
        ],
    ),
    (
        "openai_key",
        &[
            Is("sk-"),
            Is("proj-"),
            Fill(Alphanumeric, 74),
            Is(OPENAI[0]),
            Is(OPENAI[1]),
            Fill(Alphanumeric, 74),
        ],
    ),
    ("openrouter_key", &[Is("sk-"), Is("or-v1-"), Fill(Hex, 64)]),
    ("perplexity_key", &[Is("pplx-"), Fill(Alphanumeric, 48)]),
    ("pypi_token", &[Is("pypi-"), Is("AgEIcHlwaS5vcmc"), Fill(Alphanumeric, 120)]),
    ("replicate_token", &[Is("r8_"), Fill(Alphanumeric, 37)]),
    ("sendgrid_key", &[Is("SG."), Fill(Alphanumeric, 22), Is("."), Fill(Alphanumeric, 43)]),
    ("shopify_token", &[Is("shpat_"), Fill(Hex, 32)]),
    (
        "slack_token",
        &[Is("xoxb-"), Fill(Digits, 12), Is("-"), Fill(Digits, 13), Is("-"), Fill(Alphanumeric, 24)],
    ),
    (
        "slack_webhook",
        &[
            Is("https://hooks.slack.com/"),
            Is("services/T"),
            Fill(Base32, 10),
            Is("/B"),
            Fill(Base32, 10),
            Is("/"),
            Fill(Alphanumeric, 24),
        ],
    ),
    ("stripe_key", &[Is("sk_"), Is("test_"), Fill(Alphanumeric, 24)]),
    ("telegram_token", &[Fill(Digits, 10), Is(":AA"), Fill(Alphanumeric, 33)]),
    ("together_key", &[Fill(Hex, 64)]),
    ("vault_token", &[Is("hvs."), Fill(Alphanumeric, 92)]),
    ("xai_key", &[Is("xai-"), Fill(Alphanumeric, 80)]),
];

/// What stands in the middle of every OpenAI key.
const OPENAI: [&str; 2] = ["T3Bl", "bkFJ"];

/// Variables that SDKs and tools read, and what they hold.
const VARIABLES: &[(&str, &str)] = &[
    ("ANTHROPIC_ADMIN_KEY", "anthropic_admin_key"),
    ("ANTHROPIC_API_KEY", "anthropic_key"),
    ("ANTHROPIC_AUTH_TOKEN", "anthropic_oauth"),
    ("AWS_ACCESS_KEY_ID", "aws_key_id"),
    ("AWS_BEARER_TOKEN_BEDROCK", "bedrock_key"),
    ("AWS_SECRET_ACCESS_KEY", "aws_secret"),
    ("AZURE_CLIENT_SECRET", "azure_secret"),
    ("AZURE_OPENAI_API_KEY", "azure_openai_key"),
    ("COHERE_API_KEY", "cohere_key"),
    ("CO_API_KEY", "cohere_key"),
    ("DATABRICKS_TOKEN", "databricks_token"),
    ("DEEPSEEK_API_KEY", "deepseek_key"),
    ("DIGITALOCEAN_ACCESS_TOKEN", "digitalocean_token"),
    ("FIGMA_TOKEN", "figma_token"),
    ("GEMINI_API_KEY", "google_key"),
    ("GH_TOKEN", "github_token"),
    ("GITHUB_PAT", "github_token"),
    ("GITHUB_TOKEN", "github_token"),
    ("GITLAB_TOKEN", "gitlab_token"),
    ("GOOGLE_API_KEY", "google_key"),
    ("GOOGLE_GENERATIVE_AI_API_KEY", "google_key"),
    ("GRAFANA_TOKEN", "grafana_token"),
    ("GROQ_API_KEY", "groq_key"),
    ("HF_TOKEN", "huggingface_token"),
    ("HUGGINGFACEHUB_API_TOKEN", "huggingface_token"),
    ("HUGGING_FACE_HUB_TOKEN", "huggingface_token"),
    ("LANGCHAIN_API_KEY", "langsmith_key"),
    ("LANGSMITH_API_KEY", "langsmith_key"),
    ("LINEAR_API_KEY", "linear_key"),
    ("MISTRAL_API_KEY", "mistral_key"),
    ("NODE_AUTH_TOKEN", "npm_token"),
    ("NOTION_API_KEY", "notion_token"),
    ("NOTION_TOKEN", "notion_token"),
    ("NPM_TOKEN", "npm_token"),
    ("NVIDIA_API_KEY", "nvidia_key"),
    ("OPENAI_ADMIN_KEY", "openai_admin_key"),
    ("OPENAI_API_KEY", "openai_key"),
    ("OPENROUTER_API_KEY", "openrouter_key"),
    ("PERPLEXITY_API_KEY", "perplexity_key"),
    ("PPLX_API_KEY", "perplexity_key"),
    ("REPLICATE_API_TOKEN", "replicate_token"),
    ("SENDGRID_API_KEY", "sendgrid_key"),
    ("SLACK_BOT_TOKEN", "slack_token"),
    ("SLACK_TOKEN", "slack_token"),
    ("SLACK_WEBHOOK_URL", "slack_webhook"),
    ("STRIPE_API_KEY", "stripe_key"),
    ("STRIPE_SECRET_KEY", "stripe_key"),
    ("TELEGRAM_BOT_TOKEN", "telegram_token"),
    ("TOGETHER_API_KEY", "together_key"),
    ("VAULT_TOKEN", "vault_token"),
    ("XAI_API_KEY", "xai_key"),
];

#[cfg(test)]
mod tests;
