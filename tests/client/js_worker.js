/** Reads one JSON request a line, answers each with one JSON line: what the JavaScript client makes of it. */

import { createInterface } from "node:readline";
import { category, certify, parseChannel, Question, Receipt, Report, Round } from "../../clients/js/tacit-client.js";

const READERS = {
  channel: parseChannel,
  question: Question.fromJson,
  round: Round.fromJson,
  report: Report.fromJson,
  receipt: Receipt.fromJson,
};
const written = (report) => (Array.isArray(report) ? report.map(String) : String(report));

/** Hexadecimal bytes as a Uint8Array. */
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

const ACTIONS = {
  read: ({ type, hex }) => (READERS[type](bytes(hex)), "read"),
  certify: ({ hex }) => {
    const { ratio, likely, unlikely, report, loss, holds } = certify(parseChannel(bytes(hex)));
    return { ratio, likely, unlikely, report: written(report), loss, holds };
  },
  draw: ({ hex, answer, values }) => {
    const bounds = [];
    const random = (bound) => {
      bounds.push(String(bound));
      return BigInt(values[bounds.length - 1]) % bound;
    };
    return { report: written(parseChannel(bytes(hex))._draw(answer, random)), bounds };
  },
  weights: ({ hex, report }) => {
    const channel = parseChannel(bytes(hex));
    const value = Array.isArray(report) ? report.map(Number) : Number(report);
    return Array.from({ length: channel.k }, (_, x) => String(channel.weight(value, x)));
  },
  category: ({ hex, answer }) => category(Round.fromJson(bytes(hex)), answer),
  respond: ({ hex, answer, count }) => {
    const channel = parseChannel(bytes(hex));
    return Array.from({ length: count }, () => written(channel.respond(answer)));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let result;
  try {
    result = { value: ACTIONS[request.action](request) };
  } catch (error) {
    result = { code: error.code ?? String(error.stack) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
