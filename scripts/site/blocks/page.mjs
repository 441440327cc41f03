// SPDX-License-Identifier: Apache-2.0

// Gives every runnable block of a page the buttons Run and Edit. FRAME is the document in which
// programs run.

import { importsOf, isRunnable, MODULES } from './modules.mjs';

const folder = new URL('.', document.currentScript.src);
const loading = new Map();

/** Text of a module, which arrives as a script, because pages from `file:` cannot fetch. */
function textOf(name) {
  if (!Object.hasOwn(MODULES, name)) {
    const known = Object.keys(MODULES).join(' and ');
    throw new Error(`import: only ${known} can be imported here, got ${name}`);
  }
  if (!loading.has(name)) {
    const script = document.createElement('script');
    script.src = new URL(`${MODULES[name]}.js`, folder);
    const text = new Promise((resolve, reject) => {
      script.onload = () => resolve(globalThis.dpFtrlTexts[MODULES[name]]);
      script.onerror = () => reject(new Error(`${script.src} cannot be loaded`));
    });
    text.catch(() => loading.delete(name));
    loading.set(name, text);
    document.head.append(script);
  }
  return loading.get(name);
}

async function textsOf(code) {
  const names = importsOf(code);
  const texts = await Promise.all(names.map(textOf));
  return Object.fromEntries(names.map((name, i) => [name, texts[i]]));
}

function make(tag, properties) {
  return Object.assign(document.createElement(tag), properties);
}

class Block {
  constructor(pre) {
    this.pre = pre;
    this.original = pre.querySelector('code').textContent.trimEnd();
    this.editor = make('textarea', { spellcheck: false, ariaLabel: 'Program' });
    this.runButton = make('button', { type: 'button', onclick: () => this.toggle() });
    this.editButton = make('button', { type: 'button', onclick: () => this.edit() });
    this.output = make('output', {});
    this.editor.oninput = () => this.fit();
    this.editor.onkeydown = (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.start();
    };
    this.restore();
    this.end();
    const tools = make('div', { className: 'block-tools' });
    tools.append(this.runButton, this.editButton);
    pre.after(tools, this.output);
  }

  restore() {
    this.editor.value = this.original;
    this.editor.replaceWith(this.pre);
    this.editButton.textContent = 'Edit';
  }

  edit() {
    if (this.editor.isConnected) return this.restore();
    this.pre.replaceWith(this.editor);
    this.editButton.textContent = 'Reset';
    this.fit();
    this.editor.focus();
  }

  fit() {
    this.editor.rows = this.editor.value.split('\n').length;
  }

  toggle() {
    if (this.frame) return this.end('stopped');
    this.start();
  }

  async start() {
    this.end();
    this.output.textContent = '';
    this.runButton.textContent = 'Stop';
    const frame = make('iframe', { sandbox: 'allow-scripts', srcdoc: FRAME, hidden: true });
    this.frame = frame;
    try {
      const code = this.editor.value;
      const texts = await textsOf(code);
      if (this.frame !== frame) return;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => this.frame === frame && this.take(data);
      frame.onload = () => frame.contentWindow.postMessage({ code, texts }, '*', [port2]);
      document.body.append(frame);
    } catch (error) {
      if (this.frame === frame) this.end(String(error));
    }
  }

  take({ text, error, ended }) {
    if (text !== undefined) this.print(text);
    if (error !== undefined) this.print(error, 'error');
    if (ended) this.end(this.output.hasChildNodes() ? undefined : 'nothing was printed');
  }

  print(textContent, className = '') {
    this.output.append(make('div', { textContent, className }));
  }

  /** Ends the program, if one is running, and says why. */
  end(why) {
    this.frame?.remove();
    this.frame = undefined;
    this.runButton.textContent = 'Run';
    if (why) this.print(why, 'error');
  }
}

for (const pre of document.querySelectorAll('pre:has(> code.js)')) {
  const code = pre.querySelector('code');
  for (const line of code.querySelectorAll('br')) line.replaceWith('\n');
  if (isRunnable(code.textContent)) new Block(pre);
}
