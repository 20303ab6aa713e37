// Devices in Node: each has a store of its own, answers once, and delivers. Arguments: the collector, the study, answers as JSON.

import { Collector, Device, MemoryStore } from "../../clients/js/tacit-client.js";

const [url, study, answers] = process.argv.slice(2);
const collector = new Collector(url);
for (const answer of JSON.parse(answers)) {
  const device = new Device(new MemoryStore(), { cap: "3", total: "3" });
  await device.answer(await collector.round(study), answer);
  const { receipts, waiting } = await device.deliver((report) => collector.send(report));
  if (receipts.length !== 1 || waiting.length) throw new Error("a report was not confirmed");
}
console.log(JSON.parse(answers).length);
