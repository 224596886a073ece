"use strict";
// The search box, which accepts words, a mnemonic, a statement, or a section title. It contains no knowledge of
// instructions: opcodes, forms and their search words come from `PTX`, and statements are evaluated by the explorer's
// module.

const HITS = 40, FORMS_OF_ONE = 6, ABSENT = 63;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = Object.fromEntries([...DIGITS].map((letter, value) => [letter, value]));

// Lists of members are shared by what has the same.
for (const { slots } of PTX.opcodes) for (const slot of slots) slot[2] = PTX.members[slot[2]];

/** What opcodes are called elsewhere: each phrase with their numbers, and its words as they would be among those of prose. */
const CALLED = new Map();
PTX.opcodes.forEach(({ also }, number) => {
  const add = (list, entry) => list.some((other) => other >> 2 === number) || list.push(entry);
  for (const phrase of also) {
    if (!CALLED.has(phrase)) CALLED.set(phrase, []);
    CALLED.get(phrase).push(number);
    for (const word of phrase.split(" ")) add((PTX.words[word] ??= []), number * 4 + 3);
  }
});

const VOCABULARY = Object.keys(PTX.words);
const OPCODES = new Map(PTX.opcodes.map((opcode, number) => [opcode.name, number]));

/** Returns the forms of an opcode: mnemonic, floor, and modifiers. */
function formsOf(opcode) {
  if (opcode.list) return opcode.list;
  opcode.list = [];
  const text = opcode.forms, two = (at) => DIGIT[text[at]] * 64 + DIGIT[text[at + 1]];
  let floor, line;
  for (let at = 0; at < text.length; ) {
    // A dot means the floor and the line of the previous form.
    if (text[at] === ".") at++;
    else [floor, line, at] = [two(at), opcode.lines[two(at + 2)], at + 4];
    const tokens = [];
    for (const slot of line) {
      const value = DIGIT[text[at++]];
      if (value !== ABSENT) tokens.push(opcode.slots[slot][2][value]);
    }
    opcode.list.push({ mnemonic: [opcode.name, ...tokens].join("."), floor, tokens });
  }
  return opcode.list;
}

/** Returns the form with this canonical mnemonic. */
function formNamed(mnemonic) {
  const parts = mnemonic.split(".");
  for (let count = parts.length; count; count--) {
    const number = OPCODES.get(parts.slice(0, count).join("."));
    const form = number !== undefined && formsOf(PTX.opcodes[number]).find((form) => form.mnemonic === mnemonic);
    if (form) return { opcode: PTX.opcodes[number], form };
  }
  return null;
}

