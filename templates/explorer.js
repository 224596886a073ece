"use strict";
// The explorer. It knows no instruction: forms, rules, reasons, floors and pseudo-code come from `PTX`, which the spec
// computed; values come from the evaluators in `MODULE`, where the site has them.

const ABSENT = -1, NEAREST = 3, FOUND = 60;
const $ = (id) => document.getElementById(id);

// ---- The table.

/** The fields of a form, by name. */
const form = (index) => {
  const [instruction, syntax, operands, floor, lenient, note, traces, ...values] = PTX.forms[index];
  return { index, instruction, syntax, operands, floor, lenient, note, traces, values };
};

const mnemonicOf = (index) => {
  const row = PTX.forms[index], info = PTX.instructions[row[0]];
  let text = info.opcode;
  for (const [slot] of info.syntaxes[row[1]].items)
    if (row[7 + slot] !== ABSENT) text += "." + info.slots[slot].members[row[7 + slot]][0];
  return text;
};

const mnemonics = PTX.forms.map((_, index) => mnemonicOf(index));
const byMnemonic = new Map(mnemonics.map((text, index) => [text, index]));
const byValues = new Map(PTX.forms.map((row, index) => [row[0] + ":" + row.slice(7), index]));
const opcodes = new Map(PTX.instructions.map((info, index) => [info.opcode, index]));
const typeNames = new Set(PTX.types.map((type) => type.name));

/** The form of an instruction with these members, if there is one. */
const select = (instruction, values) => byValues.get(instruction + ":" + values);

// ---- From text to members. A syntax line is filled with the tokens; types keep their order among each other, all else
// stands where it likes.

function fit(info, line, tokens, own) {
  const values = info.slots.map(() => ABSENT), left = [];
  const member = (item, token) => {
    const index = info.slots[item[0]].members.findIndex(([name]) => name === token);
    return index >= 0 && (!own || item[2].includes(index)) ? index : ABSENT;
  };
  const typed = line.items.filter(([slot]) => info.slots[slot].types);
  const others = line.items.filter(([slot]) => !info.slots[slot].types);
  const counted = tokens.filter((token) => typeNames.has(token)).length === typed.length;
  let next = 0;
  for (const token of tokens) {
    if (!typeNames.has(token)) {
      const free = others.find((item) => values[item[0]] === ABSENT && member(item, token) !== ABSENT);
      if (free) values[free[0]] = member(free, token); else left.push(token);
      continue;
    }
    while (!counted && next < typed.length && typed[next][1] && member(typed[next], token) === ABSENT) next++;
    if (next < typed.length && member(typed[next], token) !== ABSENT) {
      values[typed[next][0]] = member(typed[next], token);
      next++;
    } else {
      left.push(token);
      if (counted && next < typed.length) next++;
    }
  }
  const missing = line.items.filter(([slot, optional]) => !optional && values[slot] === ABSENT);
  return { line, values, left, missing, problems: left.length + missing.length };
}

const best = (info, tokens, own) =>
  info.syntaxes.map((line) => fit(info, line, tokens, own)).reduce((a, b) => (b.problems < a.problems ? b : a));

/** What a text means: an instruction, members, and what is wrong with the text itself. */
function read(text) {
  const parts = text.trim().split(/\s*\./);
  // An opcode may have several words: the longest is meant.
  const counts = parts.slice(0, 5).map((_, index) => index + 1).reverse();
  const count = counts.find((count) => opcodes.has(parts.slice(0, count).join(".")));
  if (count === undefined) return { unknown: parts[0] };
  const [opcode, tokens] = [parts.slice(0, count).join("."), parts.slice(count)];
  const instruction = opcodes.get(opcode);
  const info = PTX.instructions[instruction];
  for (const line of info.syntaxes) {
    const exact = fit(info, line, tokens, true);
    if (!exact.problems && select(instruction, exact.values) !== undefined) return { instruction, values: exact.values, wrong: [] };
  }
  const loose = best(info, tokens, false);
  const wrong = loose.left.map((token) => {
    const second = info.slots.find((slot) => slot.members.some(([name]) => name === token));
    if (second) return `\`.${token}\` has no place in \`${loose.line.text}\``;
    const names = info.slots.flatMap((slot) => slot.members.map(([name]) => name));
    const near = closest(token, names);
    return `\`${opcode}\` has no modifier \`.${token}\`` + (near ? `; did you mean \`.${near}\`?` : "");
  });
  return { instruction, values: loose.values, wrong };
}

