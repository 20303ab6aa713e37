// Numbers for people, and what epsilon means in odds. Pages speak English; numbers are written as in the documentation.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

// A share in per cent; one digit after the point is what an interval of a private poll can bear.
export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

// A number with as many digits as its scale bears: `span` is the width that matters, such as that of an interval.
export function measure(value, span) {
  if (!Number.isFinite(value)) return "unknown";
  const digits = span > 0 ? Math.min(Math.max(Math.ceil(-Math.log10(span)) + 1, 0), 10) : 2;
  return value.toFixed(digits).replace("-", "\u2212");
}

export const decimal = (value) => String(Number(Number(value).toPrecision(6)));

export const odds = (epsilon) => Math.exp(Number(epsilon));

export function factor(epsilon) {
  const value = odds(epsilon);
  return value < 10 ? value.toFixed(1) : value < 1e6 ? count(Math.round(value)) : value.toExponential(1);
}

// To what a suspicion can rise, at most: Bayes' rule with the likelihood ratio at its bound.
export function after(suspicion, epsilon) {
  return 1 / (1 + Math.exp(-Number(epsilon)) * (1 - suspicion) / suspicion);
}

export const many = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

export const list = (words) => words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

// How many digits after the point tell neighbouring marks of an axis apart, and write each in full.
export function step(marks, unit = 1) {
  for (let digits = 0; digits < 8; digits++) {
    if (marks.every((mark) => Math.abs(mark * unit - Number((mark * unit).toFixed(digits))) < 1e-9 * unit)) return digits;
  }
  return 8;
}
