/**
 * tacit-client.js: the device's side of tacit, for browsers and Node, in one module without dependencies.
 *
 *     round -> certificate <= cap? -> one transaction: ledger charged, answer randomised, report kept -> sent
 *
 * It is the second copy of the exact part; the first is clients/python, and vectors/v1 holds the two together. The
 * server is not trusted: it may offer a channel that leaks, ask again and again, or invent studies. The certificate,
 * the kept report and the life-long total stop these three. Weights, ratios, epsilons, cuts and charges are BigInts:
 * no floating-point number takes part in a decision or in a draw.
 *
 *     const device = new Device(openStore(), { cap: "1", total: "5" });
 *     const collector = new Collector("https://poll.example.org");
 *     const round = await collector.round("office-2026");
 *     const report = await device.answer(round, "tea");       // asked again: the same report
 *     await device.deliver((report) => collector.send(report));
 */

export const VERSION = "0.1.0";

const MAX_BYTES = 1 << 20;
const MAX_DEPTH = 500; // no message is nested deeper than seven; far from the end of any engine's stack
const MAX_DIGITS = 128; // of an integer in a message; bounds the cost of parsing and of the certificate
const MAX_DECIMAL = 40; // characters of a signed decimal: a cut, or the range of a question
const MAX_CATEGORIES = 2 ** 21;
const MAX_CUTS = 2 ** 16 - 1;
const MAX_SIZE = 2 ** 16;
const MAX_BUCKETS = 256;
const MAX_TEXT = 2000;
const MAX_LABEL = 200;
const MAX_ROUNDS = 10n ** 9n;
const MAX_REPORT = 2n ** 31n;
const MAX_TOTAL = 10n ** 6n;
const MAX_WEIGHT = 10n ** 128n;
const PRIME = 2 ** 31 - 1;

const PLACES = 40; // a decimal is kept as an integer of units 1e-40
const ONE = 10n ** 40n;
const MIN_EPSILON = ONE / 10n ** 9n;
const MAX_EPSILON = 50n * ONE;
const UNITS = 10n ** 12n; // the ledger counts units of 1e-12, rounded up, so that its sum is exact
const MIN_CHARGE = UNITS / 1000n; // a study that reveals nothing still takes room in the store

const INTEGER = /^(?:0|[1-9][0-9]*)$/;
const DECIMAL = /^(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/;
const SIGNED_DECIMAL = /^(?!-0$)-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/;
const TYPED_DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;
const NUMBER = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-][0-9]+))?$/; // how JavaScript writes a positive number
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const HASH = /^[0-9a-f]{64}$/;
const REPORT_ID = /^[0-9a-f]{32}$/;

// Joiners are needed inside words by Persian, Indic scripts and emoji, but make no visible difference by themselves.
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/u;
const UNSEEN = /[\u200c\u200d\ufe00-\ufe0f]/g;
const LONE_SURROGATE = /\p{Cs}/u;
const STRINGS = /"(?:[^"\\]|\\.)*"/g;

// Taken once, so that a script that replaces them later changes nothing here.
const platform = globalThis.crypto;
const fillRandom = platform?.getRandomValues?.bind(platform);
const digest = platform?.subtle?.digest?.bind(platform.subtle);

/** A refusal: `code` for programs, `argument` and `hint` for people. Codes mean what docs/reference/errors.md says. */
export class TacitError extends Error {
  /**
   * @param {string} code
   * @param {string} problem what was found; never the answer, because errors are logged
   * @param {string} hint what to do
   * @param {string} [argument] what was wrong
   * @param {unknown} [cause]
   */
  constructor(code, problem, hint, argument = "", cause = undefined) {
    super(`${problem}${argument && ` [${argument}]`}: ${hint}`, cause === undefined ? {} : { cause });
    this.name = "TacitError";
    this.code = code;
    this.argument = argument;
    this.hint = hint;
  }
}

