// What there is to begin with: the surest pairs, nodes with rivals for one place, and those with most links.

const MOST_QUEUED = 8;
const LEAST_RIVAL = 0.05; // probability of the second best candidate, to speak of rivals
const NEAR_RIVAL = 0.5; // and its share of the best one's

// The most probable pairs: {nodes, probability}. A unit is in one of them at most, and only with its best candidate.
function surestPairs(network) {
  const { pairs, probability } = network.candidates;
  const found = [];
  const seen = new Set();
  for (let row = 0; row < probability.length && found.length < MOST_QUEUED; row += 1) {
    const nodes = [pairs[2 * row], pairs[2 * row + 1]];
    const units = nodes.map((node) => network.unit[node]);
    if (!units.some((unit) => seen.has(unit))) found.push({ nodes, probability: probability[row] });
    units.forEach((unit) => seen.add(unit));
  }
  return found;
}

// Nodes whose second best candidate in a layer is most probable: {node, best: [{other, probability}, …]}.
function contestedNodes(network) {
  const { pairs, probability } = network.candidates;
  const best = new Map();
  for (let row = 0; row < probability.length; row += 1) {
    for (const side of [0, 1]) {
      const [node, other] = [pairs[2 * row + side], pairs[2 * row + 1 - side]];
      const place = node * network.layers.length + network.layerOf(other);
      const known = best.get(place);
      if (!known) best.set(place, { node, best: [{ other, probability: probability[row] }] });
      else if (known.best.length < 2) known.best.push({ other, probability: probability[row] });
    }
  }
  const isClose = (one, two) => two && two.probability >= Math.max(LEAST_RIVAL, NEAR_RIVAL * one.probability);
  const contested = Array.from(best.values()).filter((each) => isClose(...each.best));
  contested.sort((a, b) => b.best[1].probability - a.best[1].probability || a.node - b.node);
  const seen = new Set(); // nodes that were in one of these already tell nothing new
  const found = [];
  for (const each of contested) {
    const nodes = [each.node, ...each.best.map((one) => one.other)];
    if (found.length < MOST_QUEUED && !nodes.some((node) => seen.has(node))) found.push(each);
    nodes.forEach((node) => seen.add(node));
  }
  return found;
}

// The units with most links, each by its first node: {node, links, layers}.
function bestConnected(network) {
  const links = new Float64Array(network.size);
  for (let node = 0; node < network.size; node += 1) links[network.unit[node]] += network.degree(node);
  const first = Array.from(links.keys()).filter((node) => network.unit[node] === node);
  first.sort((a, b) => links[b] - links[a] || a - b);
  return first.slice(0, MOST_QUEUED).map((node) => ({ node, links: links[node], layers: network.copies(node).length }));
}

function queue(title, words, items) {
  return html("section", {}, html("h3", {}, title), quiet("p", words), html("ol", { class: "ex-queue" }, ...items));
}

function queueItem(number, ...who) {
  return html("li", {}, html("span", { class: "ex-chance" }, number), html("div", { class: "ex-who" }, ...who));
}

function pairItem(network, { nodes, probability }) {
  const [one, other] = nodes.map((node) => nodeInLayer(network, node));
  return queueItem(chance(probability), one, html("div", {}, quiet("span", " and "), other));
}

function contestItem(network, { node, best }) {
  const rivals = best.map(({ other, probability }) => queueItem(chance(probability), nodeInLayer(network, other)));
  return html("li", { class: "ex-contest" }, nodeInLayer(network, node), html("ul", {}, ...rivals));
}

function connectedItem(network, { node, links, layers }) {
  const several = layers > 1 ? [quiet("span", `, in ${counted(layers, "layer")}`)] : [];
  return queueItem(links.toLocaleString("en"), nodeInLayer(network, node), ...several);
}

// Why there is no pair to begin with, in a sentence.
function noPairs(network) {
  if (!network.candidates) return network.whyNone;
  if (network.candidates.silence.length) return `${network.candidates.silence.join(". ")}.`;
  return `No pair of nodes has a probability of at least ${network.candidates.least} to be the same.`;
}

function startPage(network) {
  if (!network.size) return [quiet("p", "The network has no node.")];
  const parts = [];
  const pairs = network.candidates ? surestPairs(network) : [];
  const contested = network.candidates ? contestedNodes(network) : [];
  if (pairs.length) {
    const items = pairs.map((one) => pairItem(network, one));
    parts.push(queue("Most probable pairs", "The probability that two nodes are the same.", items));
  }
  if (contested.length) {
    const items = contested.map((one) => contestItem(network, one));
    parts.push(queue("Most contested", "Two candidates in one layer, and no clear lead.", items));
  }
  const items = bestConnected(network).map((one) => connectedItem(network, one));
  parts.push(queue("Best connected", "Neighbours in all layers, counted together.", items));
  const none = pairs.length ? [] : [quiet("p", noPairs(network))];
  return [...none, html("div", { class: "ex-start" }, ...parts)];
}
