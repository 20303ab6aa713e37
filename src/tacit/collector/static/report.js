// A report in words: what it names, whatever was answered.

// What a report names, as labels of the question or as ranges of a number.
export function named(round, report) {
  const { channel, question } = JSON.parse(round.text);
  const cells = channel.cuts ? ranges(channel.cuts, question.unit) : question.labels;
  return reported(channel.inner ?? channel, report.value, cells);
}

function reported(channel, value, cells) {
  if (channel.kind === "blocks") return [cells[value]];
  if (channel.kind === "subset") {
    const own = channel.keep ? [...channel.keep.map((x) => cells[x]), "any other answer"] : cells;
    return value.map((cell) => own[cell]);
  }
  if (channel.kind === "hashed") return [`group ${value[2]} of a random grouping of the answers`];
  return channel.rows.length === cells.length ? [cells[value]] : [`report ${value} of ${channel.rows.length}`];
}

// The cells between cuts; a number equal to a cut is in the upper one.
function ranges(cuts, unit) {
  return [`less than ${cuts[0]} ${unit}`, ...cuts.slice(1).map((cut, i) => `${cuts[i]} to less than ${cut} ${unit}`), `${cuts.at(-1)} ${unit} or more`];
}