/** Returns the number of insertions, deletions, substitutions and transpositions between two words. */
function distance(a, b) {
  let before = [], row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(above[j - 1] + (a[i - 1] !== b[j - 1]), above[j] + 1, row[j - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    before = above;
  }
  return row[b.length];
}

/** Returns the name closest to a misspelt word, if any is close enough. */
function closest(word, names) {
  const allowed = Math.min(Math.floor(word.length / 3), 2);
  let best = null;
  for (const name of names) {
    // The first letter is rarely misspelt.
    if (name[0] !== word[0] || Math.abs(name.length - word.length) > allowed) continue;
    const far = distance(word, name) + Math.abs(name.length - word.length) / 10;
    if (far < allowed + 1 && (!best || far < best[0])) best = [far, name];
  }
  return best?.[1];
}

/** Returns the similarity of two words: 3 if equal, 2 for a prefix, 1 for a common stem, otherwise 0. */
function alike(word, other) {
  if (word === other) return 3;
  if (other.startsWith(word)) return 2;
  const shorter = Math.min(word.length, other.length);
  let same = 0;
  while (same < shorter && word[same] === other[same]) same++;
  return same >= 5 && same >= shorter - 2 && Math.abs(word.length - other.length) <= 6 ? 1 : 0;
}

/** Returns, for each opcode whose description contains a similar word, its weight. */
function said(word) {
  const found = new Map();
  for (const other of VOCABULARY) {
    const much = alike(word, other);
    if (!much) continue;
    for (const entry of PTX.words[other]) {
      const [opcode, weight] = [entry >> 2, (entry & 3) * much];
      if ((found.get(opcode) ?? 0) < weight) found.set(opcode, weight);
    }
  }
  return found;
}

const TOKENS = new Set(PTX.opcodes.flatMap((opcode) => opcode.slots.flatMap((slot) => slot[2])));
const SEGMENTS = new Set(PTX.opcodes.flatMap((opcode) => opcode.name.split(".")));

/** Special registers, directives, types and state spaces by their names without punctuation. */
const bare = (name) => name.toLowerCase().replace(/^[%.]/, "");
const NAMES = new Map(PTX.names.map((entry) => [bare(entry[1]), entry]));
const partsOf = (text) => text.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
const TOLD_OF_NAMES = new Set(PTX.names.flatMap(([, , note]) => partsOf(note)));

const KNOWN = [...NAMES.keys(), ...TOLD_OF_NAMES, ...SEGMENTS, ...TOKENS, ...VOCABULARY], MEANT = new Map();

/** Replaces a word without any match by the closest known word. */
function meant(word) {
  if (!MEANT.has(word)) {
    const known = KNOWN.some((other) => other.startsWith(word)) || VOCABULARY.some((other) => alike(word, other));
    MEANT.set(word, known ? word : closest(word, SEGMENTS) ?? closest(word, TOKENS) ?? closest(word, VOCABULARY) ?? word);
  }
  return MEANT.get(word);
}

const formHit = ({ mnemonic, floor }) =>
  ({ kind: "form", name: mnemonic, floor, note: floorWords(floor), href: `explorer.html#${mnemonic}` });

/** The words of a text. A name of C++ is several: `__shfl_up_sync`, `atomicAdd`, `wmma::load_matrix_sync(…)`. */
function wordsOf(text) {
  const known = (word) => SEGMENTS.has(word) || TOKENS.has(word) || NAMES.has(word);
  return text.replace(/\(.*$/, "").replace(/\.[xyzw]\s*$/, "").split(/[\s.,;]+/).filter(Boolean).flatMap((word) => {
    const own = word.toLowerCase();
    if (known(own)) return own;
    const parts = word.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(/[\s_:<>&*%-]+/).filter(Boolean);
    const whole = parts.join("");
    return parts.length > 1 && (VOCABULARY.includes(whole) || CALLED.has(whole) || TOLD_OF_NAMES.has(whole)) ? whole : parts;
  });
}

/** Searches for instructions, forms and sections, best match first. */
function search(text) {
  const all = wordsOf(text);
  // In a query of several words, words of one or two letters that name nothing are ignored.
  const typed = all.filter((word) => word.length > 2 || all.length === 1 || SEGMENTS.has(word) || TOKENS.has(word) || KNOWN.includes(word));
  if (!all.length) return [];
  const words = typed.map(meant), prose = words.map(said), hits = [];
  let complete = false;
  // `atomicAdd_block` is `atomicAdd` with a word behind it.
  const names = [all.join(" "), ...all.map((_, dropped) => all.slice(0, all.length - dropped).join("")).slice(0, -1)];
  const called = new Set(CALLED.get(names.find((name) => CALLED.has(name))) ?? []);
  if (words.length) PTX.opcodes.forEach((opcode, number) => {
    const parts = opcode.name.split("."), wanted = [];
    let score = 0, named = 0, missed = 0;
    for (const [place, word] of words.entries()) {
      const whole = parts.indexOf(word), begun = parts.findIndex((part) => part.startsWith(word));
      const told = prose[place].get(number) ?? 0;
      const modifier = opcode.slots.some((slot) => slot[2].some((member) => member.startsWith(word)));
      if (whole >= 0) [score, named] = [score + (whole ? 50 : 90), named + 1];
      else if (modifier && (words.length > 1 || !told)) {
        wanted.push(word);
        score += 22 + (opcode.slots.some((slot) => slot[2].includes(word)) ? 8 : 0);
      } else if (begun >= 0) score += begun ? 25 : 45;
      else if (told) score += 5 * told;
      else if (++missed * 2 > words.length) return;
    }
    score -= 30 * missed;
    // Names that others use match as well.
    if (called.has(number)) {
      hits.push({ score: score + 90, kind: "instruction", name: opcode.name, note: opcode.summary, href: `i-${stem(opcode.name)}.html` });
      return;
    }
    complete ||= !missed;
    // Prefer opcodes all of whose parts are in the query.
    score += named === parts.length ? 20 : -2 * (parts.length - named);
    if (!wanted.length || named === words.length)
      hits.push({ missed, score: score + (words.length > named ? 0 : 10), kind: "instruction", name: opcode.name, note: opcode.summary, href: `i-${stem(opcode.name)}.html` });
    if (!wanted.length) return;
    const exact = (form) => wanted.filter((word) => form.tokens.includes(word)).length;
    const fits = formsOf(opcode).filter((form) => wanted.every((word) => form.tokens.some((token) => token.startsWith(word))));
    // If a word is a free modifier, which no form contains, the hit is the instruction.
    if (!fits.length)
      hits.push({ missed, score: score - 15, kind: "instruction", name: opcode.name, note: opcode.summary, href: `i-${stem(opcode.name)}.html` });
    fits.sort((a, b) => exact(b) - exact(a) || a.tokens.length - b.tokens.length);
    fits.slice(0, FORMS_OF_ONE).forEach((form, place) =>
      hits.push({ ...formHit(form), missed, score: score + 8 * exact(form) - form.tokens.length / 10 - place / 100 }));
  });
  for (const [number, title] of PTX.chapters) {
    const own = title.toLowerCase().split(/[^a-z0-9]+/);
    const whole = number === text.trim() || typed.length > 0 && typed.every((word) => own.some((other) => other.startsWith(word)));
    if (whole) hits.push({ score: 20 * typed.length + (typed.length > 2 ? 100 : 0), kind: "section", name: title, note: number, href: `index.html#c${number}` });
  }
  for (const [kind, name, note, href] of PTX.names) {
    const own = bare(name), parts = partsOf(name), told = partsOf(note);
    const begins = (word) => parts.some((part) => part.startsWith(word)) || own.startsWith(word);
    // A query with punctuation is meant literally.
    const score = name.toLowerCase() === text.trim().toLowerCase().replace(/\.[xyzw]$/, "") ? 500
      : own === all.join(" ") || own === all.join("_") || own === all.join("") ? 85
      : all.length && all.every((word) => begins(word) || word.length > 2 && told.includes(word)) ? 22 * all.length + (all.every(begins) ? 20 : 0)
      : 0;
    if (score) hits.push({ score, kind, name, note, href });
  }
  const exact = formNamed(text.trim().toLowerCase());
  if (exact && !OPCODES.has(text.trim()))
    hits.push({ ...formHit(exact.form), score: 1000 });
  const seen = new Set();
  // If some hits match all words, those that miss a word are dropped.
  return hits.filter((hit) => !(complete && hit.missed)).sort((a, b) => b.score - a.score).filter((hit) => !seen.has(hit.href) && seen.add(hit.href)).slice(0, HITS);
}

/** Whether a text is meant as PTX rather than as words: `threadIdx.x` and `%tid.x` are none, and an opcode has its page. */
function isStatement(text) {
  if (OPCODES.has(text.trim())) return false;
  if (/^\s*%[\w.]*\s*$/.test(text)) return false;
  if (/[,;@%[\]{}|]/.test(text)) return true;
  const [, first] = text.match(/^\s*([^\s.]+)\.[^\s.]/) ?? [];
  return first !== undefined && (SEGMENTS.has(first) || closest(first, SEGMENTS) !== undefined || !/[A-Z]/.test(first));
}

const escape = (text) => text.replace(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char]);
const prose = (text) => text.split("`").map((part, index) => (index % 2 ? `<code>${escape(part)}</code>` : escape(part))).join("");

/** Returns the forms whose mnemonic begins with a text. */
function begun(text) {
  const opcodes = PTX.opcodes.filter(({ name }) => text.startsWith(name + "."));
  const forms = opcodes.flatMap(formsOf).filter(({ mnemonic }) => mnemonic.startsWith(text) && mnemonic !== text);
  return forms.slice(0, HITS).map(formHit);
}

// ---- The search box.

const box = $("box"), hits = $("hits");
let chosen = -1, shownHits = [];

function list(text) {
  shownHits = isStatement(text) ? begun(text.trim()) : search(text);
  chosen = -1;
  hits.innerHTML = shownHits.map((hit, place) => `<li role="option" id="hit${place}" aria-selected="false"${hit.floor !== undefined && !has(hit.floor) ? ' class="off"' : ""}>
    <code>${escape(hit.name)}</code> <span>${hit.kind === "form" ? "" : `${hit.kind}: `}${prose(hit.note)}</span></li>`).join("");
  open(shownHits.length > 0);
}

function open(is) {
  hits.hidden = !is;
  box.setAttribute("aria-expanded", is);
  if (!is) box.removeAttribute("aria-activedescendant");
}

/** Navigates to a page of the site; the explorer handles its own addresses. */
function go(href) {
  open(false);
  const address = link(href);
  const here = location.pathname.endsWith("/" + address.split(/[?#]/)[0]) && address.includes("#");
  if (here && typeof arrive === "function") arrive(address);
  else location.href = address;
}

/** An opcode in names of files. */
const stem = (opcode) => opcode.replaceAll("::", "--");
const statementAddress = (text) => "explorer.html#" + encodeAddress(text.trim());
/** Addresses should stay readable: only characters that would end or change them are encoded. */
const encodeAddress = (text) => text.replace(/[%#"<>\s`]/g, (char) => encodeURIComponent(char));

function enter() {
  const text = box.value.trim();
  if (!text) return;
  if (chosen >= 0) return go(shownHits[chosen].href);
  if (isStatement(text)) return go(statementAddress(text));
  const first = search(text)[0];
  go(first ? first.href : statementAddress(text));
}

box.addEventListener("input", () => list(box.value));
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (hits.hidden) list(box.value);
    if (!shownHits.length) return;
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1) + shownHits.length) % shownHits.length;
    [...hits.children].forEach((option, place) => option.setAttribute("aria-selected", place === chosen));
    hits.children[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", "hit" + chosen);
  } else if (event.key === "Escape") open(false);
});
box.form.addEventListener("submit", (event) => {
  event.preventDefault();
  enter();
});
hits.addEventListener("mousedown", (event) => {
  const option = event.target.closest("[role=option]");
  if (!option) return;
  event.preventDefault();
  go(shownHits[+option.id.slice(3)].href);
});
box.addEventListener("blur", () => open(false));
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    box.focus();
  }
});
