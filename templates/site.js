"use strict";
// Common to all pages: the selected version and target, which are stored in the address of every page; filtering of
// matrices and lists by them; arrow keys in matrices. Versions, targets and floors come from `PTX`.

const $ = (id) => document.getElementById(id);

/** The selected version and target; an empty string means any. */
const machine = (() => {
  const query = new URLSearchParams(location.search);
  const known = (list, name) => (list.includes(name) ? name : "");
  const asked = { ptx: known(PTX.versions, query.get("ptx")), target: known(PTX.targets, query.get("target")) };
  return exists(asked.ptx, asked.target) ? asked : { ...asked, ptx: "" };
})();

/** Whether there is such a machine: a version knows the target. */
function exists(ptx, target) {
  return !ptx || !target || PTX.versions.indexOf(ptx) >= PTX.since[PTX.targets.indexOf(target)];
}

const smOf = (target) => parseInt(target.slice(3), 10);
const letterOf = (target) => target.replace(/^sm_\d+/, "");

/** Returns true if a target supports the features of another target, following the assembler's family rules. */
function targetHas(target, wanted) {
  const [own, other] = [smOf(target), smOf(wanted)];
  if (!letterOf(wanted)) return own >= other;
  if (letterOf(wanted) !== "f") return target === wanted;
  const family = own === other || PTX.families.some((list) => list.includes(own) && list.includes(other));
  return family && own >= other && letterOf(target) !== "";
}

/** Returns true if the selected version and target meet a floor. */
function has(floor) {
  const [ptx, targets, removed] = PTX.floors[floor];
  const version = PTX.versions.indexOf(machine.ptx);
  if (machine.ptx && version < ptx) return false;
  if (machine.target && !targets.some((wanted) => targetHas(machine.target, wanted))) return false;
  return !(removed && machine.ptx && machine.target && version >= removed[0] && smOf(machine.target) >= removed[1]);
}

const floorWords = (floor) => `PTX ${PTX.versions[PTX.floors[floor][0]]}, ${PTX.floors[floor][1].join(" or ")}`;

/** Returns the address of a page of the site, with the selected version and target. */
function link(address) {
  const [file, anchor] = address.split(/#(.*)/s);
  const query = new URLSearchParams();
  if (machine.ptx) query.set("ptx", machine.ptx);
  if (machine.target) query.set("target", machine.target);
  const asked = query.toString();
  return file.split("?")[0] + (asked ? "?" + asked : "") + (anchor === undefined ? "" : "#" + anchor);
}

/** Adds the selected version and target to links, and marks what they do not support. */
function filter(root = document) {
  for (const a of root.querySelectorAll("a[href]")) {
    const address = a.getAttribute("href");
    if (!/^(#|[a-z]+:)/.test(address)) a.setAttribute("href", link(address));
  }
  for (const place of root.querySelectorAll("[data-needs]")) {
    const there = place.dataset.needs.split(" ").some((floor) => has(+floor));
    place.classList.toggle("off", !there);
    if (there) place.removeAttribute("title");
    else place.title = `Not with ${[machine.ptx && "PTX " + machine.ptx, machine.target].filter(Boolean).join(", ")}`;
  }
}

/** Fills the two selection lists, and handles their changes. */
function choices() {
  for (const [id, list] of [["ptx", PTX.versions], ["target", PTX.targets]]) {
    for (const name of [...list].reverse()) $(id).add(new Option(name, name));
    $(id).value = machine[id];
    $(id).addEventListener("change", () => {
      machine[id] = $(id).value;
      possible();
      history.replaceState(null, "", link(location.pathname.replace(/.*\//, "") + location.hash));
      filter();
      dispatchEvent(new Event("machine"));
    });
  }
  possible();
  document.querySelector(".machine").hidden = false;
}

/** What makes no machine with the other choice cannot be chosen. */
function possible() {
  for (const option of $("ptx").options) option.disabled = !exists(option.value, machine.target);
  for (const option of $("target").options) option.disabled = !exists(machine.ptx, option.value);
}

/** Makes each matrix a single tab stop; arrow keys move between its cells. */
function roving() {
  for (const table of document.querySelectorAll(".matrix")) {
    const links = [...table.querySelectorAll("td a")];
    links.forEach((a, place) => {
      a.tabIndex = place ? -1 : 0;
      // Heard without its row and column, it says its form.
      a.ariaLabel = `${a.textContent} ${a.hash.slice(1)}`;
    });
    table.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const cell = event.target.closest("td");
      if (!step || !cell) return;
      event.preventDefault();
      const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
      let [row, column] = [rows.indexOf(cell.parentNode), cell.cellIndex];
      let next;
      do {
        [row, column] = [row + step[0], column + step[1]];
        next = rows[row]?.cells[column];
      } while (next && !next.querySelector("a"));
      if (!next) return;
      cell.querySelector("a").tabIndex = -1;
      next.querySelector("a").tabIndex = 0;
      next.querySelector("a").focus();
    });
  }
}

/** Makes scrollable elements focusable, so that they can be scrolled by keyboard. */
function scrolling(root = document) {
  for (const box of root.querySelectorAll(".scroll, pre")) {
    if ((box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) && !box.querySelector("a")) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// The address stores the state of the page, so the skip link must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});

/** Cells without forms say why: each reason is given once per page. */
function reasons() {
  const list = JSON.parse($("whys")?.textContent ?? "[]");
  for (const cell of document.querySelectorAll("[data-why]")) cell.title = list[cell.dataset.why];
}

/** Opens the folded parts around the place that the address names. */
function reveal() {
  const place = document.querySelector(":target");
  for (let at = place?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  if (place?.closest("details")) place.scrollIntoView();
}

choices();
reasons();
filter();
roving();
scrolling();
reveal();
addEventListener("hashchange", reveal);
addEventListener("resize", () => scrolling());
addEventListener("toggle", ({ target }) => scrolling(target), true);
