//! Pages that explain: their tables are those of the spec, and what they show runs.

use std::collections::BTreeSet;
use std::fs;

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::run::{Grid, Memory, Module};
use ptx_isa::text::spelling;

use super::plain;

fn read(name: &str) -> String {
    fs::read_to_string(plain().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The words of a piece of a page.
fn words(html: &str) -> String {
    html.split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .collect::<String>()
        .trim()
        .to_owned()
}

/// The cells of a table, with the heads of rows and columns.
fn cells(table: &str) -> Vec<Vec<String>> {
    let table = table.split("</table>").next().unwrap_or_default();
    let rows = table.split("<tr").skip(1);
    let cells = |row: &str| {
        let row = row.replace("<th", "<td");
        row.split("<td").skip(1).map(|cell| words(&format!("<td{cell}"))).collect::<Vec<String>>()
    };
    rows.map(cells).collect()
}

#[test]
fn conversions_have_the_floors_of_the_table() {
    let page = read("conversions.html");
    let table = cells(page.split("<table").nth(1).expect("a table"));
    let heads = &table[0];
    let forms: Vec<_> = TABLE.instruction("cvt").expect("an opcode").forms().collect();
    for row in &table[1..] {
        for (cell, head) in row.iter().zip(heads).skip(1) {
            let pair = format!("{}{head}", row[0]);
            let own = forms.iter().filter(|form| {
                let name = form.mnemonic();
                name.ends_with(&pair) || name.contains(&format!("{pair}."))
            });
            let first = own.map(|form| spelling::since(*form).ptx).min().map(|version| version.to_string());
            assert_eq!(cell.split(' ').next().filter(|text| !text.is_empty()), first.as_deref(), "{pair}");
        }
    }
    assert!(table.len() > 25 && heads.len() > 15, "{heads:?}");
}

#[test]
fn corner_cases_are_those_of_the_host() {
    let page = read("i-add.html");
    let table = page.split("Corner cases of add.f32\"").nth(1).expect("a table");
    let table = cells(table);
    let number = |text: &str| match text {
        "NaN" => f32::NAN,
        "+∞" => f32::INFINITY,
        "−∞" => f32::NEG_INFINITY,
        "+0" => 0.0,
        "−0" => -0.0,
        text => {
            let value: f64 = text.replace('−', "-").parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
            value.clamp(f32::MIN.into(), f32::MAX.into()) as f32
        }
    };
    assert_eq!((table.len(), table[0].len()), (12, 12));
    for row in &table[1..] {
        for (cell, head) in row.iter().zip(&table[0]).skip(1) {
            let (sum, shown) = (number(&row[0]) + number(head), number(cell));
            let is_near = (sum - shown).abs() <= sum.abs() * 1e-3 && sum.is_sign_negative() == shown.is_sign_negative();
            assert!(is_near || sum == shown || (sum.is_nan() && shown.is_nan()), "{} + {head} = {cell}", row[0]);
        }
    }
    // Wherever floats are computed, there are some.
    for opcode in ["fma", "rcp", "sqrt", "min", "setp", "cvt", "ex2", "testp", "copysign"] {
        assert!(read(&format!("i-{}.html", opcode.replace("::", "--"))).contains("-corners\""), "{opcode}");
    }
    assert!(!read("i-popc.html").contains("-corners\""));
}

#[test]
fn every_difference_and_every_fragment_is_listed() {
    let [differences, fragments] = ["differences.html", "fragments.html"].map(|name| words(&read(name)));
    let plain = |text: &str| text.replace('`', "").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for page in REFERENCE.pages() {
        for entry in page.entries {
            for text in entry.errata.iter().map(|erratum| erratum.machine).chain(entry.lenient.iter().copied()) {
                assert!(differences.contains(&plain(text)), "{}: {text}", page.opcode);
            }
        }
        for drawing in page.drawings() {
            assert!(fragments.contains(&plain(drawing.fragment.description)), "{}", page.opcode);
        }
    }
}

/// Of a distribution, each instruction is named once, and each of its sizes is another.
#[test]
fn a_fragment_lists_an_instruction_once() {
    let page = read("fragments.html");
    let part = page.split("<section id=\"drawn\">").nth(1).and_then(|rest| rest.split("</section>").next());
    let rows = cells(part.expect("fragments"));
    assert!(rows.len() > 10);
    let are_distinct = |list: &[&str]| list.iter().collect::<BTreeSet<_>>().len() == list.len();
    for row in &rows[1..] {
        let (heads, sizes): (Vec<&str>, Vec<&str>) =
            row[1].split("; ").map(|group| group.split_once(": ").expect("operands and sizes")).unzip();
        assert!(are_distinct(&heads), "{row:?}");
        assert!(sizes.iter().all(|sizes| are_distinct(&sizes.split(", ").collect::<Vec<_>>())), "{row:?}");
    }
    assert!(rows.iter().any(|row| row[1].starts_with("ldmatrix d: 8 × 8 in 1 register, 2 of 8 × 8 in 2 registers")));
}

/// Parts that are folded can be told apart, and the only part of a page is not folded.
#[test]
fn folded_parts_have_titles_of_their_own() {
    for opcode in ["cvt", "mma"] {
        let page = read(&format!("i-{opcode}.html"));
        let titles = page.split("<details class=\"").skip(1).filter_map(|part| {
            let (class, rest) = part.split_once('"')?;
            let title = rest.split_once("<summary>")?.1.split("</summary>").next()?;
            (class == "fragment" || title.starts_with("<h2>")).then(|| words(title))
        });
        let titles: Vec<String> = titles.collect();
        assert!(titles.len() > 10, "{opcode}: {titles:?}");
        assert_eq!(titles.iter().collect::<BTreeSet<_>>().len(), titles.len(), "{opcode}: {titles:?}");
    }
    for page in REFERENCE.pages() {
        let html = read(&format!("i-{}.html", page.opcode.replace("::", "--")));
        assert!(page.entries.len() > 1 || !html.contains("<summary><h2>1. "), "{}", page.opcode);
    }
    for page in ["i-tex.html", "i-tcgen05.mma.html"] {
        assert!(read(page).contains(" more lines</summary>"), "{page}");
    }
    // Long opcodes are broken behind their dots, where they are listed at the side.
    let page = read("i-cp.async.html");
    assert!(page.contains(">cp.<wbr>async.<wbr>bulk.<wbr>commit_group<") && page.contains(">cp.async.bulk<"));
}

#[test]
fn conditions_are_prose() {
    for page in ["v-8.6.html", "v-4.3.html", "t-sm_90.html", "i-cvt.html", "i-atom.html"] {
        let html = read(page);
        let tables = match html.split_once("<section id=\"modifiers\">") {
            Some((_, rest)) if !page.starts_with("i-") => {
                rest.split("</section>").next().unwrap_or_default().to_owned()
            }
            _ => html.split("class=\"since\"").skip(1).filter_map(|rest| rest.split("</table>").next()).collect(),
        };
        assert!(!tables.is_empty(), "{page}");
        for sign in ["==", "!=", "&amp;&amp;", "||", " in {", "(."] {
            assert!(!tables.contains(sign), "{page}: {sign}");
        }
    }
    assert!(read("v-8.6.html").contains("<code>.f32x2</code> as <code>.type</code>"));
}

/// Functions that instructions of different chapters share do not relate them.
#[test]
fn see_also_names_what_is_related() {
    let also = |opcode: &str| {
        let page = read(&format!("i-{opcode}.html"));
        page.split("See also: ").nth(1).and_then(|rest| rest.split("</p>").next()).map(words).unwrap_or_default()
    };
    assert!(also("clz").contains("bfind") && !also("clz").contains("elect"), "{}", also("clz"));
    assert!(!also("copysign").contains("div") && !also("abs").contains("redux"));
    assert!(also("bar").contains("barrier") && also("vshl").contains("vshr"));
}

#[test]
fn words_of_the_prose_are_those_of_modifiers() {
    let texts = [
        include_str!("../../src/cli/docs/prose/rounding.md"),
        include_str!("../../src/cli/docs/prose/memory.md"),
        include_str!("../../src/cli/docs/prose/fragments.md"),
        include_str!("../../src/cli/docs/prose/floors.md"),
    ];
    let members = || TABLE.instructions().flat_map(|info| info.data().slots).flat_map(|slot| slot.members);
    for code in texts.iter().flat_map(|text| text.split('`').skip(1).step_by(2)) {
        let known = match code.strip_prefix('.') {
            Some(word) => {
                members().any(|member| *member == word)
                    || TABLE.types.iter().any(|ty| ty.name == word)
                    || ["version", "target"].iter().any(|directive| word.starts_with(directive))
            }
            None if code.contains(' ') || code.starts_with("0x") || code.starts_with("sm_") => true,
            None if ["lane", "register", "element", "i", "mbarrier"].contains(&code) => true,
            None => TABLE.instruction_of(code).is_some(),
        };
        assert!(known, "`{code}`");
    }
    for (text, page) in texts.iter().zip(["rounding.html", "memory.html", "fragments.html", "floors.html"]) {
        let page = read(page);
        for word in text.lines().filter_map(|line| line.strip_prefix("table: ")).flat_map(|line| line.split(' ')) {
            assert!(page.contains(&format!(" {word}\">yes</a>")), "{word}");
        }
    }
}

/// Each idiom has at most a dozen statements, and computes what it says.
#[test]
fn idioms_run() {
    let text = include_str!("../../src/cli/docs/prose/idioms.md");
    let mut count = 0;
    for part in text.split("\n## ").skip(1) {
        let title = part.lines().next().expect("a title");
        let code = part.split("```").nth(1).and_then(|code| code.split_once('\n')).expect("code").1;
        assert!(code.lines().count() <= 12, "{title}");
        let module = format!(
            ".version 9.0 .target sm_90 .address_size 64\n\
             .visible .entry k(.param .u64 out) {{\n\
             .reg .pred %p<4>; .reg .b32 %r<10>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .b64 %out, %at;\n\
             .shared .align 4 .u32 cell; .shared .align 4 .u32 flag; .shared .align 4 .u32 row[32];\n\
             mov.u32 %r0, %tid.x; setp.eq.u32 %p3, %r0, 0;\n\
             @%p3 st.shared.u32 [cell], 0; @%p3 st.shared.u32 [flag], 0; bar.sync 0;\n{code}\n\
             ld.param.u64 %out, [out]; mul.wide.u32 %at, %r0, 4; add.u64 %at, %at, %out;\n\
             st.global.u32 [%at], %r1; ret; }}"
        );
        let memory = Memory::new();
        let loaded = Module::load(&module, &memory).unwrap_or_else(|error| panic!("{title}: {error}"));
        let out = memory.upload(&[0_u32; 32]);
        let kernel = loaded.kernel("k").expect("a kernel");
        kernel.launch(Grid::new(1, 32), &[out.into()]).unwrap_or_else(|error| panic!("{title}: {error}"));
        let found = memory.download::<u32>(out, 32).expect("memory");
        let result = part.lines().find_map(|line| line.strip_prefix("Result: ")).expect("a result");
        for pair in result.split(", ") {
            let (lane, value) = pair.split_once(" → ").expect("a lane and a value");
            let lane: usize = lane.parse().expect("a lane");
            assert_eq!(found[lane].to_string(), value, "{title}, lane {lane}");
        }
        count += 1;
    }
    assert!(count >= 10);
}
