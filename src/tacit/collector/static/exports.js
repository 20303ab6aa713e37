// What can be taken away: reports, evidence, and lines that compute the estimate again.

import { ask, collector, h, path, trouble } from "./page.js";

const FORMATS = [
  ["CSV", "export?format=csv", "csv"], ["JSON", "export?format=json", "json"], ["Parquet", "export?format=parquet", "parquet"],
  ["Evidence", "evidence", "evidence.zip"],
];

export function exportsCard(study, key) {
  const status = h("div", { role: "status" });
  const links = FORMATS.map(([label, route, suffix]) => {
    const [last, query] = route.split("?");
    const url = path("studies", study.name, last) + (query ? `?${query}` : "");
    const file = `${study.name}.${suffix}`;
    return h("a", { class: "button quiet tiny", href: url, download: file, onclick(event) {
      if (!key()) return;
      event.preventDefault();
      fetchFile(url, file, key()).catch((error) => status.replaceChildren(trouble(error)));
    } }, label);
  });
  const lines = snippet(study);
  const copy = h("button", { class: "quiet tiny", type: "button", onclick: () => navigator.clipboard.writeText(lines).then(() => { copied.textContent = " Copied."; }, () => {}) }, "Copy");
  const copied = h("span", { role: "status", class: "small muted" });
  return h("section", { class: "card" }, h("h2", {}, "Take it with you"),
    h("p", { class: "muted small" }, "Reports as (study, round, value), sorted by value within each round, so that their order says nothing. Evidence is their sum, as tacit reads it."),
    h("div", { class: "exports" }, links), status,
    h("details", {}, h("summary", {}, "Compute the estimate again in a notebook"), h("pre", { tabindex: "0", role: "region", "aria-label": "Python lines" }, lines), navigator.clipboard && copy, copied));
}

async function fetchFile(url, file, key) {
  const address = URL.createObjectURL(await (await ask(url, { key })).blob());
  h("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export function snippet({ name, epsilon, model, results }) {
  const open = results === "key" ? '\ndef urlopen(url):\n    return request.urlopen(request.Request(url, headers={"Authorization": "Bearer " + getpass("key: ")}))\n\n' : "";
  const imports = results === "key" ? "from getpass import getpass\nfrom urllib import request\n" : "from urllib.request import urlopen\n";
  const first = results === "key" ? "request.urlopen" : "urlopen";
  return `${imports}
import tacit
from tacit_client import Round
${open}
base = "${collector || location.origin}/v1/studies/${name}"
asked = Round.from_json(${first}(f"{base}/rounds").readline().strip())
study = tacit.Study(question=asked.question, epsilon=${Number(epsilon)}${model ? `, model="${model}"` : ""})
evidence = tacit.Evidence.from_bytes(urlopen(f"{base}/evidence").read())
found = tacit.posterior.sample(study.model, evidence, seed=0)
print(evidence.id)
print(found.estimate(), *found.interval(0.9))
`;
}
