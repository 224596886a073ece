//! The explorer: verdicts, values, and the address that holds them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ptx_isa::text::mnemonic;
use ptx_isa::{Form, TABLE};
use serde_json::{Value, json};

use crate::browser::{Browser, TITLE};
use crate::ptx_isa;

/// A mnemonic with one modifier replaced: many are illegal.
fn variations() -> Vec<String> {
    let mut list = Vec::new();
    for (index, form) in Form::ALL.iter().enumerate().step_by(23) {
        let other = Form::ALL[(index * 7 + 311) % Form::COUNT].mnemonic();
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        if parts.len() == 1 {
            continue;
        }
        let word = other.split('.').nth(1 + index % 3).unwrap_or("ftz");
        let place = 1 + index % (parts.len() - 1);
        list.push(
            parts[..place].iter().chain([&word]).chain(&parts[place + 1..]).copied().collect::<Vec<_>>().join("."),
        );
        list.push(parts[..parts.len() - 1].join("."));
        list.push(form.mnemonic().to_owned());
    }
    list
}

/// A site without its module knows mnemonics as the table spells them.
pub(crate) fn nothing_is_read(browser: &Browser, site: &Path) {
    browser.open(site, "explorer.html#selp.b32");
    browser.wait("document.querySelector('.verdict')");
    assert!(browser.word() == "legal" && browser.text("main").contains("without the module"));
}

/// A form all of whose recorded results are known in these ways; the explorer takes its name as it is.
fn recorded(ways: &str) -> Option<&'static str> {
    let text = include_str!("../machine/compiled.txt");
    let mut of: BTreeMap<&str, BTreeSet<char>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [name, _, _, letters] = parts[..] else { panic!("`{line}` does not say how it is known") };
        of.entry(name).or_default().extend(letters.chars());
    }
    let plain = |name: &str| TABLE.form(name).is_some_and(|form| form.name() == name);
    of.into_iter().find(|(name, letters)| letters.iter().copied().eq(ways.chars()) && plain(name)).map(|(name, _)| name)
}

/// "Not covered", "not legal" and "not legal on this target" are three answers; all of a statement is read.
pub(crate) fn three_answers(browser: &Browser, site: &Path) {
    let judged = |text: &str| {
        browser.explore(site, &format!("?ptx=7.0&target=sm_75#{}", text.replace('%', "%25").replace(' ', "%20")));
        browser.word()
    };
    assert!(judged("frobnicate.u32 d, a;").starts_with("not covered"));
    assert!(judged("sept.lt.s32 p, a, b;").starts_with("not covered"));
    assert!(browser.text(".verdict").contains("did you mean setp?"), "{}", browser.text(".verdict"));
    assert_eq!(judged("setp.lo.s32"), "not legal");
    assert!(browser.text(".verdict").contains(".lo is for unsigned integers"));
    browser.shot("illegal.png");
    browser.script("document.querySelector('.verdict a').click()");
    browser.wait("document.querySelector('.verdict h2').innerText.startsWith('setp.lt.s32')");
    // The command line names the same form near a misspelt one.
    assert_eq!(judged("setp.lt.f61"), "not legal");
    let near = browser.text(".verdict a");
    let output =
        Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(["explain", "setp.lt.f61"]).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = told.lines().skip_while(|line| *line != "Legal and near").nth(1).unwrap_or_default();
    assert_eq!(first.split_whitespace().next(), Some(near.as_str()), "{told}");
    assert!(judged("setp.lt.bf16").starts_with("not legal on this target"));
    assert!(browser.text(".verdict").contains("needs PTX 7.8, sm_90"), "{}", browser.text(".verdict"));
    for statement in [
        "setp.lt.s32 p, a, b;",
        "@p setp.lt.and.s32 p|q, a, b, !c;",
        "@!%p1 setp.f32.lt %p2|_, v.r, 1.0;",
        "vset4.u32.u32.lt %r1, %r2.b7654, %r3.b3210, %r4;",
        "ld.global.ca.v2.u32 {%r1, %r2}, [%rd1+16];",
    ] {
        assert_eq!(judged(statement), "legal", "{statement}: {}", browser.text(".verdict"));
    }
    // A modifier that is in no form is judged with the others.
    assert_eq!(judged("ld.relaxed.u32"), "not legal");
    assert!(browser.text(".verdict").contains(".scope"), "{}", browser.text(".verdict"));
    browser.pick("scope", ".gpu");
    assert_eq!((browser.word().as_str(), browser.text(TITLE).contains("ld.relaxed.gpu.u32")), ("legal", true));
    // An opcode alone begins somewhere.
    assert_eq!(judged("setp"), "an opcode");
    // How a form is known, the recorded results say.
    let (folded, interpreted, held) = (
        "Results that the assembler folded",
        "Results of machine code, interpreted",
        "Held to an independent reference",
    );
    let known: [(&str, &[&str]); 7] = [
        (recorded("f").expect("folded"), &[folded]),
        (recorded("i").expect("interpreted"), &[interpreted]),
        (recorded("fi").expect("both"), &[folded, interpreted]),
        ("sin.approx.f32", &["Evaluated; no result"]),
        ("shfl.sync.up.b32", &["No result of a machine is recorded", held]),
        ("ld.u32", &["Kernels run it"]),
        ("tex.1d.v4.f32.s32", &["The manual only"]),
    ];
    for (form, how) in known {
        judged(form);
        browser.wait("document.querySelector('#known')");
        let said = browser.text("#known");
        assert!(how.iter().all(|one| said.contains(one)), "{form}: {said}");
        assert_eq!(how.contains(&folded), said.contains(folded), "{form}: {said}");
    }
    judged("setp.lt.f32");
    browser.wait("document.querySelector('#known')");
    let said = browser.text("#known");
    assert!(said.contains("replayed") && said.contains(held), "{said}");
}

