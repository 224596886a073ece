"use strict";
// The explorer. It contains no knowledge of instructions and does not parse statements: the WebAssembly module returns
// the verdict on a statement, the modifiers that each slot accepts, and the computed results. Until the module has
// loaded, the index looks up forms by their canonical mnemonics.

// ---- State of the page: a statement, and input values by name. Both are stored in the address.

const state = { text: "", given: new Map() };

/** Decodes escapes. An address may be typed by hand, so invalid escapes are kept as they are. */
const decode = (text) => text.replace(/(%[0-9a-f]{2})+/gi, (escapes) => {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return escapes;
  }
});

/** Reads the state from an address such as `setp.lt.s32 p, a, b;a=5;b=7`. */
function readAddress() {
  const hash = location.hash.slice(1);
  const query = new URLSearchParams(location.search).get("q");
  const [text, ...rest] = hash ? hash.split(";") : [encodeURIComponent(query ?? "")];
  state.text = decode(text).trim();
  state.given = new Map(rest.filter((part) => part.includes("=")).map((part) => part.split(/=(.*)/s).slice(0, 2).map(decode)));
}

function address() {
  const encode = (text) => encodeAddress(text).replace(/;/g, "%3B");
  const text = encodeAddress(state.text.replace(/;\s*$/, ""));
  return link("explorer.html#" + [text, ...[...state.given].map(([name, value]) => `${encode(name)}=${encode(value)}`)].join(";"));
}

// ---- Requests to the module.

const told = new Map();
/** Called by `o-OPCODE.js`. */
function tell(opcode, what) {
  told.set(opcode, what);
}

const compiled = new Map();
/** Called by `c-OPCODE.js`. */
function assembled(opcode, what) {
  compiled.set(opcode, what);
}

function ask(text, given) {
  const name = text.replace(/^\s*@\S+\s+/, "").match(/^[^\s;]*/)[0].split(".");
  const opcode = name.map((_, end) => name.slice(0, name.length - end).join(".")).find((name) => told.has(name));
  const examples = (told.get(opcode)?.examples ?? []).map((example) => ["", example]);
  const values = [...examples, ...given].map(([name, value]) => `${name}=${value.replace(/\n/g, " ")}`);
  return request("evaluate", [text.replace(/\s+/g, " "), machine.ptx, machine.target, ...values].join("\n"));
}

/** Returns what the index knows of a text; `null` if it would have to be parsed. */
function known(text) {
  const nothing = { text, reasons: [], warnings: [], nearest: [], slots: [] };
  const found = formNamed(text.replace(/;$/, "").trim());
  if (found) {
    const there = has(found.form.floor), needs = { message: `\`${text}\` needs ${floorWords(found.form.floor)}` };
    return { ...nothing, verdict: there ? "legal" : "elsewhere", opcode: found.opcode.name, reasons: there ? [] : [needs], floor: floorWords(found.form.floor) };
  }
  return OPCODES.has(text) ? { ...nothing, verdict: "opcode", opcode: text, nearest: formsOf(PTX.opcodes[OPCODES.get(text)]).slice(0, 3).map((form) => form.mnemonic) } : null;
}

/** Returns the answer of the module or, until that has loaded, of the index. */
const explain = (text, given = new Map()) => (module ? ask(text, given) : known(text));

// ---- The page.

const WORDS = { uncovered: "Not covered", opcode: "An opcode", illegal: "Not legal", elsewhere: "Not legal on this target", legal: "Legal" };
let shown = null;

/** Sets the content of an element, unless it is unchanged, which avoids a new layout. */
const written = new Map();
function put(id, html) {
  if (written.get(id) === html) return;
  written.set(id, html);
  $(id).innerHTML = html;
  filter($(id));
  scrolling($(id));
}

const formLink = (text) => `<a href="${link("explorer.html#" + encodeAddress(text))}"><code>${escape(text)}</code></a>`;

