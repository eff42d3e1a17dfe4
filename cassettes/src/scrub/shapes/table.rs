//! The shapes.

use std::ops::Range;

use super::{Letters, custom};

/// A mark and what stands behind it.
pub(super) struct Shape {
    pub(super) kind: &'static str,
    pub(super) mark: &'static str,
    pub(super) tail: Tail,
}

pub(super) enum Tail {
    /// So many of these letters, and a boundary on both sides.
    Run { of: Letters, least: usize, most: usize },
    /// A rule of its own: where the token lies, given its mark.
    Custom(fn(&[u8], Range<usize>) -> Option<Range<usize>>),
}

const fn run(kind: &'static str, mark: &'static str, of: Letters, least: usize, most: usize) -> Shape {
    Shape { kind, mark, tail: Tail::Run { of, least, most } }
}

const fn custom(
    kind: &'static str,
    mark: &'static str,
    rule: fn(&[u8], Range<usize>) -> Option<Range<usize>>,
) -> Shape {
    Shape { kind, mark, tail: Tail::Custom(rule) }
}

use Letters::{Alphanumeric, Base64, Dotted, Hex, Letter, Lower, Upper, Word};

/// Sorted by who issues them. A longer mark wins over a shorter one that it starts with.
pub(super) const SHAPES: &[Shape] = &[
    // models
    run("anthropic_key", "sk-ant-api", Word, 60, 140),
    run("anthropic_admin_key", "sk-ant-admin", Word, 60, 140),
    run("anthropic_oauth", "sk-ant-oat", Word, 40, 200),
    run("anthropic_oauth", "sk-ant-ort", Word, 40, 200),
    run("anthropic_key", "sk-ant-", Word, 40, 200),
    run("openai_key", "sk-proj-", Word, 40, 200),
    run("openai_key", "sk-svcacct-", Word, 40, 200),
    run("openai_key", "sk-service-", Word, 40, 200),
    run("openai_admin_key", "sk-admin-", Word, 40, 200),
    run("openrouter_key", "sk-or-v1-", Hex, 64, 64),
    run("langfuse_key", "sk-lf-", Word, 36, 36),
    custom("openai_key", "sk-", custom::bare_sk),
    run("openai_key", "ek_", Hex, 32, 64),
    run("google_key", "AIza", Word, 35, 35),
    run("google_oauth", "ya29.", Word, 20, 2000),
    custom("google_refresh", "1//", custom::google_refresh),
    run("google_client_secret", "GOCSPX-", Word, 28, 28),
    run("huggingface_token", "hf_", Alphanumeric, 30, 40),
    run("huggingface_token", "api_org_", Letter, 34, 34),
    run("groq_key", "gsk_", Alphanumeric, 48, 60),
    run("xai_key", "xai-", Alphanumeric, 70, 90),
    run("perplexity_key", "pplx-", Alphanumeric, 40, 64),
    run("replicate_token", "r8_", Word, 37, 40),
    run("cerebras_key", "csk-", Alphanumeric, 40, 60),
    run("fireworks_key", "fw_", Alphanumeric, 20, 48),
    run("nvidia_key", "nvapi-", Word, 60, 70),
    run("elevenlabs_key", "sk_", Hex, 48, 48),
    run("langsmith_key", "lsv2_pt_", Word, 43, 43),
    run("langsmith_key", "lsv2_sk_", Word, 43, 43),
    run("pinecone_key", "pcsk_", Word, 60, 80),
    run("tavily_key", "tvly-", Word, 20, 64),
    run("firecrawl_key", "fc-", Hex, 32, 32),
    run("bedrock_key", "ABSK", Base64, 109, 280),
    run("bedrock_key", "bedrock-api-key-", Base64, 40, 2000),
    // clouds
    run("aws_key_id", "AKIA", Upper, 16, 16),
    run("aws_key_id", "ASIA", Upper, 16, 16),
    run("aws_key_id", "ABIA", Upper, 16, 16),
    run("aws_key_id", "ACCA", Upper, 16, 16),
    custom("aws_secret", "aws_secret_access_key", custom::behind_a_name),
    custom("aws_secret", "AWS_SECRET_ACCESS_KEY", custom::behind_a_name),
    custom("aws_secret", "SecretAccessKey", custom::behind_a_name),
    custom("aws_secret", "secretAccessKey", custom::behind_a_name),
    custom("azure_secret", "0Q~", custom::azure_secret),
    custom("azure_secret", "1Q~", custom::azure_secret),
    custom("azure_secret", "2Q~", custom::azure_secret),
    custom("azure_secret", "3Q~", custom::azure_secret),
    custom("azure_secret", "4Q~", custom::azure_secret),
    custom("azure_secret", "5Q~", custom::azure_secret),
    custom("azure_secret", "6Q~", custom::azure_secret),
    custom("azure_secret", "7Q~", custom::azure_secret),
    custom("azure_secret", "8Q~", custom::azure_secret),
    custom("azure_secret", "9Q~", custom::azure_secret),
    custom("azure_key", "AccountKey=", custom::base64_behind),
    custom("azure_key", "SharedAccessKey=", custom::base64_behind),
    run("digitalocean_token", "dop_v1_", Hex, 64, 64),
    run("digitalocean_token", "doo_v1_", Hex, 64, 64),
    run("digitalocean_token", "dor_v1_", Hex, 64, 64),
    run("databricks_token", "dapi", Hex, 32, 34),
    run("vault_token", "hvs.", Word, 24, 200),
    run("vault_token", "hvb.", Word, 24, 300),
    run("supabase_key", "sbp_", Hex, 40, 40),
    run("planetscale_token", "pscale_tkn_", Word, 32, 64),
    run("doppler_token", "dp.pt.", Alphanumeric, 40, 44),
    run("terraform_token", "atlasv1.", Word, 40, 80),
    // code
    run("github_token", "ghp_", Alphanumeric, 36, 255),
    run("github_token", "gho_", Alphanumeric, 36, 255),
    run("github_token", "ghu_", Alphanumeric, 36, 255),
    run("github_token", "ghs_", Alphanumeric, 36, 255),
    run("github_token", "ghr_", Alphanumeric, 36, 255),
    run("github_pat", "github_pat_", Word, 82, 82),
    run("gitlab_token", "glpat-", Dotted, 20, 60),
    run("gitlab_token", "gldt-", Word, 20, 60),
    run("gitlab_token", "glrt-", Word, 20, 60),
    run("gitlab_token", "glcbt-", Word, 20, 80),
    run("gitlab_token", "glptt-", Word, 40, 60),
    run("gitlab_token", "glft-", Word, 20, 60),
    run("gitlab_token", "glsoat-", Word, 20, 60),
    run("gitlab_token", "glagent-", Word, 40, 70),
    run("npm_token", "npm_", Alphanumeric, 36, 36),
    run("pypi_token", "pypi-AgE", Word, 50, 400),
    run("docker_token", "dckr_pat_", Word, 27, 36),
    run("docker_token", "dckr_oat_", Word, 32, 44),
    run("rubygems_key", "rubygems_", Hex, 48, 48),
    run("atlassian_token", "ATATT3", Base64, 60, 260),
    run("bitbucket_token", "ATBB", Alphanumeric, 32, 40),
    run("postman_key", "PMAK-", Word, 59, 59),
    // services
    custom("slack_token", "xox", custom::slack),
    run("slack_token", "xapp-", Word, 40, 200),
    custom("slack_webhook", "hooks.slack.com/services/", custom::slack_webhook),
    custom("telegram_token", ":AA", custom::telegram),
    run("stripe_key", "sk_live_", Alphanumeric, 10, 120),
    run("stripe_key", "sk_test_", Alphanumeric, 10, 120),
    run("stripe_key", "rk_live_", Alphanumeric, 10, 120),
    run("stripe_key", "rk_test_", Alphanumeric, 10, 120),
    run("stripe_key", "whsec_", Base64, 32, 64),
    run("sendgrid_key", "SG.", Dotted, 66, 66),
    run("mailgun_key", "key-", Lower, 32, 32),
    run("shopify_token", "shpat_", Hex, 32, 32),
    run("shopify_token", "shpss_", Hex, 32, 32),
    run("shopify_token", "shpca_", Hex, 32, 32),
    run("linear_key", "lin_api_", Alphanumeric, 40, 40),
    run("notion_token", "ntn_", Alphanumeric, 40, 50),
    run("notion_token", "secret_", Alphanumeric, 43, 43),
    run("figma_token", "figd_", Word, 40, 60),
    run("grafana_token", "glsa_", Word, 41, 41),
    run("grafana_token", "glc_", Base64, 32, 400),
    run("newrelic_key", "NRAK-", Upper, 27, 27),
    run("sentry_token", "sntrys_", Base64, 40, 300),
    run("sentry_token", "sntryu_", Hex, 64, 64),
    run("square_token", "sq0atp-", Word, 22, 22),
    run("square_token", "sq0csp-", Word, 43, 43),
    run("age_key", "AGE-SECRET-KEY-1", Upper, 58, 58),
    run("onepassword_token", "ops_eyJ", Word, 100, 2000),
    // any
    custom("jwt", "eyJ", custom::jwt),
    custom("private_key", "-----BEGIN ", custom::pem),
];
