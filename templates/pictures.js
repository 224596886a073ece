"use strict";
// Diagrams of the module's answers: lanes and their selection, and moved bits.

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

/** Shows which bits of a destination come from a source, highest bit first. */
function movePicture({ source, destination, bits, runs }) {
  const [, width] = bits, parts = [];
  let next = width;
  for (const { from, to, count, value } of [...runs].reverse()) {
    if (to + count < next) parts.push([next - to - count, "", range(to + count, next - to - count), ""]);
    parts.push([count, `${source}[${range(from, count)}]`, range(to, count), value]);
    next = to;
  }
  if (next) parts.push([next, "", range(0, next), ""]);
  const cells = parts.map(([count, from, to, value]) =>
    `<td class="${from ? "picked" : ""}" style="--bits:${count}"><b>${destination}[${to}]</b><br>${from ? `${from}<br><code>${value}</code>` : "not of it"}</td>`);
  return `<figure class="picture"><figcaption>Where the bits of <code>${escape(source)}</code> are in <code>${escape(destination)}</code>, with these values</figcaption>
    <div class="scroll" role="group" aria-label="Bits of ${escape(source)} in ${escape(destination)}"><table class="cells"><tbody><tr>${cells.join("")}</tr></tbody></table></div></figure>`;
}
