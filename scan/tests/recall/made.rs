//! Secrets made up from a seed: nothing that looks like one stands in the repository.

/// A small generator: the same seed gives the same secrets on every machine.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % most
    }

    pub fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    /// Filled in where the pattern says: `^` and a letter for the alphabet, and a length.
    fn fill(&mut self, pattern: &str) -> String {
        let mut out = String::new();
        let mut rest = pattern;
        while let Some((before, behind)) = rest.split_once('^') {
            let (alphabet, behind) = behind.split_at(1);
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            out += before;
            out += &self.text(alphabet_of(alphabet), behind[..digits].parse().unwrap());
            rest = &behind[digits..];
        }
        out + rest
    }
}

/// A kind with how one of it looks. The marks between the pieces of a prefix keep it from being one here.
pub const TOKENS: &[(&str, &str)] = &[
    ("openai_key", "sk|-proj-^w74T3Blbk|FJ^w74"),
    ("openai_key", "sk|-svcacct-^w58T3Blbk|FJ^w58"),
    ("openai_key", "sk|-admin-^w58T3Blbk|FJ^w58"),
    ("openai_key", "sk|-^a20T3Blbk|FJ^a20"),
    ("anthropic_key", "sk|-ant-api03-^w93AA"),
    ("anthropic_key", "sk|-ant-admin01-^w93AA"),
    ("anthropic_key", "sk|-ant-oat01-^w86"),
    ("openrouter_key", "sk|-or-v1-^h64"),
    ("secret_key", "sk|-^b32"),
    ("google_key", "AI|za^w35"),
    ("google_oauth_token", "ya|29.^w120"),
    ("google_oauth_token", "1|//0^w60"),
    ("google_client_secret", "GOC|SPX-^w28"),
    ("github_token", "gh|p_^a36"),
    ("github_token", "gh|o_^a36"),
    ("github_token", "gh|s_^a36"),
    ("github_token", "github|_pat_^a22_^a59"),
    ("aws_key_id", "AK|IA^u16"),
    ("aws_key_id", "AS|IA^u16"),
    ("bedrock_key", "AB|SK^a120"),
    ("huggingface_token", "h|f_^l34"),
    ("huggingface_token", "api|_org_^l34"),
    ("groq_key", "gs|k_^a52"),
    ("xai_key", "xa|i-^a80"),
    ("perplexity_key", "pp|lx-^a48"),
    ("replicate_token", "r|8_^a37"),
    ("langsmith_key", "ls|v2_pt_^h32_^h10"),
    ("slack_token", "xo|xb-^d12-^d12-^a24"),
    ("slack_token", "xa|pp-1-A^u10-^d13-^h64"),
    ("gitlab_token", "gl|pat-^w20"),
    ("npm_token", "np|m_^a36"),
    ("pypi_token", "pypi|-AgEIcHlwaS5vcmc^w80"),
    ("stripe_key", "sk|_live_^a24"),
    ("stripe_key", "rk|_test_^a40"),
    ("sendgrid_key", "S|G.^w22.^w43"),
    ("telegram_token", "^d9:A|A^w33"),
    ("digitalocean_token", "do|p_v1_^h64"),
    ("shopify_token", "sh|pat_^h32"),
    ("linear_key", "lin|_api_^a40"),
    ("notion_token", "nt|n_^a46"),
    ("figma_token", "fi|gd_^w40"),
    ("databricks_token", "da|pi^h32"),
    ("vault_token", "hv|s.^a90"),
    ("grafana_token", "gl|sa_^a32_^h8"),
    ("docker_token", "dckr|_pat_^w27"),
    ("nvidia_key", "nv|api-^w64"),
    ("elevenlabs_key", "s|k_^h48"),
    ("tavily_key", "tv|ly-dev-^a32"),
    ("pinecone_key", "pc|sk_^a6_^a63"),
    ("fireworks_key", "f|w_^a24"),
    ("sentry_token", "sntr|yu_^h64"),
    ("newrelic_key", "NR|AK-^v27"),
    ("age_key", "AGE-SECRET|-KEY-1^g58"),
    ("azure_secret", "^w3^d1Q|~^a34"),
    ("jwt", "ey|JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ey|J^a60.^w43"),
];

pub fn make(pattern: &str, dice: &mut Dice) -> String {
    dice.fill(&pattern.replace('|', ""))
}

fn alphabet_of(letter: &str) -> &'static str {
    match letter {
        "a" => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "b" => "0123456789abcdefghijklmnopqrstuvwxyz",
        "d" => "0123456789",
        "g" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        "h" => "0123456789abcdef",
        "l" => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "p" => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!+*",
        "u" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "v" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "w" => {
            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
        }
        other => panic!("no alphabet {other}"),
    }
}
