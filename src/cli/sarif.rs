//! Findings as a SARIF 2.1.0 log, the format in which code scanners hand them on.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;

use ptx_isa::diagnostic::{Code, Diagnostic, Severity};
use serde::Serialize;

use super::findings::{Source, in_full};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Separator between results.
pub(super) const SEPARATOR: &str = ",";

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    information_uri: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Message,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Fix>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
    byte_offset: usize,
    byte_length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fix {
    description: Message,
    artifact_changes: [ArtifactChange; 1],
    properties: Safety,
}

/// Whether an edit keeps the meaning, which SARIF has no word for.
#[derive(Serialize)]
struct Safety {
    safe: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange {
    artifact_location: ArtifactLocation,
    replacements: [Replacement; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Message,
}

/// The begin of a log, up to where its results are.
pub(super) fn begin() -> io::Result<String> {
    let rule =
        |code: &Code| Rule { id: code.as_str(), short_description: Message { text: code.description().to_owned() } };
    let driver = Driver {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
        rules: Code::ALL.iter().map(rule).collect(),
    };
    let tool = serde_json::to_string(&Tool { driver })?;
    let run = format!("{{\"tool\":{tool},\"columnKind\":\"utf16CodeUnits\",\"results\":[");
    Ok(format!("{{\"$schema\":\"{SCHEMA}\",\"version\":\"2.1.0\",\"runs\":[{run}"))
}

/// The end of a log: which files could not be read.
pub(super) fn end(out: &mut impl Write, failed: &[(usize, String)]) -> io::Result<()> {
    let notification =
        |(_, problem): &(usize, String)| Notification { level: "error", message: Message { text: problem.clone() } };
    let invocation = Invocation {
        execution_successful: failed.is_empty(),
        tool_execution_notifications: failed.iter().map(notification).collect(),
    };
    write!(out, "\n],\"invocations\":[")?;
    serde_json::to_writer(&mut *out, &invocation)?;
    writeln!(out, "]}}]}}")
}

/// A result, behind the separator.
pub(super) fn write(out: &mut impl Write, source: &Source<'_>, finding: &Diagnostic) -> io::Result<()> {
    let fix = |fix: &ptx_isa::diagnostic::Fix| Fix {
        description: Message {
            text: match fix.text.is_empty() {
                true => "leave it out".to_owned(),
                false => format!("write `{}`", fix.text),
            },
        },
        artifact_changes: [ArtifactChange {
            artifact_location: location(source),
            replacements: [Replacement {
                deleted_region: region(source, &fix.span),
                inserted_content: Message { text: fix.text.clone() },
            }],
        }],
        properties: Safety { safe: fix.safe },
    };
    let place = PhysicalLocation { artifact_location: location(source), region: region(source, &finding.span) };
    let result = Finding {
        rule_id: finding.code.as_str(),
        rule_index: Code::ALL.iter().position(|code| *code == finding.code).unwrap_or_default(),
        level: match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        message: Message { text: in_full(finding) },
        locations: [Location { physical_location: place }],
        fixes: finding.fixes.iter().map(fix).collect(),
    };
    writeln!(out, "{SEPARATOR}")?;
    Ok(serde_json::to_writer(out, &result)?)
}

fn region(source: &Source<'_>, span: &Range<usize>) -> Region {
    let (start, end) = (source.lines().utf16_position(span.start), source.lines().utf16_position(span.end));
    Region {
        start_line: start.line,
        start_column: start.column,
        end_line: end.line,
        end_column: end.column,
        byte_offset: span.start,
        byte_length: span.len(),
    }
}

/// The name of a file as a reference relative to where the tool runs.
fn location(source: &Source<'_>) -> ArtifactLocation {
    let mut uri = String::new();
    for byte in source.name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            b'\\' if cfg!(windows) => uri.push('/'),
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    ArtifactLocation { uri }
}
