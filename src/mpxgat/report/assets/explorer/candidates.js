// Candidates in other layers with their probabilities, and the waterfall of reasons for the chosen one.

const MOST_CANDIDATES = 12;
const MOST_SHARED = 60;

function bar(className, from, to) {
  const element = html("span", { class: className });
  element.style.left = `${100 * Math.min(from, to)}%`;
  element.style.width = `${100 * Math.abs(to - from)}%`;
  return html("span", { class: "ex-track", "aria-hidden": "true" }, element);
}

function candidateChoice(network, one, isChosen, several, onChoose) {
  const who = `${network.ids[one.other]} in layer ${network.layerName(one.other)}`;
  const said = `Why ${who}, probability ${chance(one.probability)}`;
  const radio = html("input", { type: "radio", name: "ex-candidate", "aria-label": said, value: one.row });
  radio.checked = isChosen;
  radio.addEventListener("change", () => onChoose(one.row));
  const number = html("span", { class: "ex-chance" }, chance(one.probability));
  const label = html("label", {}, radio, number, bar("ex-probable", 0, one.probability));
  const of = several ? [quiet("span", " for ", name(network.layerName(one.own), 24))] : [];
  return html("li", { role: "none" }, label, html("span", { class: "ex-who" }, nodeInLayer(network, one.other), ...of));
}

function candidateList(network, found, chosen, onChoose) {
  const several = new Set(found.map((one) => one.own)).size > 1;
  const shown = found.slice(0, MOST_CANDIDATES);
  const list = html("ul", { class: "ex-candidates", role: "radiogroup", "aria-label": "Candidates in other layers" });
  for (const one of shown) list.append(candidateChoice(network, one, one.row === chosen, several, onChoose));
  const more = found.length - shown.length;
  return more ? [list, quiet("p", `and ${counted(more, "less probable one")}`)] : [list];
}

function waterfallRow(label, finding, kind, from, to, scale) {
  const what = html("th", { scope: "row" }, label);
  if (finding) what.append(quiet("span", finding));
  const drawn = html("td", { class: "ex-bar" }, bar(kind, scale(from), scale(to)));
  return html("tr", {}, what, html("td", { class: "number" }, signed(to - from)), drawn);
}

// Bars from where the log-odds were to where they are after each reason.
function waterfall(candidates, one) {
  const reasons = candidates.reasons(one.row);
  const base = candidates.base[one.row];
  const ends = [base];
  for (const reason of reasons) ends.push(ends[ends.length - 1] + reason.contribution);
  const score = ends[ends.length - 1];
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const scale = (value) => (value - low) / (high - low || 1);
  const body = html("tbody", {}, waterfallRow("before any evidence", "", "ex-probable", 0, base, scale));
  reasons.forEach(({ label, finding, contribution }, i) => {
    body.append(waterfallRow(label, finding, contribution < 0 ? "ex-minus" : "ex-plus", ends[i], ends[i + 1], scale));
  });
  const probability = `probability ${chance(one.probability)}`;
  const total = waterfallRow("all together", probability, "ex-probable", 0, score, scale);
  total.className = "ex-total";
  body.append(total);
  const columns = [html("th", { scope: "col" }, "reason"), html("th", { scope: "col", class: "number" }, "log-odds")];
  const head = html("thead", {}, html("tr", {}, ...columns, html("td")));
  const caption = html("caption", {}, "What each finding adds to the log-odds");
  return html("div", { class: "table" }, html("table", { class: "ex-waterfall" }, caption, head, body));
}

function sharedNeighbours(network, one) {
  const shared = network.sharedNeighbours(one.own, one.other);
  const title = html("h4", {}, `Neighbours known to be shared: ${shared.length.toLocaleString("en")}`);
  return shared.length ? [title, linkList(network, shared, MOST_SHARED)] : [title];
}

function reasonsOf(network, one) {
  const title = html(
    "h3", {}, "Why ", name(network.ids[one.own], 40), ` (${shortened(network.layerName(one.own), 24)}) could be `,
    name(network.ids[one.other], 40), ` (${shortened(network.layerName(one.other), 24)})`,
  );
  const shared = sharedNeighbours(network, one);
  return html("div", { class: "ex-reasons" }, title, waterfall(network.candidates, one), ...shared);
}

// Why a node has no candidate, in a sentence.
function silenceOf(network, node) {
  if (!network.candidates) return network.whyNone;
  if (network.copies(node).length === network.layers.length) return "It is known in every layer.";
  if (network.candidates.silence.length) return `${network.candidates.silence.join(". ")}.`;
  if (network.candidates.leftOut) return "None of its pairs is among the most probable ones, which this page holds.";
  return `No pair with a probability of at least ${network.candidates.least} that the known links leave open.`;
}

function candidatePart(network, node, found, chosen, onChoose) {
  const title = html("h3", {}, "Who it could be in other layers");
  if (!found.length) return html("div", { class: "ex-could" }, title, quiet("p", silenceOf(network, node)));
  const list = candidateList(network, found, chosen, onChoose);
  const one = found.find((each) => each.row === chosen);
  return html("div", { class: "ex-could" }, title, ...list, reasonsOf(network, one));
}
