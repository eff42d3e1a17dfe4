//! A file of the catalogue, read strictly.

use yaml::{Fields, Node, Problem};

use super::{
    Elsewhere, IdForm, Provider, TimeClass, Undated,
    key::{Glob, Keyed},
};

pub(super) fn provider(node: &Node<'_>) -> Result<Provider, Problem> {
    let mut fields = Fields::of(node, "the provider")?;
    let name = fields.required("provider")?.text("the provider's name")?.to_owned();
    let hosts = globs(fields.required("hosts")?, "a host")?;
    let elsewhere = fields.optional("elsewhere").map(elsewhere).transpose()?;
    let undated = fields.required("undated")?.choice("`undated`", &UNDATED)?;
    let owners = match fields.optional("owners") {
        Some(node) => texts(node, "an owner's key")?,
        None => vec!["id".to_owned()],
    };
    let ids = keyed(fields.required("ids")?, id_rule)?;
    let times = keyed(fields.required("times")?, time_rule)?;
    let mut headers = Fields::of(fields.required("headers")?, "the headers")?;
    let header_ids = list(headers.required("ids")?, "the headers with ids", header_rule)?;
    let header_times = globs(headers.required("times")?, "a header")?;
    let header_moments = globs(headers.required("moments")?, "a header")?;
    headers.finish()?;
    fields.finish()?;
    Ok(Provider {
        name,
        hosts,
        elsewhere,
        owners,
        undated,
        ids,
        times,
        header_ids,
        header_times,
        header_moments,
    })
}

fn elsewhere(node: &Node<'_>) -> Result<Elsewhere, Problem> {
    let mut fields = Fields::of(node, "`elsewhere`")?;
    let paths = texts(fields.required("paths")?, "a path")?;
    let header = fields.required("header")?.text("the header")?.to_owned();
    fields.finish()?;
    Ok(Elsewhere { paths, header })
}

/// Keys and what holds for them.
type Rule<T> = (Vec<String>, T);

fn id_rule(node: &Node<'_>) -> Result<Rule<IdForm>, Problem> {
    let mut fields = Fields::of(node, "the rule for ids")?;
    let keys = texts(fields.required("keys")?, "a key")?;
    let form = id_form(fields.required("form")?)?;
    fields.finish()?;
    Ok((keys, form))
}

fn header_rule(node: &Node<'_>) -> Result<(Vec<Glob>, IdForm), Problem> {
    let mut fields = Fields::of(node, "the rule for headers")?;
    let names = globs(fields.required("names")?, "a header")?;
    let form = id_form(fields.required("form")?)?;
    fields.finish()?;
    Ok((names, form))
}

fn time_rule(node: &Node<'_>) -> Result<Rule<TimeClass>, Problem> {
    let mut fields = Fields::of(node, "the rule for times")?;
    let keys = texts(fields.required("keys")?, "a key")?;
    let apart = fields.optional("apart").map(|node| node.boolean("`apart`")).transpose()?;
    fields.finish()?;
    let class = if apart == Some(true) { TimeClass::Apart } else { TimeClass::Shared };
    Ok((keys, class))
}

/// One of the words, or a mapping of one key.
fn id_form(node: &Node<'_>) -> Result<IdForm, Problem> {
    if node.as_text().is_some() {
        return node.choice("the form", &FORMS);
    }
    let mut fields = Fields::of(node, "the form")?;
    let prefix = fields.optional("prefix");
    let opaque = fields.optional("opaque");
    fields.finish()?;
    match (prefix, opaque) {
        (Some(node), None) => {
            let mut prefixes = texts(node, "a prefix")?;
            // The longest first: `batch_req_` is more than a `batch_`.
            prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
            Ok(IdForm::Prefix(prefixes))
        }
        (None, Some(node)) => {
            let template = node.text("the template")?;
            let first = template.find('#').unwrap_or(template.len());
            let digits = template[first..].bytes().take_while(|&b| b == b'#').count();
            match digits >= 6 && !template[first + digits..].contains('#') {
                true => Ok(IdForm::Opaque(template.to_owned())),
                false => {
                    Err(Problem::new(node.span, "expected a template with one run of six or more `#` signs"))
                }
            }
        }
        _ => Err(Problem::new(node.span, "expected either `prefix` or `opaque` as the form")),
    }
}

fn keyed<T>(node: &Node<'_>, rule: fn(&Node<'_>) -> Result<Rule<T>, Problem>) -> Result<Keyed<T>, Problem> {
    let rules = list(node, "the rules", rule)?;
    Keyed::new(rules).ok_or_else(|| Problem::new(node.span, "expected keys with at most one `*`"))
}

fn globs(node: &Node<'_>, what: &str) -> Result<Vec<Glob>, Problem> {
    list(node, what, |node| {
        let text = node.text("the name")?;
        Glob::parse(text).ok_or_else(|| Problem::new(node.span, "expected a name with at most one `*`"))
    })
}

fn texts(node: &Node<'_>, what: &str) -> Result<Vec<String>, Problem> {
    list(node, what, |node| Ok(node.text("the text")?.to_owned()))
}

fn list<T>(
    node: &Node<'_>,
    what: &str,
    item: impl Fn(&Node<'_>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    node.sequence(what)?.iter().map(item).collect()
}

const UNDATED: [(&str, Undated); 2] = [("new", Undated::New), ("kept", Undated::Kept)];

const FORMS: [(&str, IdForm); 4] =
    [("number", IdForm::Number), ("node", IdForm::Node), ("uuid", IdForm::Uuid), ("etag", IdForm::Etag)];
