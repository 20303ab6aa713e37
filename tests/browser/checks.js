// What is wrong with a page for those who do not see it, or not well: a list of complaints. A part of what axe-core asks.
() => {
  const found = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (element) => element.checkVisibility();
  const said = (ids) => (ids ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join("");
  const name = (e) => e.getAttribute("aria-label") || said(e.getAttribute("aria-labelledby")) || e.textContent.trim() || [...(e.labels ?? [])].map((label) => label.textContent).join("");

  const ids = all("[id]").map((e) => e.id);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two elements have the id ${id}`);
  for (const e of all("a, button, input, select, summary, [tabindex='0'], [role=img], svg[role]")) {
    if (shown(e) && !name(e)) found.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  }
  for (const attribute of ["aria-describedby", "aria-labelledby"]) {
    for (const e of all(`[${attribute}]`)) {
      for (const id of e.getAttribute(attribute).split(" ")) if (!document.getElementById(id)) found.push(`no element ${id}`);
    }
  }
  for (const e of all("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) found.push("a tabindex above 0");
  for (const e of all("fieldset")) if (!e.querySelector("legend")?.textContent.trim()) found.push("a fieldset without a legend");
  for (const e of all("table")) if (!e.caption || !e.querySelector("th[scope]")) found.push("a table without caption or heads");
  const levels = all("h1, h2, h3, h4").filter(shown).map((e) => Number(e.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) found.push(`the headings are ${levels}`);
  levels.forEach((level, i) => i && level > levels[i - 1] + 1 && found.push(`heading ${level} after ${levels[i - 1]}`));
  if (all("main").length !== 1 || !document.documentElement.lang || !document.title) found.push("no main, language or title");
  for (const e of all("button, a.button, .answer")) {
    if (shown(e) && e.getBoundingClientRect().height < 24) found.push(`a small target: ${e.textContent}`);
  }

  // Every text against the nearest opaque ground below it: 4.5 to 1, or 3 to 1 for large text (WCAG 2.2, 1.4.3).
  const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ratio = (a, b) => {
    const [more, less] = [light(a), light(b)].sort((x, y) => y - x);
    return (more + 0.05) / (less + 0.05);
  };
  const ground = (e) => {
    for (let each = e; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  for (const e of all("body *")) {
    const svg = e instanceof SVGElement;
    const text = [...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    // Numbers on the cells of a heat map stand on a mixed colour: axe cannot judge them either.
    if (!text || !shown(e) || (svg && !e.matches("text:not(.in)"))) continue;
    const style = getComputedStyle(e);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const value = ratio(parse(svg ? style.fill : style.color).slice(0, 3), ground(svg ? e.closest("svg").parentElement : e));
    if (value < (large ? 3 : 4.5)) found.push(`contrast ${value.toFixed(2)}: ${e.textContent.slice(0, 40)}`);
  }
  return found;
}
