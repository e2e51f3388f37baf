// The review: a pair, its two nodes side by side, buttons and keys. An answer is on disk before the next pair is shown.

const KEYS = { a: "accept", r: "reject", s: "skip", u: "undo" };
const DONE = { accept: "accepted", reject: "rejected", skip: "skipped" };
const MOST_KNOWN = 8;
const MOST_NAMED = 30;
const LONG = 200;

// The explorer's drawing leads from node to node; here there is nowhere to go.
function addressOf() {
  return null;
}

function inLayer({ id, layer }, most = 60) {
  return html("span", {}, name(id, most), " ", quiet("span", name(layer, 40)));
}

// Names, not links, where the explorer has links.
function linkList(network, nodes, most) {
  const list = html("ul", { class: "ex-names" });
  const shown = nodes.slice(0, Math.min(most, MOST_NAMED));
  for (const node of shown) list.append(html("li", {}, name(network.ids[node], 40)));
  if (nodes.length > shown.length) list.append(quiet("li", `and ${counted(nodes.length - shown.length, "other")}`));
  return list;
}

function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

// Both nodes side by side: a column for each, a row for what is known of them.
function comparison(question) {
  const { nodes, attributes, rivals } = question;
  const ids = nodes.map(({ id }) => html("th", { scope: "col", class: "rv-id" }, name(id, LONG)));
  const layers = nodes.map(({ layer }) => html("td", {}, name(layer, 60)));
  const counts = nodes.map(({ neighbours }) => html("td", {}, neighbours.toLocaleString("en")));
  const body = html("tbody", {}, row("layer", layers), row("neighbours", counts));
  const known = nodes.map((node) => node.known);
  if (known.some((copies) => copies.length)) body.append(row("also known as", known.map(names)));
  for (const { name: what, values } of attributes) {
    const same = values[0] && values[0] === values[1];
    const kind = same ? "rv-same" : null;
    const cells = values.map((value) => html("td", { class: kind }, value ? name(value, LONG) : "–"));
    body.append(row(name(what, 40), cells));
  }
  if (rivals.length) body.append(row("or else", [0, 1].map((side) => rivalNames(rivals, side))));
  const head = html("thead", {}, html("tr", {}, html("td"), ...ids));
  return html("div", { class: "table" }, html("table", { class: "rv-nodes" }, head, body));
}

function row(what, cells) {
  return html("tr", {}, html("th", { scope: "row" }, what), ...cells);
}

function names(known) {
  const cell = html("td");
  known.slice(0, MOST_KNOWN).forEach((one) => cell.append(html("div", {}, inLayer(one))));
  if (known.length > MOST_KNOWN) cell.append(quiet("div", `and ${counted(known.length - MOST_KNOWN, "other")}`));
  return cell.childNodes.length ? cell : html("td", {}, "–");
}

function rivalNames(rivals, side) {
  const cell = html("td");
  for (const one of rivals.filter((each) => each.side === side)) {
    cell.append(html("div", {}, quiet("span", chance(one.probability)), " ", name(one.id)));
  }
  return cell.childNodes.length ? cell : html("td", {}, "–");
}

const SETTLED = {
  same: "By earlier answers and known links these two are one unit already; this pair is in the random sample, too.",
  different: "By earlier answers and known links these two are different; this pair is in the random sample, too.",
};

class Review {
  constructor() {
    this.window = this.windowName();
    this.busy = false;
    this.question = null;
    this.undoPair = null;
    this.main = document.getElementById("rv-main");
    this.note = document.getElementById("rv-note");
    for (const what of Object.values(KEYS)) {
      document.getElementById(`rv-${what}`).addEventListener("click", () => this.act(what));
    }
    document.addEventListener("keydown", (event) => this.press(event));
    this.main.addEventListener("click", (event) => event.target.closest("svg a") && event.preventDefault());
    new ResizeObserver(() => this.fit()).observe(this.main);
    this.ask("question", {});
  }

  // The same after a reload, so that the pair in this window is not taken for somebody else's.
  windowName() {
    const made = sessionStorage.getItem("window") ?? crypto.randomUUID();
    sessionStorage.setItem("window", made);
    return made;
  }

