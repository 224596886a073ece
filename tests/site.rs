//! The site in a real browser: search, verdicts, evaluation, links, colours, widths.
//!
//! With `PTX_ISA_BROWSER=1` Chromium is driven through chromedriver; without it the test says so and passes.
//! `PTX_ISA_WASM` names the module of evaluators; without it the site is tested as one without. `PTX_ISA_SHOTS` names a
//! folder for screenshots.
#![cfg(feature = "cli")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ptx_isa::text::mnemonic;
use ptx_isa::{Form, TABLE};
use serde_json::{Value, json};

fn ptx_isa(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-isa")).args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Writes the site, with the module of evaluators if there is one.
fn write_site(name: &str, module: Option<&str>) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&out);
    let mut arguments = vec!["docs", "--out", out.to_str().expect("a path")];
    arguments.extend(module.iter().flat_map(|module| ["--wasm", module]));
    let start = Instant::now();
    ptx_isa(&arguments);
    println!("written in {:?}", start.elapsed());
    out
}

fn size(folder: &Path) -> u64 {
    fs::read_dir(folder)
        .expect("the site")
        .map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len())
        .sum()
}

#[test]
fn the_site_is_small_and_has_a_page_for_each_opcode_and_a_link_to_each_form() {
    let site = write_site("small", None);
    assert!(size(&site) < 12_000_000);
    let forms = fs::read_to_string(site.join("forms.html")).expect("a page");
    for form in Form::ALL {
        assert!(forms.contains(&format!("explorer.html#{form}\"")), "{form}");
    }
    for instruction in TABLE.instructions {
        assert!(site.join(format!("i-{}.html", instruction.opcode)).exists());
    }
    assert!(fs::read_to_string(site.join("explorer.html")).expect("a page").contains("without the evaluators"));
}

#[test]
fn no_link_is_broken_and_nothing_comes_from_a_network() {
    let site = write_site("links", None);
    let read = |name: &str| fs::read_to_string(site.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mnemonics: BTreeSet<&str> = Form::ALL.iter().map(|form| form.mnemonic()).collect();
    let opcodes: BTreeSet<&str> = TABLE.instructions.iter().map(|instruction| instruction.opcode).collect();
    let pages = fs::read_dir(&site).expect("the site").map(|entry| entry.expect("a file").file_name());
    for page in pages.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".html")) {
        let text = read(&page);
        for link in text.replace("src=\"", "href=\"").split("href=\"").skip(1).filter_map(|rest| rest.split('"').next())
        {
            assert!(!link.contains("//"), "{page}: {link}");
            if link.starts_with("data:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { page.as_str() } else { file };
            assert!(site.join(file).exists(), "{page}: {link}");
            if link.starts_with("explorer.html#") {
                let mnemonic = anchor.split(';').next().unwrap_or_default();
                assert!(mnemonics.contains(mnemonic) || opcodes.contains(mnemonic), "{page}: {link}");
            } else if !anchor.is_empty() {
                assert!(read(file).contains(&format!("id=\"{anchor}\"")), "{page}: {link}");
            }
        }
    }
}