/** Why members are no form, in the spec's words where it has a rule. */
function reasons(instruction, values) {
  const info = PTX.instructions[instruction];
  const broken = info.rules.filter((rule) => rule.forbids.every(([slot, set]) => set.includes(values[slot])));
  const judge = (line, own) => {
    const list = [];
    for (const [slot, optional, members] of line.items) {
      const { name } = info.slots[slot];
      if (values[slot] === ABSENT) {
        if (!optional) list.push(`\`${info.opcode}\` needs a \`.${name}\``);
      } else if (own && !members.includes(values[slot])) {
        list.push(`\`.${info.slots[slot].members[values[slot]][0]}\` is no \`.${name}\` of \`${line.text}\``);
      }
    }
    values.forEach((value, slot) => {
      if (value !== ABSENT && !line.items.some((item) => item[0] === slot))
        list.push(`\`.${info.slots[slot].members[value][0]}\` has no place in \`${line.text}\``);
    });
    return list;
  };
  const fewest = (own) => info.syntaxes.map((line) => judge(line, own)).reduce((a, b) => (b.length < a.length ? b : a));
  const loose = fewest(false);
  if (loose.length) return { list: loose, suspects: [] };
  if (broken.length)
    return { list: [...new Set(broken.map((rule) => rule.reason))], suspects: broken.map((rule) => rule.forbids[0][0]) };
  const strict = fewest(true);
  return { list: strict.length ? strict : ["no syntax line has these modifiers together"], suspects: [] };
}

/** The forms that differ least: best in one slot, and there in spelling. */
function nearest(instruction, values, suspects) {
  const { slots } = PTX.instructions[instruction];
  const costs = slots.map((slot, index) => {
    const was = values[index], less = suspects.includes(index) ? 30 : 0;
    const cost = (to) => to === was ? 0 : was === ABSENT ? 150 : to === ABSENT ? 120 - less
      : 100 - less + distance(slot.members[was][0], slot.members[to][0]);
    return { absent: cost(ABSENT), members: slot.members.map((_, to) => cost(to)) };
  });
  const near = [];
  PTX.forms.forEach((row, index) => {
    if (row[0] !== instruction) return;
    let cost = 0;
    for (let slot = 0; slot < costs.length; slot++) {
      const value = row[7 + slot];
      cost += value === ABSENT ? costs[slot].absent : costs[slot].members[value];
    }
    if (near.length < NEAREST || cost < near[near.length - 1][0]) {
      let place = near.length;
      while (place > 0 && near[place - 1][0] > cost) place--;
      near.splice(place, 0, [cost, index]);
      near.length = Math.min(near.length, NEAREST);
    }
  });
  return near.filter(([cost]) => cost <= near[0][0] + 30).map(([, index]) => index);
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = Math.min(replaced, row[j] + 1, row[j - 1] + 1);
    }
  }
  return row[b.length];
}

function closest(text, names) {
  const allowed = Math.min(Math.floor(text.length / 2), 2);
  const near = names.map((name) => [distance(text.toLowerCase(), name), name]).sort((a, b) => a[0] - b[0])[0];
  return near && near[0] <= allowed ? near[1] : null;
}

/** The verdict on a text, as tests ask for it. */
function explain(text) {
  const meant = read(text);
  if (meant.unknown !== undefined) {
    const near = closest(meant.unknown, [...opcodes.keys()]);
    return { legal: false, reasons: [`\`${meant.unknown}\` is not in the table`], nearest: [], near };
  }
  const index = meant.wrong.length ? undefined : select(meant.instruction, meant.values);
  if (index !== undefined) return { ...meant, legal: true, index, mnemonic: mnemonics[index] };
  const why = meant.wrong.length ? { list: meant.wrong, suspects: [] } : reasons(meant.instruction, meant.values);
  return { ...meant, legal: false, reasons: why.list, nearest: nearest(meant.instruction, meant.values, why.suspects) };
}