/** A short rendering of a value for an error message, in visible ASCII. @param {unknown} value */
function shown(value) {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "function" || (typeof value === "object" && value !== null)) return "an object";
  if (typeof value !== "string") return String(value).slice(0, 60);
  const escape = (/** @type {string} */ c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const text = JSON.stringify(value.slice(0, 60)).replace(/[^ -~]/g, escape);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** @param {string} field @param {unknown} value @param {string} hint */
function invalid(field, value, hint) {
  return new TacitError("field_invalid", `${field} is ${shown(value)}`, hint, field);
}

/** @param {string} argument @param {unknown} value @param {string} hint */
function wrongArgument(argument, value, hint) {
  return new TacitError("argument_invalid", `${argument} is ${shown(value)}`, hint, argument);
}

/** @param {string} problem @param {string} field @param {string} hint */
function badWeights(problem, field, hint) {
  return new TacitError("channel_weights", problem, hint, field);
}

/**
 * The integer that a string of a message stands for: ASCII digits, one spelling.
 * @param {unknown} text @param {string} field @param {bigint} low @param {bigint} high
 */
function readInteger(text, field, low = 0n, high = MAX_WEIGHT) {
  if (typeof text === "string" && text.length <= MAX_DIGITS && INTEGER.test(text)) {
    const number = BigInt(text);
    if (number >= low && number <= high) return number;
  }
  const most = high === MAX_WEIGHT ? "" : ` to ${high}`;
  throw invalid(field, text, `write a whole number from ${low}${most} as a string of plain digits`);
}

/** @param {unknown} text @param {string} field @param {number} low @param {number} high at most 2^53 */
function readSmall(text, field, low, high) {
  return Number(readInteger(text, field, BigInt(low), BigInt(high)));
}

/** @param {unknown} value @param {string} field @returns {unknown[]} */
function readList(value, field) {
  if (Array.isArray(value)) return value;
  throw invalid(field, value, "write a list");
}

/** @param {unknown} value @param {string} field */
function readString(value, field) {
  if (typeof value === "string") return value;
  throw invalid(field, value, "write a string");
}

/** A text of at most 40 decimal places in units of 1e-40. @param {string} text */
function scaled(text) {
  const [whole, rest = ""] = text.replace("-", "").split(".");
  const size = BigInt(whole + rest.padEnd(PLACES, "0"));
  return text.startsWith("-") ? -size : size;
}

/** @param {unknown} text @param {string} field */
function readSigned(text, field) {
  if (typeof text === "string" && text.length <= MAX_DECIMAL && SIGNED_DECIMAL.test(text)) return scaled(text);
  throw invalid(field, text, "write a decimal number as a string, such as '20' or '-1.5'");
}

/** The epsilon that a channel states. @param {unknown} text */
function readEpsilon(text) {
  if (typeof text === "string" && text.length <= MAX_DIGITS && DECIMAL.test(text)) {
    const places = text.split(".")[1]?.length ?? 0;
    const number = places <= PLACES ? scaled(text) : 0n;
    if (number >= MIN_EPSILON && number <= MAX_EPSILON) return number;
  }
  throw invalid("epsilon", text, `state a decimal number from 1e-9 to 50, with at most ${PLACES} places`);
}

/**
 * A bound that the owner sets, as a decimal string or a number: 0.1 means one tenth.
 * @param {unknown} value @param {string} argument @param {bigint} low @param {bigint} high
 */
function readBound(value, argument, low, high) {
  const parts = typeof value === "string" || typeof value === "number" ? NUMBER.exec(String(value)) : null;
  if (parts !== null && parts[0].length <= 60) {
    const [, whole, rest = "", exponent = "0"] = parts;
    const shift = PLACES + Number(exponent) - rest.length;
    const number = shift >= 0 && shift <= 100 ? BigInt(whole + rest) * 10n ** BigInt(shift) : 0n;
    if (number >= low && number <= high) return number;
  }
  throw wrongArgument(argument, value, `give a number from ${approximate(low)} to ${approximate(high)}`);
}

/** For error messages only. @param {bigint} decimal in units of 1e-40 */
function approximate(decimal) {
  return Number(decimal) / 1e40;
}

/** The quotient of integers rounded up; `b` is positive. @param {bigint} a @param {bigint} b */
function ceilDivide(a, b) {
  return a > 0n ? (a + b - 1n) / b : a / b;
}

/** @param {unknown} value @param {string} field @param {RegExp} pattern @param {string} expected */
function matching(value, field, pattern, expected) {
  if (typeof value === "string" && pattern.test(value)) return value;
  throw invalid(field, value, `give ${expected}`);
}

/** @param {unknown} value @param {string} field */
function readName(value, field) {
  return matching(value, field, NAME, "1 to 64 letters, digits, '.', '_' or '-'");
}

/**
 * Words for people: not blank, of bounded length, nothing that hides or reorders characters.
 * @param {unknown} value @param {string} field @param {number} limit in code points
 */
function readProse(value, field, limit) {
  const text = readString(value, field);
  if (text === "" || text !== text.trim() || text.length > 2 * limit || [...text].length > limit) {
    throw invalid(field, value, `give 1 to ${limit} characters, without spaces at the ends`);
  }
  if (HIDDEN.test(text)) {
    throw invalid(field, value, "leave out control, invisible and text-direction characters");
  }
  if (text.normalize("NFC") !== text || skeleton(text) === "") {
    throw invalid(field, value, "write visible text in Unicode's composed form (NFC)");
  }
  return text;
}

/** What is left of a label when only visible differences count. @param {string} label */
function skeleton(label) {
  return label.normalize("NFKC").replace(UNSEEN, "").trim().replace(/\s+/g, " ");
}

/** @typedef {{[field: string]: unknown}} Message */

/** Keys are sorted by code point, not by UTF-16 unit. @param {string} a @param {string} b */
function byCodePoint(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}

/** The canonical text of objects, lists, strings and null. @param {unknown} value @returns {string} */
function encode(value) {
  if (Array.isArray(value)) return `[${value.map((part) => encode(part)).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const message = /** @type {Message} */ (value);
  const fields = Object.keys(message).sort(byCodePoint);
  return `{${fields.map((field) => `${JSON.stringify(field)}:${encode(message[field])}`).join(",")}}`;
}

/**
 * Read a message strictly: size first, then syntax, then canonical form.
 * @param {unknown} input the text or the bytes of a message
 * @returns {Message}
 */
function decode(input) {
  const text = readText(input);
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed("the message is not JSON");
  }
  // Outside of strings a digit is part of a number, even where a later duplicate of its key hides it.
  if (/[0-9]/.test(text.replace(STRINGS, ""))) throw malformed("the message holds a bare number");
  refuseForeign(value, 0);
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw malformed("the message is not a JSON object");
  }
  if (encode(value) === text) return value;
  throw new TacitError(
    "message_not_canonical",
    "the message is not in canonical form",
    "sort the keys, use no white space, no duplicate keys and no needless escapes",
  );
}

/** Well-formed text of bounded size. @param {unknown} input */
function readText(input) {
  if (typeof input !== "string" && !(input instanceof Uint8Array)) {
    throw wrongArgument("text", input, "give the text of a message, or its bytes as a Uint8Array");
  }
  if (input.length > MAX_BYTES) throw tooLarge();
  if (typeof input !== "string") {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input);
    } catch {
      throw malformed("the message is not UTF-8");
    }
  }
  if (LONE_SURROGATE.test(input)) throw malformed("the message has half a character");
  if (new TextEncoder().encode(input).length > MAX_BYTES) throw tooLarge();
  return input;
}

/** Refuse what no message holds. @param {unknown} value @param {number} depth @returns {void} */
function refuseForeign(value, depth) {
  if (typeof value === "boolean") throw malformed(`the message holds a bare ${value}`);
  if (typeof value === "string" && LONE_SURROGATE.test(value)) throw malformed("the message has half a character");
  if (depth > MAX_DEPTH) throw malformed("the message is nested too deeply");
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) for (const field of Object.keys(value)) refuseForeign(field, depth);
  for (const part of Object.values(value)) refuseForeign(part, depth + 1);
}

/** @param {string} problem */
function malformed(problem) {
  const hint = "send the text that was published, unchanged; numbers travel as strings, there are no booleans";
  return new TacitError("message_malformed", problem, hint);
}

function tooLarge() {
  const hint = "no honest message is that long; for many categories use a hashed channel";
  return new TacitError("message_too_large", `the message is longer than ${MAX_BYTES} bytes`, hint);
}

/**
 * The fields of an object, when they are exactly the known ones. What it returns has no other and inherits none.
 * @param {unknown} value @param {string} name @param {string[]} required @param {string[]} [optional]
 * @returns {Message}
 */
function readFields(value, name, required, optional = []) {
  const message = readObject(value, name);
  for (const field of required) {
    if (!Object.hasOwn(message, field)) {
      throw new TacitError("field_missing", `${name} has no ${field}`, "add the field", field);
    }
  }
  for (const field of Object.keys(message)) {
    if (!required.includes(field) && !optional.includes(field)) {
      const hint = "remove it, or update tacit-client.js if it comes from a later version";
      throw new TacitError("field_unknown", `${name} has a field ${shown(field)}`, hint, name);
    }
  }
  return Object.assign(Object.create(null), message);
}

/** @param {unknown} value @param {string} name */
function readObject(value, name) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return /** @type {Message} */ (value);
  throw invalid(name, value, "write a JSON object");
}

/**
 * Check the type and the version that every message starts from, before its other fields.
 * @param {unknown} value @param {string} kind
 */
function readHeader(value, kind) {
  const message = readObject(value, kind);
  for (const field of ["type", "version"]) {
    if (!Object.hasOwn(message, field)) {
      throw new TacitError("field_missing", `the message has no ${field}`, "add the field", field);
    }
  }
  if (message.type !== kind) throw invalid("type", message.type, `give a ${kind}`);
  if (message.version !== "1") {
    const problem = `the ${kind} has version ${shown(message.version)}`;
    throw new TacitError("version_unknown", problem, "this release reads version 1: update tacit-client.js", "version");
  }
  return message;
}

/** @param {unknown} value @param {string} kind @param {string[]} names */
function readMessage(value, kind, names) {
  return readFields(readHeader(value, kind), kind, ["type", "version", ...names]);
}

/**
 * SHA-256 of a text in hexadecimal: the id of a round or of a channel.
 * @param {string} text
 */
export async function contentId(text) {
  if (!digest) throw insecure("crypto.subtle");
  const hash = new Uint8Array(await digest("SHA-256", new TextEncoder().encode(text)));
  return hexadecimal(hash);
}

/** @param {string} what */
function insecure(what) {
  return new TacitError(
    "dependency_missing",
    `there is no ${what} here`,
    "serve the page over HTTPS or from localhost: browsers give it to no other, and nobody could trust its scripts",
  );
}

/** @param {Uint8Array} bytes */
function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @typedef {(bound: bigint) => bigint} RandBelow */
/** @typedef {number | readonly number[]} Value */

/** @param {number} count */
function randomBytes(count) {
  if (!fillRandom) throw insecure("crypto.getRandomValues");
  return fillRandom(new Uint8Array(count));
}

/** An integer in 0..bound-1, all equally likely: random bits, drawn again until they are below. @type {RandBelow} */
function randbelow(bound) {
  const bits = (bound - 1n).toString(2).length;
  const count = Math.ceil(bits / 8);
  for (;;) {
    const bytes = randomBytes(count);
    bytes[0] >>= 8 * count - bits;
    const number = bytes.reduce((high, byte) => (high << 8n) | BigInt(byte), 0n);
    if (number < bound) return number;
  }
}

/**
 * The largest P(report | likely) / P(report | unlikely) of a table, and where it is attained.
 * @typedef {{high: bigint, low: bigint, likely: number, unlikely: number, report: Value}} Worst
 */

/**
 * What every table is: exact integer weights of the reports under each answer 0..k-1.
 *
 * A table states its epsilon but is not trusted to keep it: `certify` computes what it really leaks. Each kind reads
 * its own fields, and is frozen when it is read: nothing can change between certificate and draw.
 */
class Table {
  /** @param {number} k @param {bigint} epsilon in units of 1e-40 */
  constructor(k, epsilon) {
    this.k = k;
    this.epsilon = epsilon;
  }

  /** One real report: the platform's randomness, integer arithmetic. @param {number} answer @returns {Value} */
  respond(answer) {
    if (Number.isInteger(answer) && answer >= 0 && answer < this.k) return this._draw(answer, randbelow);
    throw new TacitError("argument_invalid", "answer is no category", `give a whole number below ${this.k}`, "answer");
  }

  /**
   * One report for answer x, as a pure function of what `random` returns.
   * @param {number} x @param {RandBelow} random @returns {Value}
   */
  _draw(x, random) {
    throw new TypeError(`abstract: ${x}, ${random}`);
  }

  /**
   * An integer proportional to P(report | x), with one constant for all x.
   * @param {Value} report @param {number} x @returns {bigint}
   */
  weight(report, x) {
    throw new TypeError(`abstract: ${report}, ${x}`);
  }

  /** The exact maximum over all reports and pairs of answers. @returns {Worst} */
  worst() {
    throw new TypeError("abstract");
  }
}

/** A zero weight makes a report impossible for some answers, and so reveals the others. @param {bigint} weight @param {string} field */
function refuseZero(weight, field) {
  if (weight > 0n) return;
  const hint = "every report must be possible under every answer: give positive weights";
  throw new TacitError("channel_infinite_loss", `a weight in ${field} is zero`, hint, field);
}

/**
 * The worst pair among (weight, answer) entries of one report; of equals the last is likely, the first unlikely.
 * @param {[bigint, number][]} entries by increasing answer @param {Value} report @returns {Worst}
 */
function mostAndLeast(entries, report) {
  let most = entries[0];
  let least = entries[0];
  for (const entry of entries) {
    if (entry[0] > most[0] || (entry[0] === most[0] && entry[1] > most[1])) most = entry;
    if (entry[0] < least[0] || (entry[0] === least[0] && entry[1] < least[1])) least = entry;
  }
  return { high: most[0], low: least[0], likely: most[1], unlikely: least[1], report };
}

/** The first of two worst cases unless the second is worse. @param {Worst} a @param {Worst} b */
function worse(a, b) {
  return b.high * a.low > a.high * b.low ? b : a;
}

/** @param {unknown} value @param {string} field @param {number} k */
function readCells(value, field, k) {
  return Object.freeze(readList(value, field).map((cell) => readSmall(cell, field, 0, k - 1)));
}

/** A set of categories is written in one way. @param {readonly number[]} cells @param {string} field */
function checkIncreasing(cells, field) {
  if (cells.some((cell, i) => i > 0 && cell <= cells[i - 1])) {
    throw badWeights(`${field} does not increase`, field, "give increasing categories below k");
  }
}

/** The two weights of a table with one ratio: that of the answer's cell, that of each other. @param {Message} fields */
function readPair(fields) {
  return { own: readInteger(fields.own, "own"), other: readInteger(fields.other, "other") };
}

/** @param {bigint} own @param {bigint} other */
function checkPair(own, other) {
  refuseZero(other, "other");
  if (own < other) throw badWeights("other is above own", "own", "give the answer's own cell more weight");
}

/**
 * Randomised response in two blocks: SRR and RRRR. A report is one category; its weight depends on whether the
 * answer is in the set S, whether the report is, and whether they are equal:
 *
 *                report = answer   other report in S   other report outside S
 *     inside     inside[0]         inside[1]           inside[2]               (answer in S)
 *     outside    outside[0]        outside[1]          outside[2]              (answer outside S)
 */
class Blocks extends Table {
  static required = ["subset", "inside", "outside"];
  /** @type {string[]} */
  static optional = [];
  /** @type {Set<number>} */
  #members;

  /** @param {Message} fields @param {number} k @param {bigint} epsilon */
  constructor(fields, k, epsilon) {
    super(k, epsilon);
    this.subset = readCells(fields.subset, "subset", k);
    this.inside = readRow(fields.inside, "inside");
    this.outside = readRow(fields.outside, "outside");
    checkIncreasing(this.subset, "subset");
    this.#members = new Set(this.subset);
    const [s, rest] = [this.subset.length, k - this.subset.length];
    if (rest < 1) throw badWeights("subset holds every category", "subset", "leave one category out");
    checkRow("inside", this.inside, [s > 0, s > 1, s > 0], 1);
    checkRow("outside", this.outside, [true, s > 0, rest > 1], 2);
    this.total = sumOfRow(this.outside, s, rest - 1);
    if (s > 0 && sumOfRow(this.inside, s - 1, rest) !== this.total) {
      const hint = "every answer's weights must have the same sum";
      throw badWeights("the weights of the two rows have different sums", "inside", hint);
    }
    Object.freeze(this);
  }

  /** The j-th category outside S, without a list of them all. @param {number} j */
  outsider(j) {
    let [low, high] = [0, this.subset.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      // subset[i] - i categories outside S lie below subset[i].
      if (this.subset[middle] - middle <= j) low = middle + 1;
      else high = middle;
    }
    return j + low;
  }

  /** @override @param {Value} report @param {number} x */
  weight(report, x) {
    const [own, toSubset, toRest] = this.#members.has(x) ? this.inside : this.outside;
    if (report === x) return own;
    return this.#members.has(/** @type {number} */ (report)) ? toSubset : toRest;
  }

  /** All reports in S look alike, and so do all outside: two reports stand for them. @override */
  worst() {
    const [s, out] = [this.subset, this.outsider(0)];
    /** @type {[bigint, number][]} */
    const inRest = [[this.outside[0], out]];
    if (this.k - s.length > 1) inRest.push([this.outside[2], this.outsider(1)]);
    if (s.length === 0) return mostAndLeast(inRest, out);
    inRest.push([this.inside[2], s[0]]);
    /** @type {[bigint, number][]} */
    const inSubset = [[this.inside[0], s[0]], [this.outside[1], out]];
    if (s.length > 1) inSubset.push([this.inside[1], s[1]]);
    return worse(mostAndLeast(inRest, out), mostAndLeast(inSubset, s[0]));
  }

  /** @override @param {number} x @param {RandBelow} random */
  _draw(x, random) {
    const inside = this.#members.has(x);
    const [own, toSubset, toRest] = inside ? this.inside : this.outside;
    // The answer's own block also gives it a share of that block's weight: take it off first.
    const t = random(this.total) - (own - (inside ? toSubset : toRest));
    // Another category is looked up whatever the outcome, so that the time tells less of it.
    const u = t > 0n ? t : 0n;
    const first = BigInt(this.subset.length) * toSubset;
    const drawn = u < first ? this.subset[Number(u / toSubset)] : this.outsider(Number((u - first) / toRest));
    return t < 0n ? x : drawn;
  }
}

/** @typedef {readonly [bigint, bigint, bigint]} Weights */

/** @param {unknown} value @param {string} field @returns {Weights} */
function readRow(value, field) {
  const row = readList(value, field).map((weight) => readInteger(weight, field));
  if (row.length !== 3) throw badWeights(`${field} has ${row.length} weights`, field, "give three weights");
  return Object.freeze(/** @type {[bigint, bigint, bigint]} */ (row));
}

/** @param {string} field @param {Weights} row @param {boolean[]} used @param {number} same the other report of its own block */
function checkRow(field, row, used, same) {
  for (const [i, needed] of used.entries()) {
    if (needed) refuseZero(row[i], field);
    else if (row[i] !== 0n) throw badWeights(`${field} has a weight that nothing uses`, field, "write 0 there");
  }
  if (row[0] < row[same]) {
    throw badWeights(`${field} favours a lie over the answer`, field, "put the largest weight first");
  }
}

/** @param {Weights} row @param {number} othersIn @param {number} othersOut */
function sumOfRow(row, othersIn, othersOut) {
  return row[0] + BigInt(othersIn) * row[1] + BigInt(othersOut) * row[2];
}

/**
 * Subset response, plain and coarse: the report is a set of `size` cells. Every answer has a cell: its own, or, when
 * `keep` is given, the common last cell for the categories not kept. A set has weight `own` if it holds the answer's
 * cell and `other` if not.
 */
class Subsets extends Table {
  static required = ["size", "own", "other"];
  static optional = ["keep"];
  /** @type {Map<number, number>} */
  #positions;

  /** @param {Message} fields @param {number} k @param {bigint} epsilon */
  constructor(fields, k, epsilon) {
    super(k, epsilon);
    this.keep = fields.keep === undefined ? null : readCells(fields.keep, "keep", k);
    this.size = readSmall(fields.size, "size", 0, k);
    const { own, other } = readPair(fields);
    this.own = own;
    this.other = other;
    checkIncreasing(this.keep ?? [], "keep");
    if (this.keep && (this.keep.length < 1 || this.keep.length > k - 2)) {
      const hint = `keep 1 to ${k - 2} categories, or leave keep out for all`;
      throw badWeights(`keep has ${this.keep.length} categories`, "keep", hint);
    }
    this.#positions = new Map((this.keep ?? []).map((x, cell) => [x, cell]));
    this.cells = this.keep ? this.keep.length + 1 : k;
    if (this.size < 1 || this.size >= this.cells || this.size > MAX_SIZE) {
      const hint = `give a size from 1 to ${Math.min(this.cells - 1, MAX_SIZE)}`;
      throw badWeights(`size is ${this.size}`, "size", hint);
    }
    checkPair(own, other);
    Object.freeze(this);
  }

  /** @param {number} x */
  cell(x) {
    return this.keep ? (this.#positions.get(x) ?? this.cells - 1) : x;
  }

  /** @override @param {Value} report @param {number} x */
  weight(report, x) {
    return /** @type {number[]} */ (report).includes(this.cell(x)) ? this.own : this.other;
  }

  /** The set of the first `size` cells holds the first cell and not the last. @override @returns {Worst} */
  worst() {
    let last = this.k - 1;
    while (this.cell(last) !== this.cells - 1) last--;
    const report = Array.from({ length: this.size }, (_, cell) => cell);
    return { high: this.own, low: this.other, likely: this.keep ? this.keep[0] : 0, unlikely: last, report };
  }

  /** @override @param {number} x @param {RandBelow} random */
  _draw(x, random) {
    const [own, last] = [this.cell(x), this.cells - 1];
    const weightIn = BigInt(this.size) * this.own;
    const include = random(weightIn + BigInt(this.cells - this.size) * this.other) < weightIn;
    // `size` of the other cells in uniform order, by a Fisher-Yates shuffle that stores only what it moved. The
    // number of draws must not depend on `include`, so the last one is replaced instead.
    const moved = new Map();
    const cells = [];
    for (let i = 0; i < this.size; i++) {
      const j = i + Number(random(BigInt(last - i)));
      const chosen = moved.get(j) ?? j;
      moved.set(j, moved.get(i) ?? i);
      cells.push(chosen >= own ? chosen + 1 : chosen);
    }
    if (include) cells[this.size - 1] = own;
    return cells.sort((a, b) => a - b);
  }
}

/**
 * Hashed response, for many categories: the report is a hash function (a, b), drawn without looking at the answer,
 * and a bucket: weight `own` for that of the answer, `other` for each of the others. With k <= 2^21 every product
 * stays below 2^53.
 */
class Hashed extends Table {
  static required = ["buckets", "own", "other"];
  /** @type {string[]} */
  static optional = [];

  /** @param {Message} fields @param {number} k @param {bigint} epsilon */
  constructor(fields, k, epsilon) {
    super(k, epsilon);
    this.buckets = readSmall(fields.buckets, "buckets", 0, k + MAX_BUCKETS);
    const { own, other } = readPair(fields);
    this.own = own;
    this.other = other;
    if (this.buckets < 2 || this.buckets > MAX_BUCKETS) {
      throw badWeights(`buckets is ${this.buckets}`, "buckets", `give 2 to ${MAX_BUCKETS} buckets`);
    }
    checkPair(own, other);
    Object.freeze(this);
  }

  /** The bucket of category x under the hash function (a, b). @param {number} a @param {number} b @param {number} x */
  bucket(a, b, x) {
    return ((a * x + b) % PRIME) % this.buckets;
  }

  /** @override @param {Value} report @param {number} x */
  weight(report, x) {
    const [a, b, bucket] = /** @type {number[]} */ (report);
    return this.bucket(a, b, x) === bucket ? this.own : this.other;
  }

  /** Under (a, b) = (1, 0) the categories 0 and 1 fall into the buckets 0 and 1. @override @returns {Worst} */
  worst() {
    return { high: this.own, low: this.other, likely: 0, unlikely: 1, report: [1, 0, 0] };
  }

  /** @override @param {number} x @param {RandBelow} random */
  _draw(x, random) {
    const a = 1 + Number(random(BigInt(PRIME - 1)));
    const b = Number(random(BigInt(PRIME)));
    const t = random(this.own + BigInt(this.buckets - 1) * this.other) - (this.own - this.other);
    // Both buckets are computed whatever the outcome, so that the time tells less of it.
    const own = this.bucket(a, b, x);
    const drawn = Number((t > 0n ? t : 0n) / this.other);
    return [a, b, t < 0n ? own : drawn];
  }
}

/** A randomiser given by its whole table: `rows[y][x]` is the weight of report y under answer x. */
class Dense extends Table {
  static required = ["rows"];
  /** @type {string[]} */
  static optional = [];
  /** @type {bigint[][]} for each answer, the sums of its weights over the first reports */
  #cumulative;

  /** @param {Message} fields @param {number} k @param {bigint} epsilon */
  constructor(fields, k, epsilon) {
    super(k, epsilon);
    if (!Array.isArray(fields.rows)) throw badWeights("rows is not a list", "rows", "give a list of rows");
    /** @type {readonly (readonly bigint[])[]} */
    this.rows = Object.freeze(
      fields.rows.map((row) => Object.freeze(readList(row, "rows").map((weight) => readInteger(weight, "rows")))),
    );
    if (this.rows.length === 0) throw badWeights("there are no rows", "rows", "give one row for every report");
    for (const row of this.rows) {
      if (row.length !== k) {
        throw badWeights(`a row has ${row.length} weights`, "rows", `give ${k} weights in each row`);
      }
      for (const weight of row) refuseZero(weight, "rows");
    }
    this.#cumulative = Array.from({ length: k }, (_, x) => {
      let sum = 0n;
      return this.rows.map((row) => (sum += row[x]));
    });
    this.total = this.#cumulative[0][this.rows.length - 1];
    if (this.#cumulative.some((sums) => sums[this.rows.length - 1] !== this.total)) {
      const hint = "every answer's weights must have the same sum";
      throw badWeights("the columns have different sums", "rows", hint);
    }
    Object.freeze(this);
  }

  /** @override @param {Value} report @param {number} x */
  weight(report, x) {
    return this.rows[/** @type {number} */ (report)][x];
  }

  /** @override */
  worst() {
    return this.rows.map((row, y) => mostAndLeast([...row.entries()].map(([x, weight]) => [weight, x]), y)).reduce(worse);
  }

  /** @override @param {number} x @param {RandBelow} random */
  _draw(x, random) {
    const t = random(this.total);
    // Every bound is compared, whatever the outcome, so that the time tells less of it.
    return this.#cumulative[x].reduce((count, bound) => count + Number(t >= bound), 0);
  }
}

/** @typedef {{new (fields: Message, k: number, epsilon: bigint): Table, required: string[], optional: string[]}} Kind */

/** @type {Map<unknown, Kind>} */
const FINITE = new Map(/** @type {[string, Kind][]} */ ([
  ["blocks", Blocks],
  ["dense", Dense],
  ["hashed", Hashed],
  ["subset", Subsets],
]));

/**
 * A randomiser of numbers: cuts divide the line into cells, and a finite table randomises the cell.
 *
 *     cell of x = how many cuts are <= x
 *
 * Cuts and numbers are exact decimals: no rounding decides a cell. No noise is added to the number itself.
 */
class Binned extends Table {
  static required = ["cuts", "inner"];
  /** @type {string[]} */
  static optional = [];

  /** @param {Message} fields @param {number} k @param {bigint} epsilon */
  constructor(fields, k, epsilon) {
    super(k, epsilon);
    const inner = readObject(fields.inner, "inner");
    const cuts = readList(fields.cuts, "cuts");
    if (cuts.length !== k - 1) {
      throw invalid("cuts", fields.cuts, `write a list of ${k - 1} decimal strings, one less than k`);
    }
    if (k > MAX_CUTS + 1) throw invalid("k", k, `a channel of numbers has at most ${MAX_CUTS + 1} cells`);
    const kind = kindOf(inner, FINITE);
    const own = readFields(inner, "inner", ["kind", ...kind.required], kind.optional);
    this.cuts = Object.freeze(cuts.map((cut) => readSigned(cut, "cuts")));
    this.inner = new kind(own, k, epsilon);
    if (this.cuts.some((cut, i) => i > 0 && cut <= this.cuts[i - 1])) {
      throw badWeights("the cuts do not increase", "cuts", "give each cut once, in order");
    }
    Object.freeze(this);
  }

  /** The cell of a number in units of 1e-40. @param {bigint} number */
  cell(number) {
    // Every cut is compared, whatever the outcome, so that the time tells less of it.
    return this.cuts.reduce((count, cut) => count + Number(cut <= number), 0);
  }

  /** @override @param {Value} report @param {number} x */
  weight(report, x) {
    return this.inner.weight(report, x);
  }

  /** @override */
  worst() {
    return this.inner.worst();
  }

  /** @override @param {number} x @param {RandBelow} random */
  _draw(x, random) {
    return this.inner._draw(x, random);
  }
}

/** @type {Map<unknown, Kind>} */
const KINDS = new Map([...FINITE, ["binned", /** @type {Kind} */ (Binned)]]);

for (const kind of [Table, ...KINDS.values()]) Object.freeze(kind.prototype);

/** @param {Message} message @param {Map<unknown, Kind>} kinds */
function kindOf(message, kinds) {
  if (!Object.hasOwn(message, "kind")) {
    throw new TacitError("field_missing", "the channel has no kind", "add the field", "kind");
  }
  const kind = kinds.get(message.kind);
  if (kind) return kind;
  throw invalid("kind", message.kind, `give one of ${[...kinds.keys()].join(", ")}`);
}

/** A table from a decoded message, every field checked. @param {unknown} value */
function readChannel(value) {
  const message = readHeader(value, "channel");
  const kind = kindOf(message, KINDS);
  const names = ["type", "version", "kind", "k", "epsilon", ...kind.required];
  const fields = readFields(message, "channel", names, kind.optional);
  const k = readSmall(fields.k, "k", 2, MAX_CATEGORIES);
  return new kind(fields, k, readEpsilon(fields.epsilon));
}

/**
 * A channel from its canonical text or bytes, refused unless it is exactly that. It does not judge what the channel
 * leaks: `certify` does.
 * @param {unknown} text
 */
export function parseChannel(text) {
  return readChannel(decode(text));
}

/**
 * Whether high / low <= exp(x), by a rational lower bound of exp(x): true is a proof. Every partial sum of
 * 1 + x + x^2/2! + ... lies below exp(x), and rounding each term down keeps it below.
 * @param {bigint} high @param {bigint} low @param {bigint} x @param {bigint} unit x is in units of 1 / unit
 */
function atMostExp(high, low, x, unit) {
  const bits = 256n;
  let term = 1n << bits;
  let total = term;
  for (let i = 1n; term > 0n; i++) {
    term = (term * x) / (unit * i);
    total += term;
  }
  return high << bits <= total * low;
}

/**
 * The certificate: what a channel really leaks, recomputed by whoever is asked to use it.
 *
 *     loss = max over reports y and answers x, x' of  ln( P(y | x) / P(y | x') )
 *
 * Probabilities are ratios of integers, so the maximum is an exact fraction, compared with exp(epsilon) in integers.
 * @param {Table} channel as parseChannel or Round reads it
 */
export function certify(channel) {
  if (!(channel instanceof Table)) throw wrongArgument("channel", channel, "give what parseChannel returns");
  const { high, low, likely, unlikely, report } = channel.worst();
  const divisor = commonDivisor(high, low);
  return Object.freeze({
    /** the largest ratio of two probabilities of one report, in lowest terms */
    ratio: `${high / divisor}/${low / divisor}`,
    likely,
    unlikely,
    report,
    /** ln(ratio), rounded up to a whole number of 1e-12 */
    loss: logUpper(high, low),
    /** whether the channel leaks no more than the epsilon it states */
    holds: atMostExp(high, low, channel.epsilon, ONE),
    /** Whether the loss is at most a bound in units of 1e-40. @param {bigint} bound */
    within: (bound) => atMostExp(high, low, bound, ONE),
  });
}

/** @param {bigint} a @param {bigint} b */
function commonDivisor(a, b) {
  while (b > 0n) [a, b] = [b, a % b];
  return a;
}

/** ln(high / low) rounded up to a whole number of 1e-12. @param {bigint} high @param {bigint} low */
function logUpper(high, low) {
  if (high === low) return 0;
  let loss = BigInt(Math.ceil(Math.log(Number(high) / Number(low)) * 1e12));
  while (!atMostExp(high, low, loss, UNITS)) loss++;
  return Number(loss) / 1e12;
}

/** What is asked: labels of categories, or a number with unit, lowest, highest and step. */
export class Question {
  /** @param {unknown} value a decoded message */
  constructor(value) {
    const message = readHeader(value, "question");
    this.numeric = !Object.hasOwn(message, "labels");
    const names = this.numeric ? ["unit", "lowest", "highest", "step"] : ["labels"];
    const fields = readMessage(message, "question", ["id", "text", ...names]);
    this.id = readName(fields.id, "id");
    this.text = readProse(fields.text, "text", MAX_TEXT);
    /** @type {readonly string[]} */
    this.labels = this.numeric ? Object.freeze([]) : readLabels(fields.labels);
    this.unit = this.numeric ? readProse(fields.unit, "unit", MAX_LABEL) : null;
    /** @type {readonly bigint[]} lowest, highest and step in units of 1e-40 */
    this.scale = this.numeric ? readScale(fields) : Object.freeze([]);
    this.lowest = this.numeric ? String(fields.lowest) : null;
    this.highest = this.numeric ? String(fields.highest) : null;
    this.step = this.numeric ? String(fields.step) : null;
    Object.freeze(this);
  }

  /** @param {unknown} text */
  static fromJson(text) {
    return new Question(decode(text));
  }

  /**
   * The exact number of an answer in units of 1e-40, refused unless it lies on the question's scale. An answer beyond
   * the ends is not clipped: whether the nearest end says what the person means is the person's to decide.
   * @param {unknown} answer a decimal string, a BigInt or a whole Number
   */
  number(answer) {
    if (!this.numeric) throw invalid("unit", this.unit, "ask for a number: this question has labels");
    const number = answeredNumber(answer);
    const [low, high, step] = this.scale;
    if (number >= low && number <= high && (number - low) % step === 0n) return number;
    // The answer itself stays out of the message: errors are logged.
    const hint =
      `give a number from ${this.lowest} to ${this.highest} in steps of ${this.step}; ` +
      "if the true value lies beyond, ask the person whether to give the nearest end";
    throw new TacitError("answer_unknown", "the answer is not on the question's scale", hint, "answer");
  }
}

/** @param {unknown} value */
function readLabels(value) {
  const labels = readList(value, "labels");
  if (labels.length < 2 || labels.length > MAX_CATEGORIES) {
    throw invalid("labels", value, "give two labels or more");
  }
  const words = labels.map((label) => readProse(label, "labels", MAX_LABEL));
  if (new Set(words.map(skeleton)).size !== words.length) {
    throw invalid("labels", value, "give labels that people can tell apart, each once");
  }
  return Object.freeze(words);
}

/** @param {Message} fields */
function readScale(fields) {
  const [low, high, step] = ["lowest", "highest", "step"].map((field) => readSigned(fields[field], field));
  if (low >= high) throw invalid("highest", fields.highest, "give a highest value above the lowest");
  if (step <= 0n || (high - low) % step !== 0n) {
    throw invalid("step", fields.step, "give a positive step that divides highest - lowest");
  }
  return Object.freeze([low, high, step]);
}

/**
 * A number that somebody answered: exactly, and never shown in a refusal. It does not travel, so "007" and "1.50" are
 * fine; exponents are not.
 * @param {unknown} answer
 */
function answeredNumber(answer) {
  const whole = typeof answer === "bigint" || Number.isSafeInteger(answer);
  const text = whole ? String(answer) : answer;
  if (typeof text === "string" && text.length <= MAX_DECIMAL && TYPED_DECIMAL.test(text)) return scaled(text);
  throw new TacitError(
    "answer_unknown",
    "the answer is no exact decimal number",
    "give a string such as '20' or '-1.5', or a whole number; 0.1 as a Number is not one tenth",
    "answer",
  );
}

/** @type {WeakSet<object>} the rounds that were read from their text, and so are what that text says */
const genuine = new WeakSet();

/** One question asked through one channel; `previous` chains the rounds of a study. */
export class Round {
  /** @param {unknown} text the canonical text or bytes of a round */
  constructor(text) {
    const message = decode(text);
    const fields = readMessage(message, "round", ["study", "question", "number", "channel", "previous"]);
    const study = readString(fields.study, "study");
    this.question = new Question(fields.question);
    this.number = Number(readInteger(fields.number, "number", 0n, MAX_ROUNDS));
    this.channel = readChannel(fields.channel);
    this.study = readName(study, "study");
    const expected = this.number === 0 ? "null: the first round has no previous one" : "the id of the previous round";
    if (this.number === 0 && fields.previous !== null) throw invalid("previous", fields.previous, `give ${expected}`);
    this.previous = this.number === 0 ? null : matching(fields.previous, "previous", HASH, expected);
    checkFit(this.question, this.channel);
    /** the canonical text, of which `id` is the hash */
    this.text = encode(message);
    genuine.add(Object.freeze(this));
  }

  /** @param {unknown} text */
  static fromJson(text) {
    return new Round(text);
  }

  /** SHA-256 of the canonical bytes. */
  id() {
    return contentId(this.text);
  }
}

/** A number needs cells, and each cell at least one answer; labels need as many categories. @param {Question} question @param {Table} channel */
function checkFit(question, channel) {
  const binned = channel instanceof Binned;
  if (!question.numeric) {
    if (binned) throw mismatch("the channel takes a number", "use a channel of categories, such as srr or subset");
    if (question.labels.length === channel.k) return;
    throw mismatch(`the channel takes ${channel.k} categories`, "use a channel whose k is the number of labels");
  }
  if (!binned) {
    const hint = "use a graded or binned channel, or ask with labels";
    throw mismatch("the question asks for a number and the channel takes categories", hint);
  }
  const [low, high, step] = question.scale;
  // The first answer on or above each cut, counted in steps from the lowest: each must be another one.
  const first = [0n, ...channel.cuts.map((cut) => ceilDivide(cut - low, step))];
  if (first.some((count, i) => i > 0 && count <= first[i - 1]) || first[first.length - 1] > (high - low) / step) {
    const hint = `put every cut above ${question.lowest} and at most at ${question.highest}, and no two between neighbouring answers`;
    throw mismatch("a cell of the channel holds no answer of the question", hint);
  }
}

/** @param {string} problem @param {string} hint */
function mismatch(problem, hint) {
  return new TacitError("channel_mismatch", problem, hint, "channel");
}

/** What a device sends: a random id, the round it answers, and the channel's report. */
export class Report {
  /** @param {{id: unknown, study: unknown, round: unknown, value: Value}} fields */
  constructor({ id, study, round, value }) {
    this.id = matching(id, "id", REPORT_ID, "128 random bits as 32 hexadecimal digits");
    this.study = readName(study, "study");
    this.round = matching(round, "round", HASH, "the id of a round, 64 hexadecimal digits");
    for (const part of [value].flat()) {
      if (!Number.isInteger(part) || part < 0 || part > MAX_REPORT) throw wrongArgument("value", part, "give what respond gave");
    }
    /** @type {Value} */
    this.value = Array.isArray(value) ? Object.freeze([...value]) : value;
    Object.freeze(this);
  }

  /** @param {unknown} text */
  static fromJson(text) {
    const fields = readMessage(decode(text), "report", ["id", "study", "round", "value"]);
    const read = (/** @type {unknown} */ part) => Number(readInteger(part, "value", 0n, MAX_REPORT));
    const value = Array.isArray(fields.value) ? fields.value.map(read) : read(fields.value);
    return new Report({ id: fields.id, study: fields.study, round: fields.round, value });
  }

  /** The canonical text: what is kept and sent. */
  toJson() {
    const { id, study, round } = this;
    const value = Array.isArray(this.value) ? this.value.map(String) : String(this.value);
    return encode({ type: "report", version: "1", id, study, round, value });
  }
}

/** The server's word that it holds a report, and the head of the chain of rounds that it shows. */
export class Receipt {
  /** @param {{report: unknown, head: unknown}} fields */
  constructor({ report, head }) {
    this.report = matching(report, "report", REPORT_ID, "the id of a report, 32 hexadecimal digits");
    this.head = matching(head, "head", HASH, "the id of the newest round, 64 hexadecimal digits");
    Object.freeze(this);
  }

  /** @param {unknown} text */
  static fromJson(text) {
    const { report, head } = readMessage(decode(text), "receipt", ["report", "head"]);
    return new Receipt({ report, head });
  }

  toJson() {
    return encode({ type: "receipt", version: "1", report: this.report, head: this.head });
  }
}

/** The category of a label, or the cell of a number: what the channel takes. @param {Round} round @param {unknown} answer */
export function category(round, answer) {
  const { question, channel } = round;
  if (channel instanceof Binned) return channel.cell(question.number(answer));
  const position = new Map(question.labels.map((label, x) => [label, x]));
  const x = position.get(/** @type {string} */ (answer));
  if (x !== undefined) return x;
  // The answer itself stays out of the message: errors are logged.
  const hint = "give one of the question's labels, letter by letter";
  throw new TacitError("answer_unknown", "the answer is none of the question's labels", hint, "answer");
}

/**
 * What a store keeps of one study: the charge in units of 1e-12, the text of the report, and the head that a receipt
 * named, or null while the report waits. The answer is not in it.
 * @typedef {{study: string, charge: string, report: string, head: string | null}} Row
 */

/**
 * All that a store has to do: one exclusive transaction. `transact` reads all rows and calls `decide` with them, once
 * and without waiting for anything in between. If a row is returned, it replaces that of its study or is added, and
 * the promise resolves when it is safe; if `decide` throws, nothing is written and the promise rejects with that error.
 * No other transaction, of this program or another one, may see the rows or write in between.
 * @typedef {{transact: (decide: (rows: Row[]) => Row | null) => Promise<void>}} Store
 */

/** @param {Row} row */
function readKept(row) {
  try {
    const report = Report.fromJson(row.report);
    const charge = readInteger(row.charge, "charge");
    if (row.study === report.study && (row.head === null || HASH.test(row.head))) {
      return { study: report.study, charge, report, head: row.head };
    }
  } catch (error) {
    if (!(error instanceof TacitError || error instanceof TypeError)) throw error;
  }
  throw unusable("a row of the store is damaged");
}

/** @param {string} problem @param {unknown} [cause] */
function unusable(problem, cause) {
  const hint = "nothing was sent; allow this site to keep data, make room, then try again; do not delete what is kept";
  return new TacitError("store_unusable", problem, hint, "store", cause);
}

/**
 * One transaction of a store, of whatever quality the store is.
 * @param {Store} store @param {(kept: ReturnType<typeof readKept>[]) => Row | null} decide
 */
async function transact(store, decide) {
  let turns = 0;
  /** @type {unknown} */
  let failure = null;
  try {
    await store.transact((rows) => {
      try {
        if (++turns > 1) throw unusable("the store asked twice in one transaction");
        return decide(rows.map(readKept));
      } catch (error) {
        failure = error;
        throw error;
      }
    });
  } catch (error) {
    failure ??= error;
  }
  if (failure instanceof TacitError) throw failure;
  if (failure !== null) throw unusable(`the store cannot be used (${failure})`, failure);
  if (turns === 0) throw unusable("the store did not read its rows");
}

/** Answers rounds: at most `cap` of epsilon to one study, at most `total` in the store's life. */
export class Device {
  #store;
  #cap;
  #total;

  /**
   * @param {Store} store
   * @param {{cap: string | number, total: string | number}} limits decimal strings, or numbers as they are written
   */
  constructor(store, { cap, total }) {
    if (typeof store?.transact !== "function") throw wrongArgument("store", store, "give a store, such as openStore()");
    this.#store = store;
    this.#cap = readBound(cap, "cap", MIN_EPSILON, MAX_EPSILON);
    this.#total = readBound(total, "total", 1n, MAX_TOTAL * ONE);
  }

  /**
   * The report of this device to a study: made once, the same ever after, whatever is asked. It is safe in the store
   * before it is returned.
   * @param {Round} round
   * @param {unknown} answer one of the labels, or a number of the scale as a decimal string, a BigInt or a whole Number
   * @returns {Promise<Report>}
   */
  async answer(round, answer) {
    refuseForged(round);
    const before = await this.kept(round.study);
    if (before !== null) return before;
    // Nothing below looks at the answer before certificate and ledger have let it pass.
    this.certify(round);
    const id = await round.id();
    // The loss is proved to be at most either: the charge is the stated epsilon, as a rule.
    const epsilon = round.channel.epsilon < this.#cap ? round.channel.epsilon : this.#cap;
    const charge = inUnits(epsilon) > MIN_CHARGE ? inUnits(epsilon) : MIN_CHARGE;
    /** @type {Report | undefined} */
    let report;
    await transact(this.#store, (rows) => {
      // Another page of this device may have answered since the look above.
      report = rows.find((row) => row.study === round.study)?.report;
      if (report) return null;
      const left = inUnits(this.#total) - sum(rows);
      if (charge > left) {
        const problem = `an answer costs ${inDecimal(charge)} and ${inDecimal(left > 0n ? left : 0n)} is left`;
        throw new TacitError("budget_exhausted", problem, "the device stays silent; its owner may raise the total", "total");
      }
      const value = round.channel.respond(category(round, answer));
      report = new Report({ id: hexadecimal(randomBytes(16)), study: round.study, round: id, value });
      return { study: report.study, charge: String(charge), report: report.toJson(), head: null };
    });
    return /** @type {Report} */ (report);
  }

  /** The certificate of a round's channel, refused when it lies or exceeds this device's cap. @param {Round} round */
  certify(round) {
    refuseForged(round);
    const certificate = certify(round.channel);
    if (!certificate.holds) {
      const problem = `the channel states epsilon ${approximate(round.channel.epsilon)} and leaks ${certificate.loss}`;
      throw new TacitError("channel_leaks", problem, "do not answer through it; `tacit audit` shows where it leaks", "epsilon");
    }
    if (!certificate.within(this.#cap)) {
      const problem = `the channel leaks ${certificate.loss}, this device gives at most ${approximate(this.#cap)} to a study`;
      const hint = "the device stays silent; ask through a channel with a smaller epsilon";
      throw new TacitError("loss_above_cap", problem, hint, "cap");
    }
    return certificate;
  }

  /** The report made for a study, or null. @param {string} study @returns {Promise<Report | null>} */
  async kept(study) {
    return (await this.#rows()).find((row) => row.study === study)?.report ?? null;
  }

  /** The epsilon charged so far over all studies, as a decimal string. */
  async spent() {
    return inDecimal(sum(await this.#rows()));
  }

  /** The reports that no receipt has confirmed. */
  async pending() {
    return (await this.#rows()).filter((row) => row.head === null).map((row) => row.report);
  }

  /** The ids of the rounds that a collector showed for a study: the one answered, and the head its receipt named. @param {string} study */
  async seen(study) {
    const row = (await this.#rows()).find((kept) => kept.study === study);
    return row ? [...new Set([row.report.round, row.head ?? row.report.round])] : [];
  }

  async #rows() {
    /** @type {ReturnType<typeof readKept>[]} */
    let found = [];
    await transact(this.#store, (rows) => {
      found = rows;
      return null;
    });
    return found;
  }

  /** Take a report out of the outbox, for a receipt that names it. @param {Report} report @param {Receipt} receipt */
  async confirm(report, receipt) {
    if (!(receipt instanceof Receipt) || receipt.report !== report.id) {
      const hint = "the report stays in the outbox; send it again";
      throw new TacitError("receipt_mismatch", "the receipt does not name this report", hint, "receipt");
    }
    await transact(this.#store, (rows) => {
      const row = rows.find((kept) => kept.report.id === report.id && kept.report.toJson() === report.toJson());
      if (row) return { study: row.study, charge: String(row.charge), report: row.report.toJson(), head: receipt.head };
      const hint = "confirm a report that pending() gave";
      throw new TacitError("receipt_mismatch", "this store holds no such report", hint, "report");
    });
  }

  /**
   * Send every pending report once; those whose sending failed wait for the next time.
   * @param {(report: Report) => Promise<Receipt>} send
   */
  async flush(send) {
    /** @type {Receipt[]} */
    const receipts = [];
    /** @type {{report: Report, error: unknown}[]} */
    const waiting = [];
    for (const report of await this.pending()) {
      try {
        const receipt = await send(report);
        await this.confirm(report, receipt);
        receipts.push(receipt);
      } catch (error) {
        waiting.push({ report, error });
      }
    }
    return { receipts, waiting };
  }

  /**
   * Send the pending reports, unchanged, until a receipt names each or the refusal of each is final. Between the turns
   * it waits, twice as long each time up to `most` milliseconds, half of it at random, and never less than a collector asks.
   * @param {(report: Report) => Promise<Receipt>} send
   * @param {{first?: number, most?: number, signal?: AbortSignal, wait?: typeof pause}} [options]
   */
  async deliver(send, { first = 1000, most = 300_000, signal, wait = pause } = {}) {
    /** @type {Receipt[]} */
    const receipts = [];
    /** @type {Map<string, CollectorError>} */
    const refused = new Map();
    for (let turn = 0; ; turn++) {
      const { receipts: confirmed, waiting } = await this.flush((report) => {
        const refusal = refused.get(report.id);
        return refusal ? Promise.reject(refusal) : send(report);
      });
      receipts.push(...confirmed);
      let least = 0;
      let open = 0;
      for (const { report, error } of waiting) {
        if (error instanceof CollectorError && error.final) refused.set(report.id, error);
        else open++;
        if (error instanceof CollectorError) least = Math.max(least, error.retryAfter);
      }
      if (open === 0 || signal?.aborted) return { receipts, waiting };
      const longest = Math.floor(Math.min(most, first * 2 ** turn) / 2);
      await wait(Math.max(least, longest + Number(randbelow(BigInt(longest) + 1n))), signal);
    }
  }
}

/** @param {unknown} round */
function refuseForged(round) {
  if (typeof round === "object" && round !== null && genuine.has(round)) return;
  throw wrongArgument("round", round, "give a Round, as Round.fromJson reads it");
}

/** @param {{charge: bigint}[]} rows */
function sum(rows) {
  return rows.reduce((total, row) => total + row.charge, 0n);
}

/** A decimal in units of 1e-12, rounded up. @param {bigint} decimal in units of 1e-40 */
function inUnits(decimal) {
  return ceilDivide(decimal * UNITS, ONE);
}

/** Units of 1e-12 as a decimal string. @param {bigint} units */
function inDecimal(units) {
  return `${units / UNITS}.${String(units % UNITS).padStart(12, "0")}`.replace(/\.?0+$/, "");
}

/** Resolves after a time, or when the signal is aborted. @param {number} milliseconds @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done);
  });
}

/** A store that forgets when the program ends: for tests, and for rehearsals whose reports are never sent. */
export class MemoryStore {
  /** @type {Map<string, Row>} */
  #rows = new Map();

  /** @param {(rows: Row[]) => Row | null} decide */
  async transact(decide) {
    const row = decide([...this.#rows.values()]);
    if (row) this.#rows.set(row.study, Object.freeze({ ...row }));
  }
}

/** The store of a browser: one IndexedDB database. Safe for several pages at once; nothing stays open between calls. */
export class IndexedDbStore {
  #name;

  /** @param {string} [name] of the database: one a person */
  constructor(name = "tacit") {
    this.#name = readName(name, "name");
  }

  /** @param {(rows: Row[]) => Row | null} decide */
  async transact(decide) {
    const database = await openDatabase(this.#name);
    try {
      await new Promise((resolve, reject) => {
        // One readwrite transaction at a time, over all pages. It ends by itself as soon as nothing is asked of it:
        // so `decide` runs inside the event that brings the rows, without a pause.
        const transaction = database.transaction("kept", "readwrite", { durability: "strict" });
        const kept = transaction.objectStore("kept");
        /** @type {unknown} */
        let failure = null;
        transaction.oncomplete = () => resolve(undefined);
        transaction.onabort = () => reject(failure ?? transaction.error ?? new Error("the transaction was aborted"));
        const all = kept.getAll();
        all.onsuccess = () => {
          try {
            const row = decide(all.result);
            if (row) kept.put(row);
          } catch (error) {
            failure = error;
            transaction.abort();
          }
        };
      });
    } finally {
      database.close();
    }
  }
}

/** @param {string} name @returns {Promise<IDBDatabase>} */
function openDatabase(name) {
  return new Promise((resolve, reject) => {
    const request = globalThis.indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("kept", { keyPath: "study" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error?.name === "VersionError" ? laterVersion("a later") : request.error);
  });
}

/** @param {string} version */
function laterVersion(version) {
  const problem = `the store has ${version} version`;
  return new TacitError("version_unknown", problem, "this release reads version 1: update tacit-client.js", "store");
}

/**
 * The fallback for browsers without IndexedDB: one entry of localStorage, under a Web Lock, so that two pages at once
 * make one report. Without Web Locks nothing could stop them, and the application has to say that it has one page only.
 */
export class LocalStore {
  #key;
  #storage;
  #locks;

  /**
   * @param {string} [name] one a person
   * @param {{onePage?: boolean, storage?: Storage, locks?: LockManager}} [options] the last two for tests
   */
  constructor(name = "tacit", { onePage = false, storage, locks = globalThis.navigator?.locks } = {}) {
    this.#key = localKey(readName(name, "name"));
    this.#storage = storage;
    this.#locks = locks;
    if (!locks && !onePage) throw unusable("this browser has no Web Locks: two pages could answer twice");
  }

  /** @param {(rows: Row[]) => Row | null} decide */
  async transact(decide) {
    const work = () => this.#work(decide);
    await (this.#locks ? this.#locks.request(this.#key, work) : work());
  }

  /** @param {(rows: Row[]) => Row | null} decide */
  #work(decide) {
    const storage = this.#storage ?? globalThis.localStorage;
    const entry = storage.getItem(this.#key);
    const rows = entry === null ? [] : readEntry(entry);
    const row = decide(rows);
    if (row) storage.setItem(this.#key, writeEntry(rows, row));
  }
}

/** @param {string} name */
function localKey(name) {
  return `tacit-store:${name}`;
}

/** Rows as one text, as localStorage and files keep it; `row` in the place of that of its study. @param {Row[]} rows @param {Row} [row] */
export function writeEntry(rows, row) {
  const others = rows.filter((other) => other.study !== row?.study);
  return JSON.stringify({ version: "1", rows: row ? [...others, row] : others });
}

/** The rows that a text holds. @param {string} text @returns {Row[]} */
export function readEntry(text) {
  let entry;
  try {
    entry = JSON.parse(text);
  } catch (error) {
    throw unusable("what was kept is damaged", error);
  }
  if (typeof entry?.version === "string" && entry.version !== "1") throw laterVersion("another");
  if (entry?.version === "1" && Array.isArray(entry.rows)) return entry.rows;
  throw unusable("what was kept is damaged");
}

/**
 * The best store of this browser: IndexedDB; localStorage where there is none, or where a store of that name is. What
 * decides does not change from one visit to the next: two ledgers would be none. It also asks the browser not to evict it.
 * @param {string} [name] one a person
 * @returns {Store}
 */
export function openStore(name = "tacit") {
  persist();
  const local = attempt(() => globalThis.localStorage?.getItem(localKey(name)) ?? null);
  const database = attempt(() => globalThis.indexedDB ?? null);
  if (local === null && database !== null) return new IndexedDbStore(name);
  return new LocalStore(name);
}

/** What a look at a storage gives, or null where the browser refuses the look. @template T @param {() => T} look */
function attempt(look) {
  try {
    return look();
  } catch {
    return null;
  }
}

/** Ask the browser to keep this site's data when room is short; whether it will. */
export async function persist() {
  try {
    return (await globalThis.navigator?.storage?.persist?.()) ?? false;
  } catch {
    return false;
  }
}

/** What a collector refused, or did not answer. `final`: sending it again will not help. */
export class CollectorError extends TacitError {
  /**
   * @param {string} code @param {string} problem @param {string} hint
   * @param {{final?: boolean, status?: number, retryAfter?: number, cause?: unknown}} [details] retryAfter in milliseconds
   */
  constructor(code, problem, hint, { final = false, status = 0, retryAfter = 0, cause } = {}) {
    super(code, problem, hint, "", cause);
    this.name = "CollectorError";
    this.final = final;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/**
 * A collector of reports over HTTP, as docs/reference/protocol.md describes it. It is not trusted: what it sends is
 * read strictly and bounded, and of a refusal only status and code are passed on, never its words.
 */
export class Collector {
  #url;
  #fetch;
  #timeout;

  /**
   * @param {string | URL} url where its routes start, such as location.origin
   * @param {{fetch?: typeof fetch, timeout?: number}} [options] milliseconds for one request
   */
  constructor(url, { fetch = globalThis.fetch, timeout = 30_000 } = {}) {
    const address = attempt(() => new URL(url));
    const near = /^(localhost|127\.[0-9.]+|\[::1\])$/.test(address?.hostname ?? "");
    if (!address || !(address.protocol === "https:" || (address.protocol === "http:" && near)) || /[?#@]/.test(address.href)) {
      throw wrongArgument("url", String(url), "give an https address; what travels over http can be read and changed on the way");
    }
    this.#url = address.href.replace(/\/+$/, "");
    this.#fetch = fetch;
    this.#timeout = timeout;
  }

  /** The round that a study asks now. @param {string} study */
  async round(study) {
    const bytes = await this.#request("GET", `studies/${readName(study, "study")}/round`);
    const round = Round.fromJson(bytes);
    if (round.study === study) return round;
    throw invalid("study", round.study, "the collector gave the round of another study: do not answer it");
  }

  /**
   * What the collector says of a poll, its title and its studies in order: plain JSON, that nobody has checked.
   * @param {string} poll @returns {Promise<any>}
   */
  async poll(poll) {
    const bytes = await this.#request("GET", `polls/${readName(poll, "poll")}`);
    const told = attempt(() => JSON.parse(readText(bytes)));
    if (told !== null) return told;
    throw new CollectorError("server_unreachable", "the answer is not JSON", "try again later");
  }

  /**
   * Send a report, once; the receipt that names it. As often as it is sent, it counts once.
   * @param {Report} report @param {{invite?: string}} [options] the token, where the study asks for one
   */
  async send(report, { invite } = {}) {
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/json" };
    if (invite !== undefined) headers["Tacit-Invite"] = invite;
    const bytes = await this.#request("POST", `studies/${report.study}/reports`, headers, report.toJson());
    const receipt = Receipt.fromJson(bytes);
    if (receipt.report === report.id) return receipt;
    const hint = "the report stays in the outbox; send it again";
    throw new TacitError("receipt_mismatch", "the receipt names another report", hint, "receipt");
  }

  /** Have a report erased, for good. @param {Report} report */
  async erase(report) {
    await this.#request("DELETE", `studies/${report.study}/reports/${report.id}`);
  }

  /** @param {string} method @param {string} path @param {Record<string, string>} [headers] @param {string} [body] */
  async #request(method, path, headers = {}, body = undefined) {
    let response;
    let bytes;
    try {
      const send = this.#fetch.bind(globalThis);
      response = await send(`${this.#url}/v1/${path}`, {
        method,
        headers,
        body,
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: AbortSignal.timeout(this.#timeout),
      });
      bytes = await readBody(response);
    } catch (cause) {
      if (cause instanceof TacitError) throw cause;
      const hint = "check the address and the network; nothing is lost, try again later";
      throw new CollectorError("server_unreachable", "the collector did not answer", hint, { cause });
    }
    if (response.ok) return bytes;
    throw refusal(response, bytes);
  }
}

/** The body of a response, given up when it is longer than any message. @param {Response} response */
async function readBody(response) {
  const parts = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
    size += part.value.length;
    if (size > MAX_BYTES) {
      await reader?.cancel();
      throw tooLarge();
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * The error of a refused request. It is final when the collector itself says so, in a problem document; a page that
 * some network puts in between is not the collector.
 * @param {Response} response @param {Uint8Array} bytes
 */
function refusal({ status, headers }, bytes) {
  const isProblem = headers.get("Content-Type")?.split(";")[0].trim() === "application/problem+json";
  const code = isProblem ? attempt(() => JSON.parse(readText(bytes)).code) : null;
  const known = typeof code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(code);
  const final = known && status >= 400 && status < 500 && ![408, 425, 429].includes(status);
  const seconds = Number(headers.get("Retry-After"));
  return new CollectorError(
    known ? code : "server_unreachable",
    known ? `the collector answered ${status}, ${code}` : `the answer has status ${status} and is none of the protocol's`,
    final ? "see what the code means; it is not sent again" : "try again later",
    { final, status, retryAfter: seconds > 0 ? Math.min(1000 * seconds, 3_600_000) : 0 },
  );
}
