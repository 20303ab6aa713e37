// Server-sent events by fetch: unlike EventSource it can send a key, and it says why a connection was refused.

import { ask, Problem } from "./page.js";

const FIRST = 1000;
const LONGEST = 60_000;
const FINAL = new Set([401, 403, 404, 410]);

// Calls `hear(event, data)` for each event, for ever; `state` hears "live" and "waiting". Ends with the Problem that no retry mends.
export async function listen(url, { key = null, hear, state }) {
  let wait = FIRST;
  for (;;) {
    try {
      const answer = await ask(url, { key, headers: { Accept: "text/event-stream" } });
      state("live");
      for await (const [event, data] of events(answer.body)) {
        wait = FIRST;
        hear(event, data);
      }
    } catch (error) {
      if (error instanceof Problem && FINAL.has(error.status)) return error;
    }
    state("waiting");
    await pause(wait * (0.5 + Math.random()));
    wait = Math.min(2 * wait, LONGEST);
  }
}

// Sooner, if the network or the reader comes back.
function pause(milliseconds) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
  });
}

// [event, data] of a stream: fields of one event stand on lines, an empty line ends it.
export async function* events(body) {
  let [event, data, rest] = ["message", [], ""];
  for await (const part of chunks(body)) {
    const lines = (rest + part).split(/\r\n|\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length) yield [event, data.join("\n")];
        [event, data] = ["message", []];
      } else {
        const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
        if (field === "event") event = value;
        if (field === "data") data.push(value);
      }
    }
  }
}

async function* chunks(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}