/** Forms whose mnemonic has all the words of a text; those that begin with it come first. */
function search(text) {
  const words = text.toLowerCase().split(/[\s.]+/).filter(Boolean);
  if (!words.length) return [];
  const dotted = text.trim().toLowerCase();
  const found = [];
  mnemonics.forEach((mnemonic, index) => {
    const parts = mnemonic.split(".");
    if (!words.every((word) => parts.some((part) => part.startsWith(word)))) return;
    const exact = words.filter((word) => parts.includes(word)).length;
    found.push([(mnemonic.startsWith(dotted) ? -100 : 0) - exact * 10 + parts.length, index]);
  });
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, index]) => index);
}

// ---- The page.

const escape = (text) => text.replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char]);
const prose = (text) => text.split("`").map((part, index) => (index % 2 ? `<code>${escape(part)}</code>` : escape(part))).join("");
const floorWords = (place) => `PTX ${PTX.floors[place][0]}, ${PTX.floors[place][1]}`;
const formLink = (index) => `<a href="#${mnemonics[index]}"><code>${mnemonics[index]}</code></a>`;

let shown = null;

/** Shows what a text means. Values for the evaluator may stand behind semicolons. */
function show(text, inputs) {
  const verdict = explain(text);
  shown = verdict;
  if (verdict.instruction === undefined) {
    $("pick").innerHTML = opcodePick(null);
    const help = verdict.near ? `<p>Did you mean <a href="#${verdict.near}"><code>${verdict.near}</code></a>?</p>` : "";
    $("verdict").innerHTML = text.trim() ? refusal(text, verdict.reasons, help) : "";
    $("about").innerHTML = $("code").innerHTML = "";
    $("evaluator").hidden = true;
    return;
  }
  const { opcode } = PTX.instructions[verdict.instruction];
  document.title = `${text} · PTX reference`;
  $("pick").innerHTML = opcodePick(verdict.instruction) + slotPicks(verdict);
  if (!verdict.legal) {
    const bare = text.trim() === opcode;
    const near = `<p>${bare ? "Begin with" : "Legal and near"}: ${verdict.nearest.map(formLink).join(", ")}</p>`;
    $("verdict").innerHTML = refusal(text, verdict.reasons, near);
    $("code").innerHTML = "";
    $("about").innerHTML = `<p><a href="i-${opcode}.html">All about <code>${opcode}</code></a></p>`;
    $("evaluator").hidden = true;
    return;
  }
  $("verdict").innerHTML = legal(verdict.index);
  about(verdict.index);
  evaluator(verdict.index, inputs);
}

const refusal = (text, list, help) =>
  `<div class="verdict bad"><p class="word">Not legal</p><h2>${escape(text)}</h2><ul>${list.map((reason) => `<li>${prose(reason)}</li>`).join("")}</ul>${help}</div>`;

function legal(index) {
  const { operands, floor, lenient, note, instruction, syntax } = form(index);
  const info = PTX.instructions[instruction], entry = info.entries[info.syntaxes[syntax].entry];
  const less = lenient >= 0 ? `<p>For the assembler ${floorWords(lenient)}: ${prose(PTX.notes[note])}</p>` : "";
  return `<div class="verdict"><p class="word">Legal</p><h2>${mnemonics[index]} <span class="meta">${escape(PTX.operands[operands].signature)};</span></h2>
    <p>${prose(entry.summary)}</p><p>Since ${floorWords(floor)}.</p>${less}</div>`;
}