/// The address holds all that is shown, and nothing loses what was typed.
pub(crate) fn state_is_in_the_address(browser: &Browser, site: &Path) {
    browser.explore(site, "#setp.lt.f32;a=nan;b=1.0");
    assert_eq!(browser.outs(), "p = 0\nq = 1");
    browser.replace("#in0", "-inf");
    assert!(browser.hash().contains("a=-inf"), "{}", browser.hash());
    browser.pick("CmpOp", ".gt");
    browser.pick("ftz", ".ftz");
    assert!(browser.hash().starts_with("#setp.gt.ftz.f32;a=-inf;b=1.0"), "{}", browser.hash());
    assert_eq!(browser.outs(), "p = 0\nq = 1");
    browser.script("history.back()");
    browser.wait("document.querySelector('.verdict h2').innerText.startsWith('setp.gt.f32')");
    browser.assert_holds("document.querySelector('#in0').value === '-inf'");
    // "Skip to content" shows the content and changes nothing.
    let before = browser.hash();
    browser.script("document.querySelector('.skip').click()");
    assert_eq!(browser.hash(), before);
    browser.assert_holds("document.activeElement.id === 'main'");
    // Selectors are part of the statement.
    browser.explore(site, "#vset4.u32.u32.lt;a=0x04030201;b=0x08070605;c=0");
    browser.replace("#in4", "0123");
    browser.assert_holds("document.querySelector('#in4').getAttribute('aria-invalid') === 'true'");
    browser.replace("#in4", "b0123");
    browser.assert_holds("document.querySelector('#in4').getAttribute('aria-invalid') === 'false' && document.querySelector('#box').value.includes('a.b0123')");
    let typed = browser.script("return location.href");
    browser.post("/url", &json!({"url": "about:blank"}));
    browser.post("/url", &json!({"url": typed}));
    browser.wait("document.querySelector('#outs')");
    browser.assert_holds("document.querySelector('#in4').value === 'b0123'");
    browser.script("document.querySelector('#copy').click()");
    browser.wait("document.querySelector('#copied').innerText");
    // An address that cannot be decoded must not cause an error.
    browser.open(site, "explorer.html#%E0%A4%A");
    browser.wait("document.querySelector('.verdict')");
    assert!(browser.word().starts_with("not covered"));
    // Headings are links to themselves.
    browser.open(site, "i-setp.html");
    browser.assert_holds(
        "[...document.querySelectorAll('main h2, main h3')].every((head) => head.closest('summary') || head.querySelector('a.self[href^=\"#\"]'))",
    );
}

/// Verdicts and reasons are those of the library.
pub(crate) fn verdicts_are_the_library_s(browser: &Browser, site: &Path) {
    browser.explore(site, "#setp.lt.f32");
    let mnemonics = variations();
    let list = serde_json::to_string(&mnemonics).expect("text");
    let start = Instant::now();
    let verdicts = browser.script(&format!("return {list}.map((text) => {{ const v = explain(text); return [v.verdict === 'legal', v.reasons[0]?.message]; }})"));
    println!("{} verdicts in {:?}", mnemonics.len(), start.elapsed());
    for (mnemonic, verdict) in mnemonics.iter().zip(verdicts.as_array().expect("a list")) {
        match mnemonic::resolve(&TABLE, mnemonic) {
            Ok(_) => assert_eq!(verdict[0], json!(true), "{mnemonic}"),
            Err(refusal) => assert_eq!(*verdict, json!([false, refusal.reasons[0].message]), "{mnemonic}"),
        }
    }
}

