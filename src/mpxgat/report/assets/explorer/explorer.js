// The page: what the address names is shown; going somewhere means changing the address.

function knownCounterparts(network, node) {
  const copies = Array.from(network.copies(node)).filter((copy) => copy !== node);
  if (!copies.length) return quiet("p", "No known counterpart in another layer.");
  const list = html("ul", { class: "ex-names" }, ...copies.map((copy) => html("li", {}, nodeInLayer(network, copy))));
  return html("div", {}, quiet("p", "Known counterparts:"), list);
}

class Explorer {
  constructor(network) {
    this.network = network;
    this.view = document.getElementById("ex-view");
    this.node = -1;
    this.chosen = -1;
    this.width = 0;
    this.place = null;
    window.addEventListener("hashchange", () => this.follow(true));
    new ResizeObserver(() => this.fit()).observe(this.view);
    this.follow(false);
  }

  go(node) {
    const address = addressOf(this.network, node);
    if (location.hash === address) this.show(node, true);
    else location.hash = address;
  }

  // Show what the address names, if it is ours.
  follow(moved) {
    const parts = location.hash.split("/");
    if (parts[0] !== "#explorer" || parts.length !== 3) {
      if (!moved || parts[0] === "" || parts[0] === "#explorer") this.begin();
      return;
    }
    const [layer, id] = [decoded(parts[1]), decoded(parts[2])];
    const node = this.network.find(layer, id);
    if (node >= 0) this.show(node, moved);
    else this.begin(html("p", { role: "alert" }, "No node ", name(id), " in layer ", name(layer), "."));
    if (!moved) document.getElementById("explorer").scrollIntoView({ behavior: "instant" });
  }

  begin(...notes) {
    this.node = -1;
    this.view.replaceChildren(...notes, ...startPage(this.network));
  }

  show(node, moved) {
    const { network } = this;
    this.node = node;
    this.candidates = network.candidates ? network.candidates.ofNodes(network.copies(node)) : [];
    this.chosen = this.candidates.length ? this.candidates[0].row : -1;
    const title = html("h3", { class: "ex-title", tabindex: -1 }, name(network.ids[node], 500), " ");
    title.append(quiet("span", name(network.layerName(node), 100)));
    this.place = html("div", { class: "ex-place" });
    this.could = html("div");
    this.lists = html("div");
    const known = knownCounterparts(network, node);
    this.view.replaceChildren(title, known, this.place, this.legend(), this.could, this.lists);
    this.choose(this.chosen);
    if (moved) {
      title.focus({ preventScroll: true });
      if (title.getBoundingClientRect().top < 0) title.scrollIntoView({ behavior: "instant" });
    }
  }

  legend() {
    const words = ["Links within a layer are thin lines", "a thick line joins the node with its counterparts"];
    if (this.candidates.length) words.push("dashes lead to candidates");
    words.push("dotted lines join neighbours that are known to be the same");
    const hollow = "A node without a known counterpart is hollow.";
    return html("p", { class: "ex-quiet ex-legend" }, `${words.join("; ")}. ${hollow}`);
  }

  choose(row) {
    const hadFocus = this.could.contains(document.activeElement);
    this.chosen = row;
    this.draw();
    const part = candidatePart(this.network, this.node, this.candidates, row, (other) => this.choose(other));
    this.could.replaceChildren(part, ...this.bound());
    const bands = bandsOf(this.network, this.node, row);
    this.lists.replaceChildren(neighbourLists(this.network, bands));
    if (hadFocus) this.could.querySelector("input:checked")?.focus();
  }

  bound() {
    const out = this.network.candidates?.leftOut ?? 0;
    if (!out) return [];
    const words = `This page holds the most probable pairs; ${counted(out, "less probable one")} would not fit. `;
    return [quiet("p", `${words}The commands match and explain know all.`)];
  }

  draw() {
    this.width = Math.floor(this.view.clientWidth);
    this.place.replaceChildren(drawingOf(this.network, this.node, this.chosen, Math.max(this.width, 280)));
  }

  fit() {
    if (this.node >= 0 && Math.floor(this.view.clientWidth) !== this.width) this.draw();
  }
}

// An address that somebody typed may be no text at all.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const network = new Network(pageData("explorer"));
const explorer = new Explorer(network);
const box = new SearchBox(network, new Search(network), (node) => explorer.go(node));