  press(event) {
    const what = KEYS[event.key.toLowerCase()];
    const typing = event.target === this.note;
    if (typing && event.key === "Escape") this.note.blur();
    if (!what || typing || event.repeat || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.act(what);
  }

  act(what) {
    if (this.busy) return;
    if (what === "undo") {
      if (this.undoPair) this.ask("undo", { pair: this.undoPair });
    } else if (this.question) {
      this.ask("answer", { pair: this.question.pair, answer: what, note: this.note.value });
    }
  }

  post(what, request) {
    const body = JSON.stringify({ window: this.window, ...request });
    return fetch(what, { method: "POST", body, headers: { "Content-Type": "application/json" } });
  }

  async ask(what, request) {
    this.busy = true;
    document.body.classList.add("rv-busy");
    try {
      const reply = await this.post(what, request);
      const found = await reply.json();
      if (reply.ok) {
        document.getElementById("rv-error").hidden = true;
        this.show(found);
      } else {
        this.complain(found.error);
        if (what !== "question") await this.showAnother();
      }
    } catch {
      this.complain(
        "The server does not answer. Answers before this one are kept; start mpxgat review again and open its address.",
      );
    } finally {
      this.busy = false;
      document.body.classList.remove("rv-busy");
    }
  }

  // After an answer that could not be kept: what is asked now. The reason stays on the page until the next answer.
  async showAnother() {
    const reply = await this.post("question", {});
    if (reply.ok) this.show(await reply.json());
  }

  complain(text) {
    const place = document.getElementById("rv-error");
    place.textContent = text;
    place.hidden = false;
    place.scrollIntoView({ block: "nearest", behavior: "instant" });
  }

  show({ question, progress, elsewhere }) {
    this.question = question;
    this.note.value = "";
    this.showProgress(progress);
    for (const what of Object.keys(DONE)) document.getElementById(`rv-${what}`).disabled = !question;
    if (!question) {
      this.main.replaceChildren(html("p", { class: "rv-end" }, endWords(progress, elsewhere)));
      return;
    }
    this.network = new Network(question.network);
    this.place = html("div", { class: "ex-place" });
    const probability = html("b", {}, chance(question.probability));
    const told = html("p", { class: "rv-chance" }, "Probability by the model: ", probability, ".");
    if (question.settled) told.append(` ${SETTLED[question.settled]}`);
    this.main.replaceChildren(told, comparison(question), this.picturePart(), this.reasonPart());
    this.width = 0;
    this.fit();
    window.scrollTo({ top: 0, behavior: "instant" });
    this.main.dataset.pair = question.pair.join("-");
  }

  picturePart() {
    const words = "Dashes join the two nodes; dotted lines join neighbours that are known to be the same. "
      + "A node without a known counterpart is hollow.";
    return html("section", { class: "rv-part" }, html("h2", {}, "Their neighbours"), this.place,
      html("p", { class: "ex-quiet ex-legend" }, words));
  }

  reasonPart() {
    const { network } = this;
    const [one] = network.candidates.ofNodes([this.question.node]);
    return html("section", { class: "rv-part" }, html("h2", {}, "Why"), waterfall(network.candidates, one),
      ...sharedNeighbours(network, one));
  }

  fit() {
    const width = Math.floor(this.main.clientWidth);
    if (!this.question || !this.place || width === this.width) return;
    this.width = width;
    const drawing = drawingOf(this.network, this.question.node, 0, Math.max(width, 280));
    drawing.querySelector("svg").setAttribute("aria-label", "Neighbours in each layer. Arrow keys move between nodes.");
    this.place.replaceChildren(drawing);
  }

  showProgress({ order, left, counts, samples, undo }) {
    const told = Object.entries(counts).map(([what, count]) => `${count.toLocaleString("en")} ${what}`);
    if (left !== null) told.push(`${left.toLocaleString("en")} left`);
    const words = samples.map(({ threshold, reviewed, precision, low, high }) =>
      `Precision at threshold ${threshold}: ${percent(precision)} (95% interval ${percent(low)} to ${percent(high)}), `
      + `by ${counted(reviewed, "match", "matches")} drawn at random.`);
    if (!words.length && order !== "random") words.push("Answers in the order random give the matches' precision.");
    document.getElementById("rv-progress").textContent = [`${told.join(" · ")}.`, ...words].join(" ");
    document.getElementById("rv-undo").disabled = !undo;
    this.undoPair = undo ? undo.pair : null;
    const last = document.getElementById("rv-last");
    last.replaceChildren();
    if (undo) last.append(`${DONE[undo.answer]}: `, name(undo.names[0], 30), " – ", name(undo.names[1], 30));
  }
}

function endWords({ order }, elsewhere) {
  if (elsewhere) return `${counted(elsewhere, "pair")} left, which other windows show now. Reload this page later.`;
  const next = order === "random" ? "Every match has been reviewed." : "No pair is open any more.";
  return `${next} mpxgat match uses the answers at once; mpxgat train --again learns from them.`;
}

const review = new Review();
