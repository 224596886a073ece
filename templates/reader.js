"use strict";
// The WebAssembly module that reads, judges, evaluates and runs PTX, and scripts that are loaded on demand. A page opened
// from disk cannot use `fetch`, but can load scripts.

/** Name of the script that has the module; `undefined` if the site was built without it. */
const MODULE = document.currentScript.dataset.module;

const scripts = new Map();
function script(name) {
  if (!scripts.has(name)) {
    scripts.set(name, new Promise((resolve, reject) => {
      const element = document.createElement("script");
      [element.src, element.onload, element.onerror] = [name, resolve, () => reject(new Error(`${name} does not load`))];
      document.head.append(element);
    }));
  }
  return scripts.get(name);
}

let module = null, packed = "";
/** Called by the script that has the module. */
function loaded(text) {
  packed = text;
}

/** Loads the module, and other scripts that are needed with it. */
async function start(...others) {
  await Promise.all([MODULE, ...others].map(script));
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  packed = "";
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), {});
  module = instance.exports;
  document.documentElement.dataset.ready = "1";
}

/** Sends a request to one of the module's functions. */
function request(name, text) {
  const bytes = new TextEncoder().encode(text);
  const at = module.request(bytes.length);
  new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
  const length = module[name]();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(module.memory.buffer, module.answer(), length)));
}

/** Lists items as HTML. */
const bullets = (items) => (items.length ? `<ul>${items.map((item) => `<li>${item}</li>`).join("")}</ul>` : "");
const finding = ({ message, help, note }) => prose(message) + (help ? `<br>${prose(help)}` : "") + (note ? ` <span class="note">${prose(note)}</span>` : "");

/** Copies the address of the page, and says so; shows it where a page may not copy. */
function copyAddress() {
  const copied = (how) => ($("copied").textContent = how);
  navigator.clipboard?.writeText(location.href).then(() => copied("copied"), () => copied(location.href)) ?? copied(location.href);
}