function about(index) {
  const found = form(index), info = PTX.instructions[found.instruction];
  const line = info.syntaxes[found.syntax], entry = info.entries[line.entry];
  const operands = PTX.operands[found.operands].list;
  const rows = operands.map((operand) => {
    const type = PTX.types[operand.ty], name = operand.second ? `${operand.name}|${operand.second}` : operand.name;
    return `<tr><th scope="row"><code>${name}</code></th><td>${operand.written ? "written" : "read"}</td><td><code>.${type.name}</code>, ${type.width}<br><span class="meta">${escape(operand.takes)}</span></td></tr>`;
  });
  const members = line.items.filter(([slot]) => found.values[slot] !== ABSENT).map(([slot]) => {
    const [name, description] = info.slots[slot].members[found.values[slot]];
    return `<tr><th scope="row"><code>.${name}</code></th><td>${description ? prose(description) : "see the pseudo-code"}</td></tr>`;
  });
  const pseudo = codeOf(found, 65535);
  const called = info.functions.filter(([signature]) => pseudo.some((text) => text.includes(signature.split("(")[0] + "(")));
  const notes = [...new Set(operands.flatMap((operand) => operand.notes || []))];
  $("code").innerHTML = `<h3>Pseudo-code</h3>${pseudo.length ? `<pre class="code"><code>${pseudo.map(escape).join("\n")}</code></pre>` : "<p>The table has none.</p>"}
    ${called.length ? `<dl class="functions">${called.map(([signature, what]) => `<div><dt><code>${signature}</code></dt><dd>${prose(what)}</dd></div>`).join("")}</dl>` : ""}`;
  $("about").innerHTML = `<h2>About this form</h2><div class="grid"><section><h3>Operands</h3><table>${rows.join("")}</table></section>
    <section><h3>Modifiers</h3><table>${members.join("")}</table><h3>Where</h3><dl class="facts"><dt>Page</dt><dd><a href="i-${info.opcode}.html#s${entry.section}"><code>${info.opcode}</code>, section ${entry.section}</a></dd>
    <dt>Spec</dt><dd><code>${entry.source}</code></dd><dt>Rust</dt><dd>${pseudo.length ? `<code>scalar::${snake(mnemonics[index])}</code><br>` : ""}<code>Form::${camel(mnemonics[index])}</code></dd></dl>
    ${notes.map((note) => `<p class="note">${prose(note)}</p>`).join("")}</section></div>`;
}

const snake = (mnemonic) => mnemonic.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase()).replace(/[^a-z0-9]/g, "_");
const camel = (mnemonic) => mnemonic.split(/[._:]/).map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join("");

function codeOf(found, sm) {
  if (found.traces < 0) return [];
  const ranges = PTX.traces[found.traces];
  return (ranges.find(([below]) => sm < below) || ranges[ranges.length - 1])[1].map((line) => PTX.lines[line]);
}

const chip = (group, value, text, checked, illegal) =>
  `<label class="chip${illegal ? " illegal" : ""}"><input type="radio" name="${group}" value="${value}"${checked ? " checked" : ""}><span>${text}</span></label>`;

const group = (name, chips) => `<div class="group" role="radiogroup" aria-label="${name}"><span class="legend" aria-hidden="true">${name}</span><div>${chips.join("")}</div></div>`;

const opcodePick = (chosen) =>
  group("opcode", PTX.instructions.map((info, index) => chip("opcode", index, info.opcode, index === chosen)));

/** The members of each slot; those that would not be legal beside the others are marked. */
function slotPicks({ instruction, values }) {
  const { slots, syntaxes } = PTX.instructions[instruction];
  return slots.map((slot, index) => {
    const legalWith = (value) => {
      const other = values.slice();
      other[index] = value;
      return select(instruction, other) !== undefined;
    };
    const may = syntaxes.some((line) => !line.items.some((item) => item[0] === index && !item[1]));
    const none = may ? chip("s" + index, ABSENT, "none", values[index] === ABSENT, !legalWith(ABSENT)) : "";
    const members = slot.members.map(([name], member) => chip("s" + index, member, "." + name, values[index] === member, !legalWith(member)));
    return group("." + slot.name, [none, ...members]);
  }).join("");
}

/** The mnemonic of members, legal or not: in the order of the line that has most of their slots. */
function spell(instruction, values) {
  const index = select(instruction, values);
  if (index !== undefined) return mnemonics[index];
  const info = PTX.instructions[instruction];
  const has = (line) => line.items.filter(([slot]) => values[slot] !== ABSENT).length;
  const line = info.syntaxes.reduce((a, b) => (has(b) > has(a) ? b : a));
  const order = line.items.map(([slot]) => slot);
  values.forEach((_, slot) => order.includes(slot) || order.push(slot));
  return info.opcode + order.filter((slot) => values[slot] !== ABSENT).map((slot) => "." + info.slots[slot].members[values[slot]][0]).join("");
}

// ---- The evaluator.

let evaluators = null;