function show() {
  if (!state.text) return;
  const answer = explain(state.text, state.given);
  shown = answer;
  delete document.documentElement.dataset.shown;
  if (!answer) {
    put("verdict", MODULE ? `<p class="note">Reading…</p>` : `<div class="verdict"><p class="word">Not read</p><p>${escape(state.text)}</p></div>`);
    return hideForm();
  }
  document.title = `${answer.text} · PTX reference`;
  put("verdict", verdict(answer));
  pick(answer);
  const { opcode } = answer;
  if (opcode && !told.has(opcode)) {
    // The verdict grows by what it tells: what is below comes after that, so that nothing moves.
    script(`o-${stem(opcode)}.js`).catch(() => told.set(opcode, null)).then(() => shown === answer && show());
    return;
  }
  about(answer);
  // Of `pictures.js`, which comes with the module.
  if (module) evaluator(answer);
  document.documentElement.dataset.shown = "1";
}

function hideForm() {
  put("pick", "");
  put("about", "");
  $("evaluator").hidden = true;
}

function verdict(answer) {
  const { verdict, text, opcode, reasons, warnings, nearest, form } = answer;
  const entry = told.get(opcode)?.entries[form?.entry ?? 0];
  const floor = form?.floor ?? answer.floor;
  const machineWords = [machine.ptx && "PTX " + machine.ptx, machine.target].filter(Boolean).join(", ");
  const parts = [`<p class="word">${WORDS[verdict]}${verdict === "elsewhere" ? `: ${machineWords}` : ""}</p>`];
  parts.push(`<h2>${escape(text || state.text)}${form && !/[\s;]/.test(text) && form.signature ? ` <span class="meta">${escape(form.signature)};</span>` : ""}</h2>`);
  if (verdict === "uncovered") {
    const near = search(state.text)[0];
    parts.push(`<p>PTX has no instruction that is called so.</p>`);
    if (!reasons.some((reason) => reason.help) && near) parts.push(`<p>Near: <a href="${link(near.href)}">${escape(near.name)}</a></p>`);
    parts.push(bullets(reasons.filter((reason) => reason.help).map(({ help }) => prose(help))));
  } else if (verdict === "opcode") {
    parts.push(entry ? `<p>${prose(entry.summary)}</p>` : "", `<p><a href="${link(`i-${stem(opcode)}.html`)}">All about <code>${opcode}</code></a>. Begin with ${nearest.map(formLink).join(", ")}</p>`);
  } else {
    parts.push(bullets(reasons.map(finding)));
    if (nearest.length) parts.push(`<p>Legal and near: ${nearest.map(formLink).join(", ")}</p>`);
    if (entry && verdict !== "illegal") parts.push(`<p>${prose(entry.summary)}</p>`);
    if (floor) parts.push(`<p>Since ${escape(floor)}.${form?.assembler ? ` For the assembler ${escape(form.assembler[0])}: ${prose(form.assembler[1])}` : ""}</p>`);
    if (form?.unlisted) parts.push(`<p class="note">${prose(form.unlisted)}</p>`);
    if (form?.bound) parts.push(`<p>A machine’s result is within ${escape(form.bound)} of the exact one.</p>`);
    parts.push(bullets(warnings.map(finding)));
  }
  parts.push(`<p><button type="button" id="copy">Copy link</button> <span id="copied" role="status"></span></p>`);
  return `<div class="verdict ${verdict}">${parts.join("")}</div>`;
}

/** Tells how the semantics of a form were verified, from the recorded results. */
function how({ place, code, runs }, { by, ways }) {
  const folded = ways[place] & 1 ? ["Results that the assembler folded are replayed by a test."] : [];
  const interpreted = ways[place] & 2 ? ["Results of machine code, interpreted, are replayed by a test."] : [];
  const held = ways[place] & 4 ? ["Held to an independent reference: a test that reads the manual for itself."] : [];
  const known = [...folded, ...interpreted];
  if (known.length) return [...known, `${escape(by)}.`, ...held];
  if (held.length) return ["No result of a machine is recorded.", ...held];
  return [code.length ? "Evaluated; no result of a machine is recorded." : runs ? "Kernels run it; no result of a machine is recorded." : "The manual only: the table has its grammar and rules."];
}

