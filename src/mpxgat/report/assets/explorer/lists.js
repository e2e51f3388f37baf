// The same neighbours as lists of links, for readers and for keyboards.

const MOST_LISTED = 200;

// Every node has an address, so that the browser's back button works.
function addressOf(network, node) {
  return `#explorer/${encodeURIComponent(network.layerName(node))}/${encodeURIComponent(network.ids[node])}`;
}

function nodeLink(network, node, most = 60) {
  const text = `${network.ids[node]} (${network.layerName(node)})`;
  return html("a", { href: addressOf(network, node), title: text }, name(network.ids[node], most));
}

function nodeInLayer(network, node) {
  return html("span", {}, nodeLink(network, node), " ", quiet("span", name(network.layerName(node), 40)));
}

function linkList(network, nodes, most) {
  const list = html("ul", { class: "ex-names" });
  for (const node of nodes.slice(0, most)) list.append(html("li", {}, nodeLink(network, node, 40)));
  if (nodes.length > most) list.append(quiet("li", `and ${counted(nodes.length - most, "other")}`));
  return list;
}

// The neighbours of a node in its layer, closed until it is asked for; its content is made then.
function neighbourList(network, node, what) {
  const neighbours = Array.from(network.neighbours(node));
  const count = `: ${what}${counted(neighbours.length, "neighbour")}`;
  const title = html("summary", {}, name(network.layerName(node), 40), count);
  const details = html("details", {}, title);
  details.addEventListener("toggle", () => details.append(linkList(network, neighbours, MOST_LISTED)), { once: true });
  return details;
}

function neighbourLists(network, bands) {
  const lists = bands.map(({ node, candidate }) =>
    neighbourList(network, node, candidate ? `candidate ${shortened(network.ids[node], 40)}, ` : ""),
  );
  return html("div", { class: "ex-lists" }, html("h3", {}, "Neighbours as lists"), ...lists);
}