async function load() {
  const bytes = Uint8Array.from(atob(MODULE), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), {});
  return instance.exports;
}

/** What the module answers to a request, a list of fields for each line. */
function ask(request) {
  const bytes = new TextEncoder().encode(request);
  const at = evaluators.request(bytes.length);
  new Uint8Array(evaluators.memory.buffer, at, bytes.length).set(bytes);
  const length = evaluators.evaluate();
  const answer = new TextDecoder().decode(new Uint8Array(evaluators.memory.buffer, evaluators.answer(), length));
  return answer.split("\n").filter(Boolean).map((line) => line.split("\t"));
}

function evaluator(index, given) {
  const found = form(index);
  $("evaluator").hidden = found.traces < 0;
  if (found.traces < 0 || !$("inputs")) return;
  const operands = PTX.operands[found.operands].list, kept = {};
  for (const input of $("inputs").elements) if (input.dataset.typed) kept[input.name] = input.value;
  const fields = [];
  operands.filter((operand) => !operand.written).forEach((operand, place) => {
    const type = PTX.types[operand.ty], id = "in" + place;
    const value = (given && given[place]) ?? kept[id + type.name] ?? operand.sample;
    fields.push(`<label for="${id}"><span><code>${operand.name}</code> .${type.name}</span><input id="${id}" name="${id + type.name}" value="${escape(value)}" autocomplete="off" spellcheck="false" autocapitalize="none"><span class="shown" id="${id}shown"></span></label>`);
  });
  operands.forEach((operand, place) => {
    if (!operand.selector) return;
    const [name, usual] = operand.selector, id = "sel" + place;
    fields.push(`<label for="${id}"><span><code>${operand.name}</code> .${name}</span><input id="${id}" name="${id}" value="${escape(kept[id] ?? usual)}" placeholder="${usual || "none"}" autocomplete="off" spellcheck="false" autocapitalize="none"><span class="shown"></span></label>`);
  });
  const ranges = PTX.traces[found.traces];
  if (ranges.length > 1) {
    const from = (place) => (place ? ranges[place - 1][0] : 0);
    const options = ranges.map(([below], place) => [below, below === 65535 ? `sm_${from(place)} and newer` : `below sm_${below}`]).reverse();
    fields.push(`<label for="target"><span>target</span><select id="target">${options.map(([below, text]) => `<option value="${below - 1}">${text}</option>`).join("")}</select></label>`);
  }
  $("inputs").innerHTML = fields.join("");
  compute();
}

/** The statement that the inputs stand for. */
function statement(index) {
  const operands = PTX.operands[form(index).operands].list.map((operand, place) => {
    const selector = $("sel" + place)?.value.trim() ?? "";
    return operand.name + (operand.second ? "|" + operand.second : "") + (selector && !selector.startsWith(".") ? "." : "") + selector;
  });
  return `${mnemonics[index]} ${operands.join(", ")};`;
}

function compute() {
  if (!evaluators || !shown?.legal) return;
  const inputs = [...$("inputs").querySelectorAll("[id^=in]")].filter((input) => input.tagName === "INPUT");
  const sm = $("target") ? $("target").value : "";
  const answer = ask([statement(shown.index), sm === "65534" ? "" : sm, ...inputs.map((input) => input.value)].join("\n"));
  const of = (kind) => answer.filter((line) => line[0] === kind);
  const wrong = [...of("error").map((line) => line[1]), ...of("wrong").map((line) => line[2])];
  const lanes = (values) => (values.length ? `<span class="lanes">${values.map((value) => `<span>${escape(value)}</span>`).join("")}</span>` : "");
  inputs.forEach((input, place) => {
    const bad = of("wrong").some((line) => +line[1] === place);
    input.setAttribute("aria-invalid", bad);
    const line = of("in").find((line) => +line[1] === place);
    $(input.id + "shown").innerHTML = line ? (line.length > 3 ? lanes(line.slice(3)) : escape(line[2])) : "";
  });
  $("wrong").innerHTML = wrong.map(prose).join("<br>");
  if (wrong.length) return void ($("results").innerHTML = "");
  const outs = of("out").map(([, name, value, ...parts]) => `<div>${name} = <output>${escape(value)}</output>${lanes(parts)}</div>`);
  const names = of("out").map((line) => line[1]);
  const steps = of("step").map(([, line, ...values]) =>
    `<tr${names.includes(line.split(" ")[0]) ? ' class="destination"' : ""}><td><code>${escape(line)}</code></td><td>${values.length > 1 ? lanes(values) : `<code>${escape(values[0] ?? "")}</code>`}</td></tr>`);
  $("results").innerHTML = `<div class="outs" id="outs">${outs.join("")}</div>
    <table class="steps"><thead><tr><th scope="col">Pseudo-code</th><th scope="col">Value${of("step").some((line) => line.length > 3) ? ", lane 0 first" : ""}</th></tr></thead><tbody>${steps.join("")}</tbody></table>`;
}

