"use strict";
// What the module computes for the explorer: values, steps and diagrams. Loaded with the module.

/** Shows lanes as a row of boxes with their values. */
const lanesOf = (values) =>
  values.length ? `<span class="lanes">${values.map((value) => `<span>${escape(value)}</span>`).join("")}</span>` : "";

/** Shows the lanes that a selector picks from; picked lanes are highlighted, with the lanes that they are picked
    for. */
function selectorPicture({ operand, name, cells }) {
  if (!cells.length) return "";
  const parts = [...cells].reverse().map(({ of, number, value, picked }) =>
    `<td class="${picked.length ? "picked" : ""}"><b>${escape(of)}</b> ${number}<br><code>${value}</code><br>${picked.length ? "→ " + picked.join(", ") : "–"}</td>`);
  return `<figure class="picture"><figcaption>What <code>${escape(operand)}.${escape(name)}</code> picks, the highest lane first</figcaption>
    <div class="scroll" role="group" aria-label="Lanes of ${escape(operand)}"><table class="cells"><tbody><tr>${parts.join("")}</tr></tbody></table></div></figure>`;
}

const range = (low, count) => (count > 1 ? `${low + count - 1}:${low}` : `${low}`);
const codes = (names) => names.map((name) => `<code>${escape(name)}</code>`).join(", ");

/** Shows where the bits of a destination come from, highest bit first. */
function bitsPicture({ destination, sources, parts }) {
  const from = (origin, count, repeated) =>
    !origin ? "–" : repeated ? `${origin[0]}[${origin[1]}] × ${count}` : `${origin[0]}[${range(origin[1], count)}]`;
  const cells = parts.map(({ to, count, origin, repeated, value }) =>
    `<div class="${origin ? "picked" : ""}" style="--bits:${count}"><b>${escape(destination)}[${range(to, count)}]</b><br>${from(origin, count, repeated)}<br><code>${value}</code></div>`);
  return `<figure class="picture"><figcaption>Where the bits of <code>${escape(destination)}</code> come from, with these values: bits of ${codes(sources)}</figcaption><div class="bits">${cells.join("")}</div></figure>`;
}

/** Shows which lanes the result of each lane comes from. Lanes with equal results have one color; hatched ones are unspecified. */
function warpPicture({ source, destination, values, results, from, unspecified }) {
  const wide = 30, high = 22, drop = 70, middle = (lane) => (lane + 0.5) * wide, bottom = high + drop;
  const lanesIn = (mask) => values.map((_, lane) => lane).filter((lane) => (mask >>> lane) & 1);
  const few = from.every((mask) => lanesIn(mask).length < 3);
  const colors = [...new Set(results)];
  const row = (texts, y, result) => {
    // Long values are letters, the same for equal ones.
    const short = texts.every((text) => text.length < 5), distinct = [...new Set(texts)];
    const shown = (text) => (short ? text : distinct.length > 1 ? String.fromCharCode(65 + distinct.indexOf(text) + (distinct.indexOf(text) > 25 ? 6 : 0)) : "");
    return texts.map((text, lane) => `<g${result && (unspecified >>> lane) & 1 ? ' class="open"' : result && colors.length > 1 ? ` style="--hue:${(colors.indexOf(text) * 67) % 360}"` : ""}><rect x="${lane * wide + 1}" y="${y}" width="${wide - 2}" height="${high}"/><text x="${middle(lane)}" y="${y + 15}">${escape(shown(text))}</text><title>lane ${lane}: ${escape(text)}${result && (unspecified >>> lane) & 1 ? ", unspecified" : ""}</title></g>`).join("");
  };
  const line = (x, y, to, below, tip = "") => `<line${tip} x1="${x}" y1="${y}" x2="${to}" y2="${below}"/>`, tip = ' marker-end="url(#tip)"';
  const bar = high + drop / 2;
  const joined = () => {
    const sources = lanesIn(from.reduce((all, mask) => all | mask, 0)), readers = lanesIn(from.reduce((all, mask, lane) => all | (mask ? 1 << lane : 0), 0));
    return sources.map((lane) => line(middle(lane), high, middle(lane), bar)).join("") + line(middle(0), bar, middle(values.length - 1), bar) + readers.map((lane) => line(middle(lane), bar, middle(lane), bottom - 3, tip)).join("");
  };
  const arrows = few ? from.map((mask, lane) => lanesIn(mask).map((other) => line(middle(other), high, middle(lane), bottom - 3, tip)).join("")).join("") : joined();
  const names = values.map((_, lane) => `<text class="number" x="${middle(lane)}" y="${bottom + high + 14}">${lane}</text>`).join("");
  const said = few ? from.map((mask, lane) => `${lane} from ${lanesIn(mask).join(" and ") || "none"}`).join(", ") : "each from all";
  const equal = colors.length === 1 ? `, <code>${escape(colors[0])}</code> in all lanes` : "";
  return `<figure class="picture"><figcaption>Top: <code>${escape(source)}</code> of each lane. Bottom: <code>${escape(destination)}</code>${equal}; equal colors are equal results</figcaption>
    <div class="scroll" role="group" aria-label="Lanes of ${escape(destination)}"><svg class="warp" viewBox="0 -1 ${wide * values.length} ${bottom + high + 20}" role="img" aria-label="${escape(destination)} of lane ${escape(said)}"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6"/></pattern><marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z"/></marker></defs>${row(values, 0, false)}${arrows}${row(results, bottom, true)}${names}</svg></div></figure>`;
}