// ---- Modifiers.

/** Shows the modifiers of each slot. A group of radio buttons is a single tab stop. */
function pick({ slots, verdict }) {
  const states = { illegal: ["illegal", "not legal with the others"], elsewhere: ["elsewhere", "not on this target"], fine: ["", ""] };
  // What is wrong is a slot in which another choice is legal. If there is none, any of the modifiers may be.
  const mends = ({ picks }) => picks.some(({ state }) => state !== "illegal");
  const mendable = slots.some(mends);
  const chip = (slot, { name, state, on }, place) => {
    const fine = verdict === "opcode" || (on && (mendable ? !mends(slots[slot]) : !name));
    const [kind, why] = fine ? states.fine : states[state];
    return `<label class="chip ${kind}"${why ? ` title="${why}"` : ""}><input type="radio" name="slot${slot}" value="${place}"${on ? " checked" : ""}${kind === "illegal" ? ' aria-disabled="true"' : ""}><span>${name ? "." + escape(name) : "none"}${why ? `<span class="hidden">, ${why}</span>` : ""}</span></label>`;
  };
  const groups = slots.map(({ name, picks }, slot) => {
    // A slot with a single choice is not shown.
    if (picks.length < 2) return "";
    return `<div class="group" role="radiogroup" aria-label="${escape(name)}"><span class="legend" aria-hidden="true">.${escape(name)}</span><div>${picks.map((one, place) => chip(slot, one, place)).join("")}</div></div>`;
  });
  put("pick", groups.length ? `<h2>Modifiers</h2>${groups.join("")}` : "");
}

// ---- Description of a form.

