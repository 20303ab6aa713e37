// How the estimate was made, whether its sampler is well, what its state is: in words.

import { h, put } from "./page.js";
import { count, decimal, factor, many } from "./words.js";

const METHODS = {
  exact: "Hamiltonian Monte Carlo on the exact likelihood of the reports",
  gibbs: "Gibbs sampling with the answers as latent variables",
  sgld: "stochastic gradient Langevin dynamics",
  moments: "the unbiased moment estimate and its normal approximation",
  smc: "sequential Monte Carlo on the exact likelihood of the reports",
};

const most = (value) => Math.max(...[value].flat().filter(Number.isFinite));
const least = (value) => Math.min(...[value].flat().filter(Number.isFinite));

export function methodCard(study) {
  const facts = h("dl", { class: "facts" });
  const row = (name, value) => [h("dt", {}, name), h("dd", {}, value)];
  return {
    element: h("section", { class: "card" }, h("h2", {}, "How it was made"), facts),
    show(estimate, held) {
      put(facts, [
        row("State", `${estimate.state}, ${many(held, "report")} held`),
        row("Privacy", `epsilon ${decimal(study.epsilon)} for each answer: a report changes any odds at most by the factor ${factor(study.epsilon)}`),
        row("Questions", `policy “${study.policy}”; round ${count(estimate.rounds.length ? estimate.rounds.at(-1).number : 0)} is asked now`),
        ...(estimate.rounds.length ? [row("Asked now", `the channel ${estimate.rounds.at(-1).words}`)] : []),
        ...(estimate.diagnostics && estimate.used > 0 ? health(estimate.diagnostics).map(([name, value]) => row(name, value)) : []),
      ]);
    },
  };
}

function health({ method, rhat, ess }) {
  const out = [["Estimate", METHODS[method] ?? method ?? "unknown"]];
  const worst = most(rhat ?? NaN);
  if (Number.isFinite(worst)) {
    out.push(["Agreement", worst < 1.05 ? `the chains agree (R-hat at most ${worst.toFixed(3)}; below 1.05 is good)` : `the chains do not agree yet (R-hat ${worst.toFixed(3)}): take the intervals with care until the next estimate`]);
  }
  const size = least(ess ?? NaN);
  if (Number.isFinite(size)) out.push(["Draws", `worth at least ${count(Math.round(size))} independent ones${size < 100 ? ": the ends of the intervals are rough" : ""}`]);
  return out;
}