// ---- What the reader does.

/** Shows what the address names: a mnemonic, and values behind semicolons. */
function follow() {
  const [text, ...inputs] = decodeURIComponent(location.hash.slice(1)).split(";");
  const query = new URLSearchParams(location.search).get("q");
  if (!text && query) {
    $("mnemonic").value = query;
    list(query);
    const first = search(query)[0];
    return show(opcodes.has(query) || first === undefined ? query : mnemonics[first]);
  }
  $("mnemonic").value = text;
  close();
  show(text, inputs.length ? inputs : undefined);
}

let choice = -1;

function list(text) {
  const found = search(text), box = $("found");
  box.innerHTML = found.slice(0, FOUND).map((index, place) => `<li role="option" id="found${place}" data-form="${index}" aria-selected="false">${mnemonics[index]}</li>`).join("")
    + (found.length > FOUND ? `<li class="more" aria-hidden="true">and ${found.length - FOUND} more</li>` : "");
  choice = -1;
  open(found.length > 0 && !(found.length === 1 && mnemonics[found[0]] === text.trim()));
}

function open(is) {
  $("found").hidden = !is;
  $("mnemonic").setAttribute("aria-expanded", is);
  if (!is) $("mnemonic").removeAttribute("aria-activedescendant");
}
const close = () => open(false);

function go(text) {
  close();
  if (decodeURIComponent(location.hash.slice(1)) === text) follow();
  else location.hash = text;
}

$("mnemonic").addEventListener("input", (event) => {
  list(event.target.value);
  show(event.target.value);
});

$("mnemonic").addEventListener("keydown", (event) => {
  const options = [...$("found").querySelectorAll("[role=option]")];
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if ($("found").hidden || !options.length) return;
    event.preventDefault();
    choice = (choice + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
    options.forEach((option, place) => option.setAttribute("aria-selected", place === choice));
    options[choice].scrollIntoView({ block: "nearest" });
    $("mnemonic").setAttribute("aria-activedescendant", options[choice].id);
  } else if (event.key === "Enter") {
    go(choice >= 0 && options[choice] ? options[choice].textContent : $("mnemonic").value.trim());
  } else if (event.key === "Escape") close();
});

$("found").addEventListener("mousedown", (event) => {
  const option = event.target.closest("[data-form]");
  if (option) {
    event.preventDefault();
    go(option.textContent);
  }
});
$("mnemonic").addEventListener("blur", close);

$("pick").addEventListener("change", (event) => {
  const { name, value } = event.target;
  let text;
  if (name === "opcode") {
    const first = PTX.forms.findIndex((row) => row[0] === +value);
    text = mnemonics[first];
  } else {
    const values = shown.values.slice();
    values[+name.slice(1)] = +value;
    text = spell(shown.instruction, values);
  }
  history.pushState(null, "", "#" + text);
  $("mnemonic").value = text;
  show(text);
  // The chips are new; the reader stays where she was.
  $("pick").querySelector(`[name="${name}"][value="${value}"]`)?.focus();
});

if ($("inputs")) {
  $("inputs").addEventListener("input", (event) => {
    event.target.dataset.typed = "1";
    compute();
  });
  $("inputs").addEventListener("submit", (event) => event.preventDefault());
  load().then((exports) => {
    evaluators = exports;
    document.documentElement.dataset.ready = "1";
    compute();
  }, (error) => ($("wrong").textContent = `The evaluators do not load: ${error.message}`));
}

addEventListener("hashchange", follow);
addEventListener("popstate", follow);
follow();