function about({ form, opcode, slots }) {
  const page = told.get(opcode);
  // What follows waits for what is above it.
  if (!page || (MODULE && !module)) return put("about", "");
  const entry = page.entries[form?.entry ?? 0];
  const where = `<p class="meta"><a href="${link(`i-${stem(opcode)}.html`)}">All about <code>${opcode}</code></a> · <a href="${entry.manual}">Manual, section ${entry.section}</a> · <a href="${link(specAddress(entry.source))}">Spec, <code>${entry.source}</code></a></p>`;
  if (!form) return put("about", where);
  const operands = form.operands.map(({ name, written, ty, takes, notes }) =>
    `<tr><th scope="row"><code>${escape(name)}</code></th><td>${written ? "written" : "read"}</td><td>${escape(ty)}<br><span class="meta">${escape(takes)}</span>${notes.map((note) => `<br><span class="note">${prose(note)}</span>`).join("")}</td></tr>`);
  const members = slots.flatMap(({ name, picks }) => picks.filter(({ on, name }) => on && name).map((one) => {
    const said = page.members[name]?.[one.name];
    return `<tr><th scope="row"><code>.${escape(one.name)}</code></th><td>${said ? prose(said[form.floats ? 0 : 1]) : "see the pseudo-code"}</td></tr>`;
  }));
  // A function of the same name with other parameters is not called.
  const arity = (list) => list.split(",").length;
  const calls = ([signature]) => {
    const [name, parameters] = signature.split("(");
    return form.code.some((line) => line.split(name + "(").slice(1).some((rest) => /[(]/.test(rest.split(")")[0]) || arity(rest.split(")")[0]) === arity(parameters)));
  };
  const called = page.functions.filter(calls);
  const [architecture, opcodes] = compiled.get(opcode)?.code[compiled.get(opcode).places[form.place] - 1] ?? [];
  if (page.recorded?.compiled && !compiled.has(opcode)) {
    script(`c-${stem(opcode)}.js`).then(() => shown?.opcode === opcode && about(shown));
  }
  put("about", `${form.code.length ? `<h2>Pseudo-code</h2><pre class="code">${form.code.map((line) => `<code>${escape(line)}</code>`).join("")}</pre>` : ""}
    ${called.length ? `<dl class="functions">${called.map(([signature, what]) => `<div><dt><code>${escape(signature)}</code></dt><dd>${prose(what)}</dd></div>`).join("")}</dl>` : ""}
    ${page.recorded ? `<h2>How it is known</h2><ul id="known">${how(form, page.recorded).map((one) => `<li>${one}</li>`).join("")}</ul>` : ""}
    ${opcodes ? `<h2>Machine code</h2><pre class="code values"><code>${escape(opcodes)}</code></pre><p class="note">For ${architecture}, by ${escape(compiled.get(opcode).assembler)}. Loads of operands and stores of results are left out.</p>` : ""}
    ${form.matrices?.length ? `<h2>Matrices</h2><p class="note">Who holds what: <code>T5 2</code> is lane 5 of the warp with its element 2, counted from the lowest bits of its first register on.</p>${form.matrices.map(matrixPicture).join("")}` : ""}
    ${form.effects.length ? `<h2>Effects</h2><ul>${form.effects.map((effect) => `<li>${prose(effect)}</li>`).join("")}</ul>` : ""}
    <h2>About this form</h2>${where}<div class="grid"><section><h3>Operands</h3><table class="facts">${operands.join("")}</table></section>
    <section><h3>Modifiers</h3><table class="facts">${members.join("")}</table><h3>In Rust</h3><p>${form.function ? `<code>scalar::${form.function}</code><br>` : ""}<code>${form.constant}</code></p></section></div>`);
}

const specAddress = (source) => source.replace(/^(.*):(\d+)$/, "s-$1.html#L$2");

// ---- Events.

/** Navigates to an address of this page. */
function arrive(to) {
  history.pushState(null, "", to);
  follow();
}

/** Shows the state that is stored in the address. */
function follow() {
  readAddress();
  if (document.activeElement !== box) box.value = state.text;
  show();
}

/** Stores the state in the address. Only choices of modifiers, not single keystrokes, add a history entry. */
const keep = (push) => history[push ? "pushState" : "replaceState"](null, "", address());

document.addEventListener("click", (event) => {
  const a = event.target.closest("a[href]");
  if (a && !event.ctrlKey && !event.metaKey && !event.shiftKey && /^explorer\.html(\?.*)?#/.test(a.getAttribute("href"))) {
    event.preventDefault();
    arrive(a.getAttribute("href"));
  } else if (event.target.id === "copy") {
    copyAddress();
  }
});

$("pick").addEventListener("change", ({ target }) => {
  const slot = +target.name.slice(4);
  state.text = shown.slots[slot].picks[+target.value].text;
  keep(true);
  box.value = state.text;
  show();
  // The radio buttons have been replaced: restore the focus.
  $("pick").querySelector(`[name="${target.name}"][value="${target.value}"]`)?.focus();
});

$("inputs").addEventListener("input", ({ target }) => {
  state.given.set(target.dataset.key, target.value);
  if (target.dataset.key.startsWith("/")) {
    const answer = explain(state.text, state.given);
    if (!answer.values?.selectors.some(({ wrong }) => wrong)) box.value = answer.text;
  }
  keep(false);
  show();
});
$("inputs").addEventListener("submit", (event) => event.preventDefault());

// A result of a truth table.
$("results").addEventListener("click", ({ target }) => {
  if (!target.dataset.text) return;
  state.text = target.dataset.text;
  keep(true);
  box.value = state.text;
  show();
  $("results").querySelector(`[data-row="${target.dataset.row}"]`)?.focus();
});


// A statement is checked while it is typed. Plain words only search.
box.addEventListener("input", () => {
  const text = box.value.trim();
  if (!isStatement(text) && !formNamed(text)) return;
  state.text = text;
  keep(false);
  show();
});

addEventListener("popstate", follow);
addEventListener("machine", show);
follow();
if (MODULE) {
  start("pictures.js").then(show, (error) => (put("verdict", `<p class="note">The reader does not load: ${escape(error.message)}</p>`)));
}
