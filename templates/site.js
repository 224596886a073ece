"use strict";
// What every page does: the version and the target that a reader asks about, kept in the address of every page; matrices
// and lists by them; links by arrow keys in matrices. It knows no instruction: versions, targets and floors are `PTX`'s.

const $ = (id) => document.getElementById(id);

/** What the reader asks about; empty is any. */
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

/** Whether a target has what another one is said to have: as the assembler knows families. */
function targetHas(target, wanted) {
  const [own, other] = [smOf(target), smOf(wanted)];
  if (!letterOf(wanted)) return own >= other;
  if (letterOf(wanted) !== "f") return target === wanted;
  const family = own === other || PTX.families.some((list) => list.includes(own) && list.includes(other));
  return family && own >= other && letterOf(target) !== "";
}

/** Whether the machine has what a floor asks for. */
function has(floor) {
  const [ptx, targets, removed] = PTX.floors[floor];
  const version = PTX.versions.indexOf(machine.ptx);
  if (machine.ptx && version < ptx) return false;
  if (machine.target && !targets.some((wanted) => targetHas(machine.target, wanted))) return false;
  return !(removed && machine.ptx && machine.target && version >= removed[0] && smOf(machine.target) >= removed[1]);
}

const floorWords = (floor) => `PTX ${PTX.versions[PTX.floors[floor][0]]}, ${PTX.floors[floor][1].join(" or ")}`;

/** The address of a page of the site for the machine. */
function link(address) {
  const [file, anchor] = address.split(/#(.*)/s);
  const query = new URLSearchParams();
  if (machine.ptx) query.set("ptx", machine.ptx);
  if (machine.target) query.set("target", machine.target);
  const asked = query.toString();
  return file.split("?")[0] + (asked ? "?" + asked : "") + (anchor === undefined ? "" : "#" + anchor);
}

/** Carries the machine on to other pages, and marks what it does not have. */
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

/** Options of the two lists, and what choosing does. */
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

/** One stop for the tab key in each matrix; arrows go from cell to cell. */
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

/** What scrolls is reached by keys; what does not is no stop. */
function scrolling(root = document) {
  for (const box of root.querySelectorAll(".scroll, pre")) {
    if (box.scrollWidth > box.clientWidth && !box.querySelector("a")) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// The address holds what is shown: going to the content must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});

/** Cells without forms say why: each reason stands once on a page. */
function reasons() {
  const list = JSON.parse($("whys")?.textContent ?? "[]");
  for (const cell of document.querySelectorAll("[data-why]")) cell.title = list[cell.dataset.why];
}

choices();
reasons();
filter();
roving();
scrolling();
addEventListener("resize", () => scrolling());
addEventListener("toggle", ({ target }) => scrolling(target), true);