/** Shows a constant as the truth table that it is. Each result is a button that changes it. */
function truthPicture({ constant, sources, destination, rows }) {
  const bit = (row, place) => (row >> (sources.length - 1 - place)) & 1;
  const body = rows.map(({ result, other }, row) =>
    `<tr>${sources.map((_, place) => `<td>${bit(row, place)}</td>`).join("")}<td><button type="button" data-text="${escape(other)}" aria-pressed="${result}" aria-label="${+result}: ${escape(destination)} for ${sources.map((name, place) => `${escape(name)} ${bit(row, place)}`).join(", ")}" data-row="${row}">${+result}</button></td></tr>`);
  return `<figure class="picture"><figcaption><code>${escape(constant)}</code> is the truth table of each bit: press a result to change it</figcaption>
    <table class="truth"><thead><tr>${[...sources, destination].map((name) => `<th scope="col"><code>${escape(name)}</code></th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table></figure>`;
}

/** Shows which lane holds each element of a matrix, as which of its elements. */
function matrixPicture({ operands, rows, columns, registers, cell: [high, wide], matrices }) {
  const count = high * wide, across = columns / wide;
  const heads = Array.from({ length: across }, (_, column) => `<th scope="col">${wide > 1 ? `${column * wide}–${column * wide + wide - 1}` : column}</th>`).join("");
  const tables = matrices.map((cells, matrix) => {
    const body = Array.from({ length: rows / high }, (_, row) =>
      `<tr><th scope="row">${high > 1 ? `${row * high}–${row * high + high - 1}` : row}</th>${cells.slice(row * across, (row + 1) * across).map(([lane, first]) => `<td${lane ? "" : ' class="picked"'}>T${lane} ${first}${count > 1 ? `–${first + count - 1}` : ""}</td>`).join("")}</tr>`);
    return `<div class="scroll" role="group" aria-label="Matrix ${matrix} of ${escape(operands.join(", "))}"><table class="held">${matrices.length > 1 ? `<caption>Matrix ${matrix}</caption>` : ""}<thead><tr><td></td>${heads}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
  });
  return `<details class="fragment"><summary>${codes(operands)}: ${rows} × ${columns} elements, ${registers} register${registers > 1 ? "s" : ""} in each lane</summary>${tables.join("")}</details>`;
}

// ---- The evaluator.

/** Input fields are kept as long as their keys stay the same, so that the focus is not lost while typing. */
function evaluator({ values }) {
  $("evaluator").hidden = !values;
  if (!values) return;
  const fields = [
    ...values.inputs.map(({ name, ty, text, value, lanes, wrong }) => ({ key: name, label: `<code>${escape(name)}</code> .${ty}`, text, shown: values.warp.length ? "" : lanes.length ? lanesOf(lanes) : escape(value), wrong })),
    ...values.selectors.map(({ place, operand, name, word, usual, wrong }) => ({ key: "/" + place, label: `<code>${escape(operand)}</code> .${escape(name)}`, text: word, shown: `left out: ${escape(usual || "none")}`, wrong })),
  ];
  const keys = fields.map(({ key, label }) => key + label).join();
  if ($("inputs").dataset.keys !== keys) {
    $("inputs").dataset.keys = keys;
    $("inputs").innerHTML = fields.map(({ key, label }, place) =>
      `<label for="in${place}"><span>${label}</span><input id="in${place}" data-key="${escape(key)}" aria-describedby="in${place}shown" autocomplete="off" spellcheck="false" autocapitalize="none"><span class="shown" id="in${place}shown"></span></label>`).join("");
  }
  fields.forEach(({ text, shown, wrong }, place) => {
    const input = $("in" + place);
    if (input !== document.activeElement) input.value = text;
    input.setAttribute("aria-invalid", Boolean(wrong));
    $(`in${place}shown`).innerHTML = wrong ? "" : shown;
  });
  $("why").innerHTML = prose(values.why ?? "");
  const problems = [...fields.map(({ wrong }) => wrong), ...values.problems].filter(Boolean);
  $("wrong").innerHTML = problems.map(prose).join("<br>");
  if (problems.length || values.why) return put("results", "");
  const outs = values.outs.map(({ name, value, lanes, unspecified }) => `<div>${escape(name)} = <output>${escape(value)}</output>${lanesOf(lanes)}${unspecifiedIn(unspecified)}</div>`);
  const steps = values.steps.map(({ line, lanes, result }) =>
    `<tr${result ? ' class="destination"' : ""}><td><code>${escape(line)}</code></td><td>${lanes.length > 1 ? lanesOf(lanes) : `<code>${escape(lanes[0] ?? "")}</code>`}</td></tr>`);
  put("results", `<div class="outs" id="outs">${values.written ? outs.join("") : "The guard is false: nothing is written."}</div>
    ${values.truth ? truthPicture(values.truth) : ""}${values.selectors.map(selectorPicture).join("")}${values.bits.map(bitsPicture).join("")}${values.warp.map(warpPicture).join("")}
    ${steps.length ? `<table class="steps"><thead><tr><th scope="col">Pseudo-code</th><th scope="col">Value${values.steps.some(({ lanes }) => lanes.length > 1) ? ", lane 0 first" : ""}</th></tr></thead><tbody>${steps.join("")}</tbody></table>` : ""}`);
}

/** Says which results the manual leaves open: of a thread, or of the lanes in a mask. */
function unspecifiedIn(mask) {
  if (!mask) return "";
  const lanes = Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (mask >>> lane) & 1);
  const starts = lanes.filter((lane) => !lanes.includes(lane - 1)), ends = lanes.filter((lane) => !lanes.includes(lane + 1));
  const ranges = starts.map((start, place) => (start < ends[place] ? `${start}–${ends[place]}` : start));
  const where = mask === 1 || lanes.length === 32 ? "" : ` in lanes ${ranges.join(", ")}`;
  return `<p class="note">Unspecified${where}: any other value is as good.</p>`;
}