/// A session of a browser.
struct Browser {
    driver: Child,
    port: u16,
    /// The path of the session.
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// Starts one; none where it is not asked for.
    fn start() -> Option<Browser> {
        if std::env::var_os("PTX_ISA_BROWSER").is_none() {
            println!("skipped: PTX_ISA_BROWSER=1 asks for it");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed");
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{port}"));
        let mut browser = Browser { driver, port, session: String::new(), profile };
        let switches = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
            --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars";
        let mut arguments: Vec<String> = switches.split_whitespace().map(str::to_owned).collect();
        arguments.push(format!("--user-data-dir={}", browser.profile.display()));
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let deadline = Instant::now() + Duration::from_secs(60);
        let session = loop {
            match browser.request("/session", &capabilities) {
                Ok(answer) => break answer,
                Err(error) => assert!(Instant::now() < deadline, "no session: {error}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        browser.session = format!("/session/{}", session["sessionId"].as_str().expect("an id"));
        Some(browser)
    }

    fn request(&self, path: &str, body: &Value) -> Result<Value, String> {
        let answer = self.send("POST", path, &body.to_string()).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        match answer["value"].get("error") {
            Some(_) => Err(answer["value"]["message"].to_string()),
            None => Ok(answer["value"].clone()),
        }
    }

    /// A request and the body of its answer: the driver sits on this machine and answers one at a time.
    fn send(&self, method: &str, path: &str, body: &str) -> io::Result<String> {
        let address = format!("127.0.0.1:{}", self.port);
        let mut stream = TcpStream::connect(&address)?;
        let length = body.len();
        let session = &self.session;
        write!(
            stream,
            "{method} {session}{path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        // The driver keeps the line open: the head says how long the body is.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(io::Error::other)?;
                }
                Some(_) => {}
                None if line.trim_end().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        String::from_utf8(body).map_err(io::Error::other)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.request(path, body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn open(&self, site: &Path, page: &str) {
        // Another fragment of the same page would not load it anew.
        self.post("/url", &json!({"url": "about:blank"}));
        self.post("/url", &json!({"url": format!("file://{}/{page}", site.display())}));
    }

    fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({selector:?})?.innerText ?? ''");
        self.script(&script).as_str().unwrap_or_default().to_owned()
    }

    fn wait(&self, condition: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.script(&format!("return !!({condition})")) != json!(true) {
            assert!(Instant::now() < deadline, "{condition} never holds; errors: {:?}", self.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types keys into an element, as a person does.
    fn keys(&self, selector: &str, text: &str) {
        let found = self.post("/element", &json!({"using": "css selector", "value": selector}));
        let id =
            found.as_object().and_then(|object| object.values().next()).and_then(Value::as_str).expect("an element");
        self.post(&format!("/element/{id}/value"), &json!({"text": text}));
    }

    fn replace(&self, selector: &str, text: &str) {
        self.script(&format!("const field = document.querySelector({selector:?}); field.focus(); field.select()"));
        self.keys(selector, text);
    }

    fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }

    fn width(&self, width: u32) {
        let screen = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.command("Emulation.setDeviceMetricsOverride", &screen);
    }

    fn colours(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", &features);
    }

    fn shot(&self, name: &str) {
        let Some(folder) = std::env::var_os("PTX_ISA_SHOTS") else { return };
        let shot = self.command("Page.captureScreenshot", &json!({"captureBeyondViewport": true, "format": "png"}));
        let decoded = base64(shot["data"].as_str().expect("an image"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(Path::new(&folder).join(name), decoded).expect("a file");
    }

    /// What the browser complained of since the last time.
    fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        log.as_array().into_iter().flatten().map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.send("DELETE", "", "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let groups = digits.chunks(4).flat_map(|group| {
        let word = group.iter().enumerate().fold(0_u32, |word, (i, digit)| word | u32::from(*digit) << (18 - 6 * i));
        word.to_be_bytes()[1..group.len()].to_vec()
    });
    groups.collect()
}

/// A mnemonic with one modifier replaced: many are illegal.
fn variations() -> Vec<String> {
    let mut list = Vec::new();
    for (index, form) in Form::ALL.iter().enumerate().step_by(23) {
        let other = Form::ALL[(index * 7 + 311) % Form::COUNT].mnemonic();
        let parts: Vec<&str> = form.mnemonic().split('.').collect();
        // The explorer's own reader is made for what it evaluates.
        if parts.len() == 1 || form.info().evaluations().is_empty() {
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

#[test]
fn the_site_works_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let module = std::env::var("PTX_ISA_WASM").ok();
    let site = write_site("browser", module.as_deref());
    browser.width(1200);

    // A search on the first page leads to the explorer.
    browser.open(&site, "index.html");
    browser.shot("index.png");
    browser.keys("#q", "setp lt f16\n");
    browser.wait("document.querySelector('#found') && !document.querySelector('#found').hidden");
    assert!(browser.text("#found").contains("setp.lt.f16"));

    // The list is walked with keys.
    browser.replace("#mnemonic", "setp lt ftz f16x2");
    browser.keys("#mnemonic", "\u{e015}\n");
    browser.wait("document.querySelector('.verdict h2')?.innerText.startsWith('setp.lt.ftz.f16x2')");
    assert!(browser.text(".verdict").contains("PTX 4.2, sm_53"));
    assert!(browser.text("#code").contains("t = flush(a) < flush(b);"));

    // An illegal form is refused with the spec's reason, and the nearest forms are links.
    browser.open(&site, "explorer.html#setp.lo.s32");
    assert!(browser.text(".verdict.bad").contains(".lo is for unsigned integers"));
    browser.shot("illegal.png");
    browser.script("document.querySelector('.verdict a').click()");
    browser.wait("document.querySelector('.verdict h2')?.innerText.startsWith('setp.lt.s32')");

    // A modifier is picked with the mouse.
    browser.script("document.querySelector('#pick input[name=s0]:not(:checked)').click()");
    browser.wait("document.querySelector('.verdict h2')?.innerText.startsWith('setp.eq.s32')");

    // Verdicts and reasons are those of the library.
    let mnemonics = variations();
    let list = serde_json::to_string(&mnemonics).expect("text");
    let start = Instant::now();
    let verdicts = browser.script(&format!("return {list}.map((text) => {{ const v = explain(text); return [v.legal, v.legal ? v.mnemonic : v.reasons[0]]; }})"));
    println!("{} verdicts in {:?}", mnemonics.len(), start.elapsed());
    for (mnemonic, verdict) in mnemonics.iter().zip(verdicts.as_array().expect("a list")) {
        match mnemonic::resolve(&TABLE, mnemonic) {
            Ok(resolved) => assert_eq!(*verdict, json!([true, resolved.form.mnemonic()]), "{mnemonic}"),
            Err(refusal) => {
                assert_eq!(verdict[0], json!(false), "{mnemonic}");
                let rule = TABLE
                    .instructions
                    .iter()
                    .flat_map(|info| info.rules)
                    .any(|r| r.reason == refusal.reasons[0].message);
                assert!(!rule || verdict[1] == json!(refusal.reasons[0].message), "{mnemonic}: {verdict}");
            }
        }
    }
    let slowest = browser.script(
        "let worst = 0; for (const text of ['s', 'set', 'setp.l', 'setp.lo.s32', 'set.lt.and.ftz.u32.f32', 'b64 ne']) { \
         const start = performance.now(); list(text); show(text); worst = Math.max(worst, performance.now() - start); } return worst",
    );
    println!("the slowest answer took {slowest} ms");

    if module.is_some() {
        evaluates(&browser, &site);
    } else {
        browser.open(&site, "explorer.html#selp.b32");
        assert!(browser.text("#evaluator").contains("without the evaluators"));
    }

    // Every page stays inside the window, on a phone, too, and has readable text in both colours, which no width changes.
    let opcodes = TABLE.instructions.iter().map(|instruction| format!("i-{}.html", instruction.opcode));
    let others = ["index.html", "forms.html", "explorer.html#vset4.s32.u32.lt.add", "explorer.html#set.lo.s32.f32"];
    for page in opcodes.chain(others.map(str::to_owned)) {
        browser.open(&site, &page);
        for width in [360, 1200] {
            browser.width(width);
            let wide = browser.script("return document.documentElement.scrollWidth").as_i64().expect("a number");
            assert!(wide <= width.into(), "{page} takes {wide} pixels of {width}");
            browser.shot(&format!("{}-{width}.png", page.replace(['#', '.'], "_")));
        }
        for scheme in ["light", "dark"] {
            browser.colours(scheme);
            assert_eq!(browser.script(CONTRAST), json!([]), "{page}, {scheme}");
        }
    }
    let errors = browser.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

/// Texts whose contrast with what is behind them is below 4.5.
const CONTRAST: &str = r"
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const luminance = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        return [0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b), a];
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const [value, alpha] = luminance(getComputedStyle(at).backgroundColor);
            if (alpha > 250) return value;
        }
        return 1;
    };
    const faint = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = new Map();
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        if (!texts.currentNode.textContent.trim() || element.closest('svg, script, style, noscript, .hidden, .skip')) continue;
        if (!element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const key = element.tagName + element.className + style.color + (element.parentElement?.className ?? '');
        if (seen.has(key)) continue;
        seen.set(key, true);
        const [a, b] = [luminance(style.color)[0], behind(element)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) faint.add(`${texts.currentNode.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return [...faint];
";

/// Compares what the page computes with `ptx-isa eval`.
fn evaluates(browser: &Browser, site: &Path) {
    let compare = |statement: &str, inputs: &[(&str, &str)]| {
        let mnemonic = statement.split(' ').next().unwrap_or_default();
        let values: String = inputs.iter().map(|(_, value)| format!(";{value}")).collect();
        browser.open(site, &format!("explorer.html#{mnemonic}{values}"));
        browser.wait("document.documentElement.dataset.ready && document.querySelector('#outs')");
        let page = browser.script("return [...document.querySelectorAll('#outs > div')].map((line) => line.firstChild.data + line.querySelector('output').innerText)");
        let page: Vec<&str> = page.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let given: Vec<String> = inputs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let arguments: Vec<&str> = ["eval", statement].into_iter().chain(given.iter().map(String::as_str)).collect();
        let line = ptx_isa(&arguments);
        // What else is said of a result stands with its instruction.
        let results: Vec<&str> = line.lines().filter(|line| line.contains(" = ")).collect();
        assert_eq!(page, results, "{statement} {inputs:?}");
    };
    compare("setp.lt.and.s32 p|q, a, b, c;", &[("a", "5"), ("b", "-3"), ("c", "1")]);
    compare("set.leu.f32.f32 d, a, b;", &[("a", "nan"), ("b", "-inf")]);
    compare("set.lt.ftz.u32.f32 d, a, b;", &[("a", "1e-40"), ("b", "0f3f800000")]);
    compare("setp.gt.f16x2 p|q, a, b;", &[("a", "0x3c004000"), ("b", "0x40003c00")]);
    compare("slct.f64.f32 d, a, b, c;", &[("a", "1.5"), ("b", "0d7ff0000000000001"), ("c", "-0.0")]);
    compare("vset4.s32.u32.lt d, a, b, c;", &[("a", "-2"), ("b", "0x01020304"), ("c", "0")]);
    // What computes alone, on registers, and is the first form of its mnemonic: for the others the page says why not.
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

    // What is typed is computed at once, lane by lane, and what is wrong is said.
    browser.open(site, "explorer.html#setp.lt.f16x2;0x3c004000;0x40003c00");
    browser.wait("document.querySelector('#outs')");
    assert!(browser.text("#in0shown").contains("2.0") && browser.text("#in0shown").contains("1.0"));
    assert!(browser.text(".steps").contains("t = a < b;"));
    browser.shot("evaluated.png");
    browser.replace("#in0", "two");
    browser.wait("document.querySelector('#wrong').innerText.includes('is no value of type')");
    assert_eq!(browser.script("return document.querySelector('#in0').getAttribute('aria-invalid')"), json!("true"));
    browser.replace("#in0", "0");
    browser.wait("document.querySelector('#outs')");
}
