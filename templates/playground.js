"use strict";
// The playground: a module that is judged while it is typed, and launches of its kernels. The address holds the state,
// compressed.

const EXAMPLE = {
  text: `.version 8.0
.target sm_80
.address_size 64

.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;

    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra done;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f2, [%rd1];
    ld.global.f32 %f3, [%rd2];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd2], %f3;
done:
    ret;
}
`,
  kernel: "saxpy",
  blocks: "2",
  threads: "32",
  arguments: { saxpy: ["50", "2.0", "iota:f32[50]", "ones:f32[50]"] },
};

/** Values of an array that are shown. */
const MOST_VALUES = 256;

const state = structuredClone(EXAMPLE);
const area = $("text");

// ---- The address.

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

async function packState() {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** Reads the state from the address; returns what is wrong with it. */
async function readState() {
  const hash = location.hash.slice(1);
  if (!hash) return;
  try {
    const bytes = Uint8Array.from(atob(hash.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
    const read = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
    if (typeof read.text === "string") Object.assign(state, EXAMPLE, { arguments: {} }, read);
  } catch {
    return "The address holds no module that can be read; this is an example.";
  }
}

let own = "";
async function keep() {
  own = "#" + (await packState());
  history.replaceState(null, "", link("playground.html" + own));
}

// ---- What is shown.

function put(id, html) {
  $(id).innerHTML = html;
  scrolling($(id));
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Judges the text, and launches a kernel if that is asked for. */
function judge(launch) {
  if (!module) return;
  const answer = request("judge", JSON.stringify({ text: state.text, ptx: machine.ptx, target: machine.target, launch }));
  showFindings(answer);
  showInventory(answer);
  showLaunch(answer);
  if (answer.launch) showRan(answer.launch);
}

function showFindings({ findings, more, fixed, floor }) {
  const rows = findings.map(({ line, column, range, error, code, ...found }) =>
    `<li class="${error ? "error" : "warning"}"><button type="button" data-range="${range.join()}">${line}:${column}</button> <b>${error ? "error" : "warning"}</b>: ${finding(found)} <span class="meta">${code}</span></li>`);
  const needs = floor ? `The module needs PTX ${floor.ptx}, ${floor.target}.` : "";
  const none = findings.length ? "" : `<p class="fine">No finding. ${needs}</p>`;
  put("findings", none + (rows.length ? `<ol class="findings">${rows.join("")}</ol>` : "") + (more ? `<p class="note">${plural(more, "more finding")}.</p>` : ""));
  $("fix").hidden = !fixed;
  $("fix").onclick = () => {
    area.value = fixed;
    typed();
  };
}

function showInventory({ functions }) {
  const counts = (title, list, unit) =>
    list.length ? `<tr><th scope="row">${title}</th><td>${list.map(([name, count]) => `<code>.${escape(name)}</code> ${count}${unit}`).join(", ")}</td></tr>` : "";
  const parts = functions.map(({ name, kernel, statements, registers, memory, mnemonics, effects, floor }) => {
    const because = floor?.because.map(([needs, line, text]) => `${escape(needs)}: line ${line}, <code>${escape(text)}</code>`) ?? [];
    const most = Object.entries(mnemonics).sort((a, b) => b[1] - a[1]);
    return `<h3><code>${escape(name)}</code> <span class="count">${kernel ? "kernel" : "function"}, ${plural(statements, "statement")}</span></h3>
      <table class="facts"><tr><th scope="row">Needs</th><td>${floor ? `PTX ${floor.ptx}, ${floor.target}` : "no version and target have all of it"}${bullets(because)}</td></tr>
      ${counts("Registers", Object.entries(registers), "")}${counts("Memory", Object.entries(memory), " bytes")}
      ${Object.entries(effects).length ? `<tr><th scope="row">Effects</th><td>${bullets(Object.entries(effects).map(([effect, count]) => `${prose(effect)} <span class="count">× ${count}</span>`))}</td></tr>` : ""}</table>
      <details class="fold"><summary>Statements by mnemonic</summary><p>${most.map(([mnemonic, count]) => `<a href="${link("explorer.html#" + encodeAddress(mnemonic))}"><code>${escape(mnemonic)}</code></a> ${count}`).join(", ")}</p></details>`;
  });
  put("inventory", parts.join("") || `<p class="note">The text has no function.</p>`);
}

/** Fields of a launch. They are kept as long as kernels and parameters stay the same, so that the focus is not lost. */
let fields = "";
function showLaunch({ functions, findings }) {
  const kernels = functions.filter(({ kernel }) => kernel);
  const errors = findings.some(({ error }) => error);
  const chosen = kernels.find(({ name }) => name === state.kernel) ?? kernels[0];
  const key = JSON.stringify([errors, kernels.map(({ name }) => name), chosen?.name, chosen?.parameters]);
  if (key === fields) return;
  fields = key;
  if (!chosen || errors) {
    put("ran", "");
    return put("launch", `<p class="note">${chosen ? "A module with errors cannot be run." : "The module has no kernel (<code>.entry</code>)."}</p>`);
  }
  state.kernel = chosen.name;
  const usual = (type) => (type === ".f32" || type === ".f64" ? "1.0" : /64$/.test(type) ? "zeros:u32[32]" : "32");
  const given = (state.arguments[chosen.name] ??= []);
  chosen.parameters.forEach(([, type], place) => (given[place] ??= usual(type)));
  given.length = chosen.parameters.length;
  const field = (id, label, value) => `<label><span>${label}</span><input id="${id}" value="${escape(value)}" autocomplete="off" spellcheck="false" autocapitalize="none"></label>`;
  put("launch", `<div class="fields"><label>Kernel<select id="kernel">${kernels.map(({ name }) => `<option${name === chosen.name ? " selected" : ""}>${escape(name)}</option>`).join("")}</select></label>
    ${field("blocks", "Blocks", state.blocks)}${field("threads", "Threads of a block", state.threads)}
    ${chosen.parameters.map(([name, type], place) => field(`argument${place}`, `<code>${escape(name)}</code> ${escape(type)}`, given[place])).join("")}</div>
    <p class="note">Arrays: <code>[1, 2, 3]:f32</code>, <code>zeros:f32[8]</code>, <code>ones</code>, <code>iota</code>, <code>random</code>.</p><p><button type="submit">Run</button></p>`);
}

function showRan({ failed, ended }) {
  if (failed) return put("ran", `<p class="error">${prose(failed.message)}</p>`);
  const arrays = ended.arrays.map(({ name, element, values }) => {
    const shown = values.slice(0, MOST_VALUES).join(", ");
    return `<h3><code>${escape(name)}</code> <span class="count">${values.length} × .${element}</span></h3><pre class="code values"><code>${escape(shown)}${values.length > MOST_VALUES ? ", …" : ""}</code></pre>`;
  });
  const printed = ended.printed ? `<h3>Printed</h3><pre class="code"><code>${escape(ended.printed)}</code></pre>` : "";
  put("ran", `<p class="fine">Ended after ${plural(ended.instructions, "instruction")}, counted once for each thread.</p>${printed}${arrays.join("")}`);
}

// ---- Events.

let pending = 0;
/** The text has changed: it is judged when typing pauses. */
function typed() {
  state.text = area.value;
  clearTimeout(pending);
  pending = setTimeout(() => {
    judge();
    keep();
  }, 150);
}

area.addEventListener("input", typed);
$("findings").addEventListener("click", ({ target }) => {
  if (!target.dataset.range) return;
  area.focus();
  area.setSelectionRange(...target.dataset.range.split(",").map(Number));
});
$("launch").addEventListener("change", ({ target }) => {
  const place = /^argument(\d+)$/.exec(target.id);
  if (place) state.arguments[state.kernel][+place[1]] = target.value;
  else state[target.id] = target.value;
  if (target.id === "kernel") judge();
  keep();
});
$("launch").addEventListener("submit", (event) => {
  event.preventDefault();
  const shape = (text) => [...text.split(/[,x×\s]+/).filter(Boolean).map(Number), 1, 1, 1].slice(0, 3);
  const [blocks, threads] = [shape(state.blocks), shape(state.threads)];
  if (![...blocks, ...threads].every((count) => Number.isInteger(count) && count > 0 && count < 2 ** 31)) {
    return put("ran", `<p class="error">Blocks and threads are one to three positive numbers: <code>4</code>, <code>2, 2</code>.</p>`);
  }
  put("ran", "");
  judge({ kernel: state.kernel, blocks, threads, arguments: state.arguments[state.kernel] });
});
$("copy").addEventListener("click", async () => {
  await keep();
  copyAddress();
});
addEventListener("machine", () => judge());
addEventListener("hashchange", () => location.hash !== own && readState().then(begin));

function begin(wrong) {
  area.value = state.text;
  fields = "";
  judge();
  if (wrong) put("ran", `<p class="note">${wrong}</p>`);
}

readState().then((wrong) => {
  begin(wrong);
  if (MODULE) {
    start().then(() => begin(wrong), (error) => put("findings", `<p class="error">The reader does not load: ${escape(error.message)}</p>`));
  } else {
    put("findings", "");
  }
});
