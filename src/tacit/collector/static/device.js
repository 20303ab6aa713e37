// This browser as a device: its limits, its reports, its outbox. All that touches an answer is in tacit-client.js.

import { Collector, CollectorError, Device, Round, openStore } from "./tacit-client.js";
import { collector, path, secret, text } from "./page.js";

export { CollectorError };

const LIMITS = "tacit-limits";
const INVITE = "tacit-invite";
const START = { cap: "3", total: "10" };

// Without these nothing can be randomised or identified, and browsers give them to pages from https (or this machine) only.
export const usable = () => globalThis.isSecureContext === true && Boolean(globalThis.crypto?.subtle && globalThis.crypto?.getRandomValues);

export function limits() {
  try {
    return { ...START, ...JSON.parse(localStorage.getItem(LIMITS) ?? "{}") };
  } catch {
    return { ...START };
  }
}

export function setLimits({ cap, total }) {
  new Device(openStore(), { cap, total }); // refuses what is no limit
  localStorage.setItem(LIMITS, JSON.stringify({ cap, total }));
}

// The token of an invitation, from "#invite=..."; kept for this page of this tab until the report has arrived, so that a
// reload does not lose it and no other page sends it.
export function invitation() {
  const token = secret("invite");
  if (token) sessionStorage.setItem(invited(), token);
  return sessionStorage.getItem(invited()) ?? undefined;
}

const invited = () => `${INVITE}:${location.pathname}`;

// Whether a round asks what the page shows. What is shown is no part of the round, and so of no hash: were a label other,
// silence would tell the collector who wanted to give it.
export function asksWhat({ name, question: shown }, { study, question: asked }) {
  const same = ["text", "unit", "lowest", "highest", "step"].every((field) => (shown[field] ?? null) === (asked[field] ?? null));
  const labels = shown.labels ?? [];
  return same && study === name && labels.length === asked.labels.length && asked.labels.every((label, i) => label === labels[i]);
}

export class Own {
  // `studies` are those of the page: only those that take answers by invitation see its token.
  constructor(studies) {
    this.inviting = new Set(studies.filter(({ access }) => access === "invite").map(({ name }) => name));
    this.store = openStore();
    this.collector = new Collector(collector || location.origin);
    this.invite = invitation();
    this.wake = null;
  }

  device(most = null) {
    const { cap, total } = limits();
    return new Device(this.store, { cap: most !== null && Number(most) < Number(cap) ? most : cap, total });
  }

  round(study) {
    return this.collector.round(study);
  }

  // The round that a report answered: the current one, or one of those before.
  async roundOf(report) {
    const current = await this.round(report.study);
    if (await current.id() === report.round) return current;
    for (const line of (await text(path("studies", report.study, "rounds"))).split("\n")) {
      if (!line) continue;
      const round = Round.fromJson(line);
      if (await round.id() === report.round) return round;
    }
    return null;
  }

  // At most `epsilon`, as the page said before the answer; refused if the channel would take more.
  answer(round, answer, epsilon) {
    return this.device(epsilon).answer(round, answer);
  }

  async waiting(study) {
    return (await this.device().pending()).find((report) => report.study === study) ?? null;
  }

  send(report) {
    return this.collector.send(report, { invite: this.inviting.has(report.study) ? this.invite : undefined });
  }

  // Sends what waits for these studies until each is received or finally refused. `pausing(milliseconds)` hears of every wait.
  async deliver(studies, pausing) {
    const sent = (report) => studies.includes(report.study) ? this.send(report) : Promise.reject(elsewhere);
    return this.device().deliver(sent, { wait: (milliseconds) => this.pause(milliseconds, pausing) });
  }

  pause(milliseconds, pausing) {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        removeEventListener("online", done);
        this.wake = null;
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      addEventListener("online", done);
      this.wake = done;
      pausing(milliseconds);
    });
  }

  async erase(report) {
    await this.collector.erase(report);
    localStorage.setItem(`tacit-erased:${report.id}`, "1");
  }

  erased(report) {
    return localStorage.getItem(`tacit-erased:${report.id}`) !== null;
  }

  // A receipt is here for every question of the page: the token has done its work.
  forgetInvite() {
    sessionStorage.removeItem(invited());
  }
}

// A report to a study of another page waits for that page, which may hold its invitation.
const elsewhere = new CollectorError("elsewhere", "this report belongs to another page", "open that page", { final: true });