/// Prints the time of each keystroke, at full speed and throttled to a quarter, without asserting a limit.
pub(crate) fn answers_are_quick(browser: &Browser, site: &Path) {
    browser.explore(site, "#setp.lt.f32");
    for slower in [1, 4] {
        browser.command("Emulation.setCPUThrottlingRate", &json!({"rate": slower}));
        let took = browser.script(
            "formsOf(PTX.opcodes[0]); const took = {}; \
             for (const text of ['s', 'set', 'compare half', 'setp lt', 'setp.l', 'setp.lo.s32', 'set.lt.and.ftz.u32.f32', 'b64 ne', 'wgmma f16', 'cvt.rn.f16.f32 d, a;']) { \
             box.value = text; let best = Infinity; \
             for (let time = 0; time < 3; time++) { const start = performance.now(); box.dispatchEvent(new Event('input')); document.body.offsetHeight; best = Math.min(best, performance.now() - start); } \
             took[text] = Math.round(best * 10) / 10; } return took",
        );
        println!("{slower} times slower, a keystroke takes (ms): {took}");
    }
    browser.command("Emulation.setCPUThrottlingRate", &json!({"rate": 1}));
}

/// Compares what the page computes with `ptx-isa eval`.
pub(crate) fn evaluates(browser: &Browser, site: &Path) {
    let compare = |statement: &str, inputs: &[(&str, &str)]| {
        let values: String = inputs.iter().map(|(name, value)| format!(";{name}={value}")).collect();
        let address = format!("#{}{values}", statement.trim_end_matches(';').replace(' ', "%20"));
        browser.script(&format!("arrive('explorer.html' + {address:?})"));
        browser.shown();
        let page = browser.script("return [...document.querySelectorAll('#outs > div')].map((line) => line.firstChild.data + line.querySelector('output').innerText)");
        let page: Vec<&str> = page.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let given: Vec<String> = inputs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let arguments: Vec<&str> = ["eval", statement].into_iter().chain(given.iter().map(String::as_str)).collect();
        let line = ptx_isa(&arguments);
        // Notes on a result are shown with its instruction, so only lines with values are compared.
        let results: Vec<&str> = line.lines().filter(|line| line.contains(" = ")).collect();
        assert_eq!(page, results, "{statement} {inputs:?}");
    };
    browser.explore(site, "#setp.lt.f32");
    compare("setp.ltu.and.ftz.f32 p|q, a, b, !c;", &[("a", "nan"), ("b", "1.0"), ("c", "0")]);
    assert!(browser.outs().starts_with("p = 1"));
    compare("@g setp.eq.u32 p, i, n;", &[("i", "7"), ("n", "7"), ("g", "1")]);
    compare("vset4.s32.u32.lt.add d.b10, a.b7654, b.b0000, c;", &[("a", "-2"), ("b", "0x01020304"), ("c", "5")]);
    compare("setp.lt.and.s32 p|q, a, b, c;", &[("a", "5"), ("b", "-3"), ("c", "1")]);
    compare("set.leu.f32.f32 d, a, b;", &[("a", "nan"), ("b", "-inf")]);
    compare("set.lt.ftz.u32.f32 d, a, b;", &[("a", "1e-40"), ("b", "0f3f800000")]);
    compare("setp.gt.f16x2 p|q, a, b;", &[("a", "0x3c004000"), ("b", "0x40003c00")]);
    compare("slct.f64.f32 d, a, b, c;", &[("a", "1.5"), ("b", "0d7ff0000000000001"), ("c", "-0.0")]);
    compare("vset4.s32.u32.lt d, a, b, c;", &[("a", "-2"), ("b", "0x01020304"), ("c", "0")]);
    // Forms that use no state, such as the carry flag, read only registers, and are the first of their mnemonic: for
    // all others the page gives the reason why nothing is computed.
    let alone = |form: &&Form| {
        let info = form.info();
        let registers = info.operands().iter().all(|operand| !operand.registers.is_empty());
        let first = TABLE.form(info.mnemonic()) == Some(info);
        info.has_evaluator() && info.states().is_empty() && registers && first
    };
    for form in Form::ALL.iter().filter(alone).step_by(211) {
        let info = form.info();
        let operands: Vec<String> = info
            .operands()
            .iter()
            .map(|operand| match &operand.second {
                Some(second) => format!("{}|{}", operand.name, second.name),
                None => operand.name.to_owned(),
            })
            .collect();
        let inputs: Vec<(&str, &str)> = info
            .sources()
            .enumerate()
            .map(|(index, operand)| {
                let value = match TABLE.ty(operand.ty).bits {
                    1 => "1",
                    8 => ["0x1", "0x7f", "0x85"][index % 3],
                    _ => ["0x3c01", "0x7fff", "0x5"][index % 3],
                };
                (operand.name, value)
            })
            .collect();
        let selector = info.selectors().next().is_some();
        if !selector {
            compare(&format!("{form} {};", operands.join(", ")), &inputs);
        }
    }

    // Input is evaluated immediately, and errors in it are reported.
    browser.explore(site, "#setp.lt.f16x2;a=0x3c004000;b=0x40003c00");
    assert!(browser.text(".steps").contains("t = a < b;"));
    browser.shot("evaluated.png");
    browser.replace("#in0", "two");
    browser.wait("document.querySelector('#wrong').innerText.includes('is not a value of type')");
    browser.assert_holds("document.querySelector('#in0').getAttribute('aria-invalid') === 'true'");
    browser.replace("#in0", "0");
    browser.wait("document.querySelector('#outs')");
}
