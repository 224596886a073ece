//! `ptx-isa lsp`, driven over standard input and output by the messages that editors send.
#![cfg(feature = "lsp")]

#[path = "lsp/client.rs"]
mod client;

use std::process::Command;
use std::time::Instant;

use client::{Client, URI};
use serde_json::{Value, json};

const MODULE: &str = include_str!("modules/rustc-1.97-sm_80.ptx");
const SPOILT: &str = include_str!("modules/rustc-1.97-sm_80.spoilt.ptx");

/// Removes the bar `|` from a text and returns the text with the position of the bar.
fn marked(text: &str) -> (String, Value) {
    let offset = text.find('|').expect("a bar");
    (text.replacen('|', "", 1), position(text, offset))
}

/// The position of an offset, in UTF-16.
fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    json!({ "line": before.matches('\n').count(), "character": before[line..].encode_utf16().count() })
}

/// The position of the nth of some pieces of the module.
fn place(text: &str, piece: &str, nth: usize) -> Value {
    let (offset, _) = text.match_indices(piece).nth(nth).unwrap_or_else(|| panic!("no `{piece}` in the text"));
    position(text, offset)
}

/// Returns the part of a text in a range.
fn part(text: &str, range: &Value) -> String {
    let offset = |position: &Value| {
        let (line, character) = (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
        let start = text.split_inclusive('\n').take(line as usize).map(str::len).sum::<usize>();
        let units: Vec<u16> = text[start..].encode_utf16().take(character as usize).collect();
        start + String::from_utf16(&units).expect("whole characters").len()
    };
    text[offset(&range["start"])..offset(&range["end"])].to_owned()
}

/// Returns a kernel with this body, and the position of the bar `|` in it.
fn in_kernel(body: &str) -> (String, Value) {
    marked(&format!(
        ".version 7.0\n.target sm_80\n.entry k(.param .u64 size)\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<5>;\n.reg .f32 %f<3>;\n{body}\nDONE:\nret;\n}}\n"
    ))
}

#[test]
fn a_session_begins_and_ends_as_the_protocol_says() {
    let mut client = Client::start();
    let early = client.answer("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    let answer = client.ask("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    let capabilities = &answer["capabilities"];
    assert_eq!(
        (&answer["serverInfo"]["name"], &capabilities["positionEncoding"]),
        (&json!("ptx-isa"), &json!("utf-16"))
    );
    for capability in [
        "hover",
        "definition",
        "references",
        "documentSymbol",
        "completion",
        "codeAction",
        "rename",
        "documentHighlight",
        "semanticTokens",
        "foldingRange",
        "documentFormatting",
        "signatureHelp",
        "workspaceSymbol",
        "inlayHint",
        "codeLens",
    ] {
        assert!(!capabilities[format!("{capability}Provider")].is_null(), "{capability}");
    }
    assert_eq!(capabilities["textDocumentSync"], 2);
    client.notify("initialized", json!({}));
    assert_eq!(client.end(), Some(0));

    // A client that exits without a shutdown request makes the server exit with 1.
    let mut client = Client::initialized(&[]);
    client.notify("exit", Value::Null);
    assert_eq!(client.server.wait().expect("it ends").code(), Some(1));
}

#[test]
fn findings_come_as_one_types() {
    let (mut client, found) = Client::with(SPOILT);
    let [lo, guard, order] = found.as_slice() else { panic!("three findings: {found:?}") };
    assert_eq!((part(SPOILT, &lo["range"]).as_str(), lo["severity"].as_i64()), ("lo", Some(1)));
    assert_eq!((&lo["code"], &lo["source"]), (&json!("illegal-modifier"), &json!("ptx-isa")));
    let message = lo["message"].as_str().unwrap();
    assert!(
        message.starts_with("`.lo` is not a valid `.CmpOp`") && message.contains("\nhelp: `.CmpOp` is one of"),
        "{message}"
    );
    assert_eq!((part(SPOILT, &guard["range"]).as_str(), &guard["code"]), ("%rd4", &json!("operand-type")));
    assert_eq!((order["severity"].as_i64(), &order["code"]), (Some(2), &json!("modifier-order")));

    // Corrected letter by letter, it is fine; `.lt` for `.lo`, the register, the order.
    let lt = json!({ "range": lo["range"], "text": "l" });
    let more = json!({ "line": lo["range"]["start"]["line"], "character": lo["range"]["start"]["character"].as_u64().unwrap() + 1 });
    let found = client.change(json!([lt, { "range": { "start": more, "end": more }, "text": "t" }]));
    assert_eq!(found.len(), 2);
    let found = client.change(json!([{ "range": guard["range"], "text": "%rs4" }]));
    assert_eq!(found.len(), 1);
    let found = client.change(json!([{ "range": order["range"], "text": "setp.lt.ftz.f32" }]));
    assert!(found.is_empty(), "{found:?}");
    // The text that came of it is the module's.
    let (line, found) = (json!({ "line": 0, "character": 0 }), client.change(json!([{ "text": MODULE }])));
    assert!(found.is_empty() && client.at("textDocument/hover", &line).is_null());

    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert!(client.published().is_empty());
    assert_eq!(client.end(), Some(0));
}

fn quick_fixes(client: &mut Client, finding: &Value) -> Value {
    let context = json!({ "diagnostics": [], "only": ["quickfix"] });
    let params = json!({ "textDocument": { "uri": URI }, "range": finding["range"], "context": context });
    client.ask("textDocument/codeAction", params)
}

/// Each finding of a text is corrected by the first quick fix there is, until none is left.
#[test]
fn quick_fixes_make_it_right() {
    let fixed = |body: &str, titles: &[&str]| {
        let (text, _) = in_kernel(&format!("{body}|"));
        let (mut client, mut found) = Client::with(&text);
        for title in titles {
            let finding = found.first().expect("something is wrong");
            let actions = quick_fixes(&mut client, finding);
            assert_eq!(actions[0]["title"], *title, "{finding}");
            assert_eq!(actions[0]["diagnostics"][0], *finding);
            let edit = actions[0]["edit"]["changes"][URI][0].clone();
            found = client.change(json!([{ "range": edit["range"], "text": edit["newText"] }]));
        }
        assert!(found.is_empty(), "{found:?}");
    };
    fixed("ad.s32 %r1, %r1, %r2;", &["Write `add`"]);
    fixed("selp.b33 %r1, %r1, %r2, %p1;", &["Write `selp.b32`"]);
    fixed("setp.lo.s32 %p1, %r1, %r2;", &["Write `setp.lt.s32`"]);
    fixed("ld.relaxed.gpu.globl.u32 %r1, [%r2];", &["Write `ld.relaxed.gpu.global.u32`"]);
    fixed("set.u32.f32.lt %r1, %f1, %f2;", &["Write `set.lt.u32.f32`"]);
    fixed("add.s32 %r1, %r01, %r002;", &["Write `%r1`", "Write `%r2`"]);
    fixed("add.s32 %r1, %r1, %r2 // a comment\n\nsub.s32 %r1, %r1, %r2;", &["Insert `;`"]);
    fixed("ld.global.L2::128B.u32 %r1, [%r2];", &["Write `7.4`"]);
    let (text, _) = in_kernel(".reg .b16 h;\nsetp.lt.bf16 %p1, h, h;|");
    let (mut client, found) = Client::with(&text.replace("7.0", "7.8"));
    let actions = quick_fixes(&mut client, &found[0]);
    assert_eq!((&actions[0]["title"], actions.as_array().map(Vec::len)), (&json!("Write `sm_90`"), Some(1)));
}

/// While a statement is typed, its own line has the error, and not the next.
#[test]
fn an_unfinished_statement_is_blamed_itself() {
    for (body, message) in [
        ("add.s32 ", "this statement is not finished: an operand is expected here"),
        ("add.s32 %r1, // the sum", "this statement is not finished: an operand is expected here"),
        ("bra ", "this statement is not finished: an operand is expected here"),
        ("ret", "`;` is missing behind this"),
        ("bar.sync 0", "`;` is missing behind this"),
        ("ld.global.u32 %r1, [", "this statement is not finished: an operand is expected here"),
        ("add.s32 %r1, %r1, %r2\n\n", "`;` is missing behind this"),
    ] {
        let (text, _) = in_kernel(&format!("{body}|\nmov.u32 %r1, %tid.x;"));
        let (_, found) = Client::with(&text);
        let line = text.lines().position(|line| line.trim_end() == body.trim_end()).expect("the line");
        let own = &text.lines().nth(line).expect("the line");
        let end = own.split("//").next().expect("a part").trim_end().len();
        let places: Vec<_> = found.iter().map(|one| (&one["range"]["end"], &one["message"])).collect();
        assert_eq!(places, [(&json!({ "line": line, "character": end }), &json!(message))], "{body}");
    }
}

#[test]
fn one_action_makes_all_safe_fixes() {
    let body = "setp.s32.lt %p1, %r1, %r2;\nad.s32 %r1, %r1, %r2;\nadd.s32 %r1, %r1, %r2";
    let (text, _) = in_kernel(&format!("{body}|"));
    let (mut client, found) = Client::with(&text);
    let all = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let mut ask = |only: &str| {
        let context = json!({ "diagnostics": [], "only": [only] });
        client
            .ask("textDocument/codeAction", json!({ "textDocument": { "uri": URI }, "range": all, "context": context }))
    };
    let safe: Vec<Value> =
        ask("quickfix").as_array().expect("actions").iter().map(|it| it["data"]["safe"].clone()).collect();
    assert_eq!((safe, found.len()), (vec![json!(true), json!(false), json!(true)], 3));
    for kind in ["source", "source.fixAll"] {
        let actions = ask(kind);
        let edits = actions[0]["edit"]["changes"][URI].as_array().expect("edits").clone();
        let texts: Vec<&str> = edits.iter().filter_map(|edit| edit["newText"].as_str()).collect();
        assert_eq!((texts, actions.as_array().map(Vec::len)), (vec!["setp.lt.s32", ";"], Some(1)));
    }
    assert_eq!(ask("refactor"), json!([]));
}

#[test]
fn a_second_declaration_tells_of_the_first() {
    let (text, _) = in_kernel(".reg .b32 %q;\n.reg .f32 %q;|");
    let (_client, found) = Client::with(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    let first = &found[0]["relatedInformation"][0]["location"];
    assert_eq!((&first["uri"], &first["range"]["start"]), (&json!(URI), &place(&text, "%q", 0)));
}

#[test]
fn hover_is_what_explain_prints_for_the_module() {
    let (mut client, _) = Client::with(SPOILT);
    // Of a statement all that is written, of a mnemonic with an error why it has one.
    let statement = |piece: &str| SPOILT.lines().find_map(|line| line.find(piece).map(|at| line[at..].trim()));
    for (mnemonic, asked) in [
        ("setp.ge.s64", statement("setp.ge.s64")),
        ("setp.lo.f16", None),
        ("ld.global.b16", statement("ld.global.b16")),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-isa"));
        let explained = command
            .args(["explain", "--ptx", "7.0", "--target", "sm_80", asked.unwrap_or(mnemonic)])
            .output()
            .expect("it runs");
        let explained = String::from_utf8(explained.stdout).expect("text");
        assert!(explained.len() > 50);
        let shown = client.hover(&place(SPOILT, mnemonic, 0));
        assert_eq!(shown, format!("```text\n{}\n```", explained.trim_end()), "{mnemonic}");
    }
    let mut shown = |piece, nth| client.hover(&place(SPOILT, piece, nth));
    assert_eq!(shown("%rd5", 0), "```ptx\n.reg .b64 %rd<13>\n```");
    assert_eq!(shown("k_f16_param_0]", 0), "```ptx\n.param .u64 .ptr .align 1 k_f16_param_0\n```");
    assert!(shown("k_f16(", 0).starts_with("```ptx\n.visible .entry k_f16( .param"));
    assert!(shown("%ctaid.x", 0).starts_with("```ptx\n%ctaid // "));
    assert_eq!(shown("Generated", 0), "");
    assert_eq!(shown(".address_size", 0), "");
}

/// Hover agrees with the diagnostics on free modifiers, special registers, and operands that are not variables.
#[test]
fn hover_counts_all_of_a_statement() {
    let (text, _) = in_kernel(
        ".reg .u64 %a;\nld.relaxed.cluster.u32 %r1, [%a];\nmov.u32 %r1, %clusterid.x;\nmov.u32 %r1, %tid.x;|",
    );
    let (mut client, found) = Client::with(&text);
    assert_eq!(found.len(), 2, "{found:?}");
    let mut shown = |piece| client.hover(&place(&text, piece, 0));
    for (piece, need) in [
        ("ld.relaxed", "`ld.u32` with `.cluster` needs PTX 7.8, sm_90"),
        ("mov.u32 %r1, %cl", "`%clusterid` needs PTX 7.8, sm_90"),
    ] {
        let hover = shown(piece);
        assert!(hover.contains("PTX 7.8, sm_90\n") && hover.contains(need), "{hover}");
    }
    assert!(shown("mov.u32 %r1, %tid").contains("Available."));
}

#[test]
fn opcodes_and_modifiers_are_those_with_which_some_form_remains() {
    let complete = |body: &str| {
        let (text, at) = in_kernel(body);
        Client::with(&text).0.completions(&at)
    };
    let opcodes = complete("|");
    assert!(["add", "setp", "ld", "bra"].iter().all(|opcode| opcodes.iter().any(|found| found == opcode)));
    assert_eq!(complete("slc|"), ["slct"]);
    assert_eq!(complete("setp.lo.|"), ["u16", "u32", "u64", "and", "or", "xor"]);
    // Completion in the middle of a mnemonic takes the modifiers after it into account.
    assert_eq!(complete("setp.|.s32 %p1, %r1, %r2;"), ["eq", "ne", "lt", "le", "gt", "ge"]);
    assert_eq!(complete("setp.l|t.and.b32 %p1, %r1, %r2, %p2;"), ["eq", "ne"]);
    // `.f16` came with sm_53, `.bf16` with PTX 7.8: this is PTX 7.0.
    let types = complete("setp.lt.|");
    assert!(types.contains(&"f16".to_owned()) && !types.contains(&"bf16".to_owned()), "{types:?}");
    // Free modifiers: a relaxed load needs a scope.
    let load = complete("ld.relaxed.|");
    assert!(load.contains(&"gpu".to_owned()) && !load.contains(&"u32".to_owned()), "{load:?}");
    // A cluster came with PTX 7.8 and sm_90: no modifier behind it makes such a load legal.
    assert!(!load.contains(&"cluster".to_owned()), "{load:?}");
    assert!(complete("// setp.|").is_empty());
    assert!(complete("setp.u32.lo.|").is_empty());
}

#[test]
fn names_are_those_in_scope_and_first_those_that_fit() {
    let complete = |body: &str| {
        let (text, at) = in_kernel(body);
        Client::with(&text).0.completions(&at)
    };
    let all = complete("{ .reg .b32 inner; }\nadd.s32 %r1, |, %r2;");
    assert_eq!(&all[..5], ["%r0", "%r1", "%r2", "%r3", "%r4"]);
    for name in ["%f2", "%p0", "size", "DONE", "%tid", "k"] {
        assert!(all.iter().any(|found| found == name), "{name}: {all:?}");
    }
    assert!(!all.iter().any(|found| found == "inner"));
    assert_eq!(complete("@|")[..3], ["%p0", "%p1", "%p2"]);
    assert_eq!(complete("bra |;")[0], "DONE");
    assert_eq!(complete("add.f32 %f1, %f|")[..3], ["%f0", "%f1", "%f2"]);
    assert_eq!(complete("{ .reg .b32 inner; add.s32 inn|; }")[0], "inner");
    // A family may be long: what is written narrows it.
    let (text, at) = in_kernel(".reg .b32 %x<5000>;\nadd.s32 %x1, %x12|");
    let mut client = Client::with(&text).0;
    let list = client.at("textDocument/completion", &at);
    assert_eq!(list["isIncomplete"], true);
    let family = client.completions(&at).into_iter().filter(|name| name.starts_with("%x")).collect::<Vec<_>>();
    assert_eq!((family[0].as_str(), family[1].as_str(), family.len()), ("%x12", "%x120", 100));
}

#[test]
fn names_are_ranked_by_the_operand_at_hand() {
    let complete = |body: &str| {
        let (text, at) = in_kernel(&format!(".reg .b64 %rd<3>;\n.shared .b32 tile[4];\n{body}"));
        Client::with(&text).0.completions(&at)
    };
    // The destination is a predicate, the sources are integers.
    assert_eq!(complete("setp.lt.s32 |;")[..3], ["%p0", "%p1", "%p2"]);
    assert_eq!(complete("setp.lt.s32 %p1, %r1, |;")[..5], ["%r0", "%r1", "%r2", "%r3", "%r4"]);
    assert_eq!(complete("selp.b32 %r1, %r2, %r3, |;")[..3], ["%p0", "%p1", "%p2"]);
    // An address is a wide register or a variable; a comma in brackets or braces is none between operands.
    let address = complete("st.shared.v2.b32 [|], {%r1, %r2};");
    let at = |name: &str| address.iter().position(|found| found == name).expect(name);
    assert!(at("%rd0") < at("%f0") && at("tile") < at("%f0") && at("%f0") < at("%laneid"), "{address:?}");
    assert_eq!(complete("mov.b64 {%r1, %r2}, |;")[..3], ["%rd0", "%rd1", "%rd2"]);
    // Special registers follow what is declared, where they may be read.
    let sources = complete("mov.u32 %r1, |;");
    let at = |name: &str| sources.iter().position(|found| found == name).expect(name);
    assert!(at("%r4") < at("%laneid") && at("%laneid") < at("%p0"), "{sources:?}");
    assert_eq!(complete("bra |;")[0], "DONE");
    // Of an address, variables in the space that the statement names.
    assert_eq!(complete("ld.param.u64 %rd1, [|];")[..3], ["size", "%rd0", "%rd1"]);
    assert_eq!(complete("ld.shared.u32 %r1, [|")[..2], ["tile", "%rd0"]);
    let halves = complete("mov.b64 {|");
    assert!(halves.iter().position(|name| name == "%r0") < halves.iter().position(|name| name == "%rd0"), "{halves:?}");
    // What follows the dot of a vector.
    assert_eq!(complete("mov.u32 %r1, %tid.|;"), ["x", "y", "z", "w"]);
    assert_eq!(complete(".reg .v2 .b32 %v; mov.u32 %r1, %v.|;"), ["x", "y"]);
    assert!(complete("mov.u32 %r1, %laneid.|;").is_empty());
    // A result may precede the function of a call; kernels are not called.
    let text = ".version 7.0\n.target sm_80\n.entry k() { ret; }\n.func (.reg .b32 d) f() { ret; }\n.entry l() {\n\
                .reg .b32 %r<3>;\ncall (%r1), |\nDONE:\nret;\n}\n";
    let (text, at) = marked(text);
    let called = Client::with(&text).0.completions(&at);
    let at = |name: &str| called.iter().position(|found| found == name).expect(name);
    assert!(at("f") == 0 && at("k") > at("%r0"), "{called:?}");
}

#[test]
fn words_of_directives_are_those_that_may_follow() {
    let complete = |text: &str| {
        let (text, at) = marked(text);
        Client::with(&text).0.completions(&at)
    };
    let has = |text: &str, words: &[&str]| {
        let found = complete(text);
        assert!(words.iter().all(|word| found.iter().any(|found| found == word)), "{text}: {found:?}");
    };
    has(".ver|", &[".version", ".target", ".visible", ".global"]);
    has(".version 8.|\n.target sm_80", &["9.0", "8.6"]);
    has(".version 8.0\n.target sm_|", &["sm_80", "sm_90a"]);
    has(".version 8.0\n.target sm_80\n.visible .en|", &[".entry", ".func"]);
    has(".version 8.0\n.target sm_80\n.entry k() .max|", &[".maxntid", ".minnctapersm"]);
    has(".version 8.0\n.target sm_80\n.entry k() {\n.reg .|\n}", &[".pred", ".b32", ".f64"]);
    assert!(!complete(".version 8.0\n.target sm_80\n.global .|").contains(&".pred".to_owned()));
}

#[test]
fn definitions_and_references_are_those_of_the_scope() {
    let (mut client, _) = Client::with(MODULE);
    let found = |client: &mut Client, piece: &str, nth| {
        let definition = client.at("textDocument/definition", &place(MODULE, piece, nth));
        (definition["range"]["start"].clone(), part(MODULE, &definition["range"]))
    };
    // `%rd4` is of the family of its function; so is that of the next one.
    let families: Vec<usize> = MODULE.match_indices("%rd<").map(|(at, _)| at).collect();
    assert_eq!(found(&mut client, "%rd4", 0), (position(MODULE, families[0]), "%rd".to_owned()));
    let later = MODULE[families[1]..].find("%rd4").unwrap() + families[1];
    let definition = client.at("textDocument/definition", &position(MODULE, later));
    assert_eq!(definition["range"]["start"], position(MODULE, families[1]));
    // A reference to a label may precede the label.
    assert_eq!(found(&mut client, "$L__BB0_7", 0), (place(MODULE, "$L__BB0_7:", 0), "$L__BB0_7".to_owned()));
    assert_eq!(found(&mut client, "k_f16_param_2]", 0).0, place(MODULE, "k_f16_param_2", 0));

    let mut references = |piece: &str, nth| {
        let all = client.at("textDocument/references", &place(MODULE, piece, nth));
        all.as_array().unwrap().iter().map(|at| part(MODULE, &at["range"])).collect::<Vec<_>>()
    };
    let body = &MODULE[families[0]..families[1]];
    let uses = |register: &str| {
        let part = |letter: char| letter.is_ascii_alphanumeric();
        body.match_indices(register).filter(|(at, _)| !body[at + register.len()..].starts_with(part)).count()
    };
    assert_eq!(references("%rd4", 0).iter().filter(|name| *name == "%rd4").count(), uses("%rd4"));
    assert!(uses("%rd4") > 2);
    assert_eq!(references("%rd<", 0).len(), (0..13).map(|number| uses(&format!("%rd{number}"))).sum::<usize>() + 1);
    assert_eq!(references("$L__BB0_7:", 0).len(), body.matches("$L__BB0_7").count());
}

#[test]
fn functions_are_found_where_they_are_called() {
    let text = "\
.version 7.0
.target sm_80
.func (.reg .u32 out) twice (.reg .u32 in);
.global .u32 counter;
.func (.reg .u32 out) twice (.reg .u32 in) { add.u32 out, in, in; ret; }
.entry k() {
    .reg .u32 a;
    call (a), twice, (a);
    st.global.u32 [counter], a;
    ret;
}
";
    let (mut client, found) = Client::with(text);
    assert!(found.is_empty(), "{found:?}");
    let mut definition =
        |piece, nth| client.at("textDocument/definition", &place(text, piece, nth))["range"]["start"].clone();
    assert_eq!(definition("twice", 2), place(text, "twice", 1));
    assert_eq!(definition("counter]", 0), place(text, "counter", 0));
    assert_eq!(definition("in, in", 0), place(text, "in) {", 0));

    let symbols = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    let names = |symbols: &Value| -> Vec<String> {
        symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = names(&symbols);
    assert_eq!(all, ["twice", "counter", "twice", "k"]);
    assert_eq!(names(&symbols[2]["children"]), ["out", "in"]);
    let kernel = symbols.as_array().unwrap().last().unwrap();
    assert_eq!((names(&kernel["children"]), &kernel["detail"]), (vec!["a".to_owned()], &json!(".entry k()")));
    assert!(part(text, &kernel["range"]).ends_with("ret;\n}"));
}

#[test]
fn positions_are_counted_as_agreed() {
    let (text, at) = in_kernel("/* \u{1d11e}\u{e9} */ setp.lo.s3|2 %p1, %r1, %r2; // \u{1d11e}");
    let mut client = Client::initialized(&["utf-8", "utf-16"]);
    let found = client.open(&text);
    let column = |found: &[Value]| found[0]["range"]["start"]["character"].as_u64().unwrap();
    let line = text.lines().nth(7).unwrap();
    assert_eq!(column(&found), line.find("lo").unwrap() as u64);
    drop(client);
    let (mut client, found) = Client::with(&text);
    assert_eq!(column(&found), line.find("lo").unwrap() as u64 - 3);
    assert!(client.hover(&at).contains("unsigned"));
    // Half of a surrogate pair is all of it.
    let half = |character| json!({ "line": 7, "character": character });
    let found = client.change(json!([{ "range": { "start": half(4), "end": half(5) }, "text": "g" }]));
    assert_eq!(column(&found), line.find("lo").unwrap() as u64 - 4);
}

#[test]
fn whatever_comes_is_answered() {
    let (mut client, _) = Client::with(SPOILT);
    assert_eq!(client.answer("textDocument/flatter", json!({}))["error"]["code"], -32601);
    assert_eq!(client.answer("textDocument/hover", json!({ "position": 1 }))["error"]["code"], -32602);
    assert_eq!(client.answer("textDocument/hover", json!([]))["error"]["code"], -32602);
    assert_eq!(client.answer("initialize", json!({}))["error"]["code"], -32601);
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": URI } }));
    // A message that cannot be parsed is logged, and the following ones are still read.
    for body in [&b"{"[..], b"[]", b"\xff\xfe", b"null", b"\"\\ud800\""] {
        client.send(body);
        assert_eq!(client.receive()["method"], "window/logMessage", "{body:?}");
    }
    client.notify("textDocument/didChange", json!({ "textDocument": 3 }));
    assert_eq!(client.receive()["method"], "window/logMessage");
    let closed = json!({ "uri": "file:///closed.ptx", "version": 1 });
    client.notify("textDocument/didChange", json!({ "textDocument": closed, "contentChanges": [] }));
    assert_eq!(client.receive()["method"], "window/logMessage");
    let nowhere = json!({ "line": 4_000_000_000_u32, "character": 4_000_000_000_u32 });
    for method in ["hover", "completion", "definition", "references", "documentSymbol", "codeAction"] {
        let method = format!("textDocument/{method}");
        let range = json!({ "start": nowhere, "end": { "line": 0, "character": 0 } });
        let context = json!({ "includeDeclaration": true, "triggerKind": 1, "diagnostics": [] });
        for uri in [URI, "file:///closed.ptx"] {
            let place =
                json!({ "textDocument": { "uri": uri }, "position": nowhere, "range": range, "context": context });
            client.ask(&method, place);
        }
    }
    // A change from behind the end to before the beginning is one of all there is.
    let whole = json!({ "start": nowhere, "end": { "line": 0, "character": 0 } });
    assert_eq!(client.change(json!([{ "range": whole, "text": "\u{1d11e}" }])).len(), 1);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn every_place_of_a_module_that_is_cut_off_is_answered() {
    let mut client = Client::initialized(&[]);
    let kernel = &SPOILT[..SPOILT.find("\n}").unwrap()];
    for end in (0..kernel.len()).step_by(97) {
        client.open(&kernel[..end]);
        for method in ["hover", "completion", "definition", "references"] {
            client.at(&format!("textDocument/{method}"), &position(kernel, end));
            client.at(&format!("textDocument/{method}"), &position(kernel, end / 2));
        }
        client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    }
    assert_eq!(client.end(), Some(0));
}

/// A spoilt module as somebody types it: each character is a change, and what editors ask of it then is answered.
#[test]
fn spoilt_modules_are_typed_character_by_character() {
    let mut client = Client::initialized(&[]);
    let start = SPOILT.find(".visible").unwrap();
    let kernel = &SPOILT[start..start + SPOILT[start..].find("\n}").unwrap()];
    // As a slip leaves it: letters that are missing, twice there, or those of others.
    let mut seed = 1_u64;
    let mut slip = |letter: char| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match seed >> 33 & 127 {
            0 => String::new(),
            1 => format!("{letter}{letter}"),
            2 => "{".to_owned(),
            3 => "/*".to_owned(),
            4 => "é\u{1d11e}".to_owned(),
            5 => "\"".to_owned(),
            6 => "@ !".to_owned(),
            _ => letter.to_string(),
        }
    };
    let slipped: String = kernel.chars().map(&mut slip).collect();
    let head = &SPOILT[..start];
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/editor");
    let entries = std::fs::read_dir(corpus).expect("a corpus").map(|entry| entry.expect("a file").path());
    let mut texts: Vec<String> = entries.map(|path| std::fs::read_to_string(path).expect("text")).collect();
    texts.push(format!("{head}{slipped}"));
    let mut typed = 0;
    for text in &texts {
        client.open("");
        let mut so_far = String::new();
        for (number, letter) in text.chars().enumerate() {
            let end = position(&so_far, so_far.len());
            client.change(json!([{ "range": { "start": end, "end": end }, "text": letter.to_string() }]));
            so_far.push(letter);
            typed += 1;
            if number % 7 > 0 {
                continue;
            }
            let end = position(&so_far, so_far.len());
            for method in ["hover", "completion", "definition", "references"] {
                client.at(&format!("textDocument/{method}"), &end);
            }
            let document = json!({ "uri": URI });
            client.ask("textDocument/documentSymbol", json!({ "textDocument": document }));
            let context = json!({ "diagnostics": [] });
            let range = json!({ "start": end, "end": end });
            client.ask(
                "textDocument/codeAction",
                json!({ "textDocument": document, "range": range, "context": context }),
            );
        }
        // Incremental edits lead to the same diagnostics as opening the whole text.
        let end = position(&so_far, so_far.len());
        let piecewise = client.change(json!([{ "range": { "start": end, "end": end }, "text": "" }]));
        assert_eq!(piecewise, client.open(text));
    }
    assert!(typed > 2_000, "{typed} characters");
    assert_eq!(client.end(), Some(0));
}

/// A keystroke in a module of 20,000 lines; the figures are printed.
#[test]
fn a_keystroke_in_a_long_module_is_answered() {
    let kernel = &MODULE[MODULE.find(".visible").unwrap()..];
    let head = &MODULE[..MODULE.find(".visible").unwrap()];
    let copies = 20_000_usize.div_ceil(kernel.lines().count());
    let text = (0..copies).fold(head.to_owned(), |text, copy| text + &kernel.replace("k_", &format!("k{copy}_")));
    let (mut client, found) = Client::with(&text);
    assert_eq!(found.len(), 0, "{:?}", found.first());
    let at = place(&text, "setp.", text.matches("setp.").count() / 2);
    let behind = json!({ "line": at["line"], "character": at["character"].as_u64().unwrap() + 5 });
    let (mut changes, mut completions) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let start = Instant::now();
        let found = client.change(json!([{ "range": { "start": behind, "end": behind }, "text": "x" }]));
        changes.push(start.elapsed());
        assert_eq!(found.len(), 1);
        let start = Instant::now();
        client.at("textDocument/completion", &behind);
        completions.push(start.elapsed());
        let typed = json!({ "line": behind["line"], "character": behind["character"].as_u64().unwrap() + 1 });
        assert!(client.change(json!([{ "range": { "start": behind, "end": typed }, "text": "" }])).is_empty());
    }
    changes.sort();
    completions.sort();
    println!(
        "{} lines, {} bytes: a keystroke {:?}, a completion {:?}",
        text.lines().count(),
        text.len(),
        changes[10],
        completions[10]
    );
}

/// The edits of an answer, made to a text.
fn edited(text: &str, edits: &Value) -> String {
    let mut text = text.to_owned();
    let mut edits = edits.as_array().expect("a list").clone();
    edits.sort_by_key(|edit| {
        let start = &edit["range"]["start"];
        (start["line"].as_u64(), start["character"].as_u64())
    });
    for edit in edits.iter().rev() {
        let old = part(&text, &edit["range"]);
        let behind = |position: &Value| {
            let (line, column) = (position["line"].as_u64().unwrap() as usize, position["character"].as_u64().unwrap());
            text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() + column as usize
        };
        let start = behind(&edit["range"]["start"]);
        text.replace_range(start..start + old.len(), edit["newText"].as_str().expect("a text"));
    }
    text
}

#[test]
fn a_name_is_renamed_wherever_it_means_the_same() {
    let text = ".version 7.0\n.target sm_80\n.entry k()\n{\n.reg .b32 %r<19>;\nadd.s32 %r1, %r1, %r12;\n{ .reg .b32 x; mov.b32 x, %r1; }\n{ .reg .b32 x; mov.b32 x, 0; }\nW: bra W;\n}\n";
    let mut client = Client::with(text).0;
    let mut rename = |piece: &str, nth, new: &str| {
        let params = json!({ "textDocument": { "uri": URI }, "position": place(text, piece, nth), "newName": new });
        client.answer("textDocument/rename", params)
    };
    // A family is renamed as a whole, and keeps its numbers.
    let family = rename("%r1", 0, "%v1");
    assert_eq!(edited(text, &family["result"]["changes"][URI]), text.replace("%r", "%v"));
    assert_eq!(family["result"], rename("%r<", 0, "%v")["result"]);
    let inner = edited(text, &rename("x;", 0, "y")["result"]["changes"][URI]);
    assert!(inner.contains("{ .reg .b32 y; mov.b32 y, %r1; }") && inner.contains("{ .reg .b32 x; mov.b32 x, 0; }"));
    assert!(edited(text, &rename("W;", 0, "LOOP")["result"]["changes"][URI]).contains("LOOP: bra LOOP;"));
    for (piece, new, why) in [
        ("%r1", "%v2", "keeps its number"),
        ("W;", "1x", "is not a name"),
        ("W;", "k", "already declared"),
        ("add", "sub", "only names that the module declares"),
    ] {
        let error = rename(piece, 0, new)["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(why), "{piece} to {new}: {error}");
    }
    // A name that is declared further on, or that a family would take.
    let later =
        ".version 7.0\n.target sm_80\n.entry k()\n{\n.reg .b32 a;\n.reg .b32 b;\n.reg .b32 c<3>;\nmov.b32 a, b;\n}\n";
    for (piece, new) in [("a, ", "b"), ("a, ", "c2"), ("c<", "b"), ("b;\n}", "k")] {
        let params = json!({ "textDocument": { "uri": URI }, "position": place(later, piece, 0), "newName": new });
        let error = Client::with(later).0.answer("textDocument/rename", params)["error"]["message"].clone();
        assert!(error.as_str().is_some_and(|error| error.contains("already declared")), "{piece} to {new}: {error}");
    }
    let params = json!({ "textDocument": { "uri": URI }, "position": place(later, "a, ", 0), "newName": "c3" });
    assert!(Client::with(later).0.answer("textDocument/rename", params)["result"].is_object());
    assert_eq!(part(text, &client.at("textDocument/prepareRename", &place(text, "%r12", 0))), "%r12");
    assert_eq!(client.at("textDocument/prepareRename", &place(text, "add", 0)), Value::Null);
    let marked = client.at("textDocument/documentHighlight", &place(text, "%r1,", 0));
    assert_eq!(marked.as_array().unwrap().len(), 4, "three uses and the declaration");
}

#[test]
fn tokens_say_what_names_mean() {
    let (text, _) = in_kernel("setp.lt.s32 %p1, %r1, %tid; @%p1 bra DONE;|");
    let mut client = Client::with(&text).0;
    let tokens = client.at("textDocument/semanticTokens/full", &position(&text, 0))["data"].clone();
    let numbers: Vec<u64> = tokens.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect();
    let (mut line, mut column) = (0, 0);
    let mut found = Vec::new();
    for token in numbers.chunks(5) {
        column = if token[0] == 0 { column + token[1] } else { token[1] };
        line += token[0];
        let of = |character| json!({ "line": line, "character": character });
        found.push((part(&text, &json!({ "start": of(column), "end": of(column + token[2]) })), token[3], token[4]));
    }
    let kind = |name: &str| found.iter().rev().find(|(text, ..)| text == name).map(|(_, kind, _)| *kind);
    for (name, expected) in [("setp", 0), (".lt.s32", 1), ("%p1", 2), ("size", 3), ("k", 4), ("DONE", 5), ("%tid", 6)] {
        assert_eq!(kind(name), Some(expected), "{name}: {found:?}");
    }
    assert!(found.iter().any(|(name, _, declares)| name == "size" && *declares == 1));
}

#[test]
fn functions_and_comments_fold() {
    let text = "// a\n// b\n.version 7.0\n.target sm_80\n.entry k()\n{\nret;\n}\n";
    let folds = Client::with(text).0.at("textDocument/foldingRange", &position(text, 0));
    let lines: Vec<_> = folds.as_array().unwrap().iter().map(|fold| (&fold["startLine"], &fold["endLine"])).collect();
    assert_eq!(lines, [(&json!(4), &json!(7)), (&json!(0), &json!(1))]);
}

#[test]
fn formatting_moves_blanks_only() {
    let text = ".version 7.0\n.target sm_80\n.entry k()\n{\n  .reg .b32 %r<3>;  \nL:\n add.s32   %r1,  %r1 ,%r2; // sum,a \n{\nmov.b32 %r1, 0;\n}\n/* a {\n  b */\n\t\tret;\n}\n";
    let formatted_with = |text: &str, spaces: bool| {
        let mut client = Client::with(text).0;
        let options = json!({ "tabSize": 4, "insertSpaces": spaces });
        let edits =
            client.ask("textDocument/formatting", json!({ "textDocument": { "uri": URI }, "options": options }));
        edited(text, &edits)
    };
    let formatted = |text: &str| formatted_with(text, false);
    let expected = ".version 7.0\n.target sm_80\n.entry k()\n{\n\t.reg .b32 %r<3>;\nL:\n\tadd.s32         %r1, %r1, %r2; // sum,a\n\t{\n\t\tmov.b32         %r1, 0;\n\t}\n\t/* a {\n  b */\n\tret;\n}\n";
    assert_eq!(formatted(text), expected);
    assert_eq!(formatted(expected), expected);
    assert_eq!(formatted_with(text, true), expected.replace('\t', "    "));
    for module in [MODULE, SPOILT] {
        let once = formatted(module);
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(letters(&once), letters(module));
        assert_eq!(formatted(&once), once);
    }
}

#[test]
fn signatures_name_the_operand_that_is_written() {
    let (text, at) = in_kernel("setp.lt.s32 %p1, %r1, |");
    let help = Client::with(&text).0.at("textDocument/signatureHelp", &at);
    let signature = &help["signatures"][help["activeSignature"].as_u64().unwrap() as usize];
    let label = signature["label"].as_str().unwrap();
    let range = &signature["parameters"][2]["label"];
    let [start, end] = [0, 1].map(|side| range[side].as_u64().unwrap() as usize);
    assert_eq!((help["activeParameter"].as_u64(), &label[start..end]), (Some(2), "b"), "{help}");
    assert!(label.starts_with("setp.lt.s32 "));
    // An opcode may have several entries: each form is described by its own.
    for mnemonic in ["mad.lo.s32", "add.f32", "min.s32", "cvt.rn.f32.s32"] {
        let (text, at) = in_kernel(&format!("{mnemonic} |"));
        let help = Client::with(&text).0.at("textDocument/signatureHelp", &at);
        let form = ptx_isa::TABLE.form(mnemonic).unwrap();
        let summary = ptx_isa::reference::REFERENCE.form(form).unwrap().entry.summary;
        assert_eq!(help["signatures"][0]["documentation"], summary, "{mnemonic}");
    }
    let (text, at) = in_kernel("mov.b64 {%r1, |");
    let help = Client::with(&text).0.at("textDocument/signatureHelp", &at);
    assert_eq!(help["activeParameter"], 0, "commas of a vector separate no operands");
}

#[test]
fn symbols_of_all_open_documents_are_searched() {
    let mut client = Client::with(MODULE).0;
    let found = client.ask("workspace/symbol", json!({ "query": "F16" }));
    let names: Vec<_> = found.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"k_f16") && names.iter().all(|name| name.contains("f16")), "{names:?}");
    assert_eq!(found[0]["location"]["uri"], URI);
}

#[test]
fn hints_show_values_and_types_and_lenses_show_floors() {
    let (text, _) = in_kernel("add.f32 %f1, %f1, 0f3f800000;\nadd.f32 %f1, %f2, %f1;|");
    let mut client = Client::with(&text).0;
    let range = json!({ "start": position(&text, 0), "end": position(&text, text.len()) });
    let hints = client.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": URI }, "range": range }));
    let labels: Vec<_> = hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap()).collect();
    assert_eq!(labels, [": .f32", ": .f32", "= 1.0"]);
    let lenses = client.at("textDocument/codeLens", &position(&text, 0));
    assert_eq!(lenses[0]["command"]["title"], "needs PTX 1.4, sm_10", "{lenses}");
    assert_eq!(part(&text, &lenses[0]["range"]), "k");
}
