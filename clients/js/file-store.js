/**
 * A device's store in one file, for Node. Writers take turns by a lock file; the file is replaced as a whole, and on
 * the disk before a report is given out. A lock left behind by a killed program is not guessed away: its owner removes it.
 */

import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { TacitError, readEntry, writeEntry } from "./tacit-client.js";

/** @typedef {import("./tacit-client.js").Row} Row */

export class FileStore {
  #path;
  #patience;

  /** @param {string} path a file, made on first use @param {{patience?: number}} [options] milliseconds to wait for another program */
  constructor(path, { patience = 30_000 } = {}) {
    this.#path = resolve(path);
    this.#patience = patience;
    create(this.#path);
  }

  /** @param {(rows: Row[]) => Row | null} decide */
  async transact(decide) {
    const lock = `${this.#path}.lock`;
    await this.#take(lock);
    try {
      // A file that vanished must not be replaced by an empty one without a word: reading it fails.
      const rows = readEntry(readFileSync(this.#path, "utf8"));
      const row = decide(rows);
      if (!row) return;
      const made = `${this.#path}.new`;
      write(made, "w", writeEntry(rows, row));
      renameSync(made, this.#path);
      sync(dirname(this.#path));
    } finally {
      unlinkSync(lock);
    }
  }

  /** @param {string} lock */
  async #take(lock) {
    for (const end = Date.now() + this.#patience; ; await setTimeout(5)) {
      try {
        closeSync(openSync(lock, "wx", 0o600));
        return;
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
        if (Date.now() < end) continue;
        const hint = `if no program uses the store, one was killed while it did: remove ${lock}`;
        throw new TacitError("store_unusable", "another program holds the store", hint, "path");
      }
    }
  }
}

/** Make a new store under another name and link it into place, whole or not at all. @param {string} path */
function create(path) {
  const made = `${path}.${process.pid}.new`;
  try {
    readFileSync(path);
    return;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw unusable(error);
  }
  try {
    write(made, "w", writeEntry([]));
    linkSync(made, path);
    sync(dirname(path));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw unusable(error); // another process was faster: its store is the store
  }
  unlinkSync(made);
}

/** @param {string} path @param {string} flags @param {string} text */
function write(path, flags, text) {
  const file = openSync(path, flags, 0o600);
  try {
    writeFileSync(file, text); // all of it: one write may take a part
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** After a power cut the renamed file is there. @param {string} folder */
function sync(folder) {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error)?.code;
}

/** @param {unknown} error */
function unusable(error) {
  const hint = "give the path of a file in a folder that can be written: a ledger that is not kept protects nobody";
  return new TacitError("store_unusable", `the store cannot be used (${error})`, hint, "path", error);
}
