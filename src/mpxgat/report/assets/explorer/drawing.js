// The drawing: planes, links, counterparts joined from plane to plane, nodes that lead to themselves.

const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };

function line(from, to, kind) {
  return svg("line", { class: kind, x1: from.x, y1: from.y, x2: to.x, y2: to.y });
}

function plane(band, size) {
  const [left, right] = [MARGIN, size.width - MARGIN];
  const [top, bottom] = [band.top + size.head, band.bottom];
  const corners = [[left + 2 * size.skew, top], [right, top], [right - 2 * size.skew, bottom], [left, bottom]];
  const kind = band.candidate ? "ex-plane ex-open" : "ex-plane";
  return svg("polygon", { class: kind, points: corners.map((corner) => corner.join(",")).join(" ") });
}

function bandTitle(network, band, size) {
  const title = network.layers[band.layer];
  const parts = band.candidate ? [`candidate, p = ${chance(band.candidate.probability)}`] : [];
  parts.push(counted(band.total, "neighbour"));
  if (band.drawn.length < band.total) parts.push(`${band.drawn.length} drawn`);
  return svg(
    "text",
    { class: "ex-band", x: MARGIN, y: band.top + size.head - 9 },
    svg("title", {}, title),
    svg("tspan", { class: "ex-strong" }, shortened(title, size.width < NARROW ? 14 : 40)),
    svg("tspan", { class: "ex-dim", dx: 8 }, parts.join(" · ")),
  );
}

function linksWithin(network, band) {
  const found = [];
  for (const [node, point] of band.points) {
    for (const other of network.neighbours(node)) {
      if (other > node && band.points.has(other)) found.push(line(point, band.points.get(other), "ex-among"));
    }
  }
  for (const point of band.points.values()) found.push(line(band.middle, point, "ex-link"));
  return found;
}

// Lines between bands: thin ones for neighbours, a thick one for the unit itself, dashes to its candidates.
function counterparts(network, bands) {
  const found = [];
  const last = new Map();
  for (const band of bands) {
    for (const [node, point] of band.points) {
      const unit = network.unit[node];
      if (last.has(unit)) {
        const joins = line(last.get(unit), point, "ex-joins");
        joins.dataset.unit = unit;
        found.push(joins);
      }
      last.set(unit, point);
    }
  }
  bands.slice(1).forEach((band, i) => {
    found.push(line(bands[i].middle, band.middle, band.candidate ? "ex-maybe" : "ex-same"));
  });
  return found;
}

function nodeMark(network, node, point, label, kind, said) {
  const mark = svg(
    "a",
    { class: kind, href: addressOf(network, node), tabindex: -1, role: "link", "aria-label": said },
    svg("title", {}, `${network.ids[node]} (${network.layerName(node)})`),
    svg("circle", { class: "ex-touch", cx: point.x, cy: point.y, r: 9 }),
    svg("circle", { class: "ex-dot", cx: point.x, cy: point.y, r: kind.includes("ex-centre") ? 8 : 4.5 }),
    svg(
      "text",
      { class: label.shown ? null : "ex-hidden", x: label.x, y: label.y, "text-anchor": label.anchor },
      label.text,
    ),
  );
  mark.dataset.unit = network.unit[node];
  return mark;
}

// The marks of a band, in the order in which arrow keys walk through them: the middle one, then around.
function bandMarks(network, band) {
  const layer = network.layers[band.layer];
  const what = band.candidate ? `candidate, probability ${chance(band.candidate.probability)}` : "the node";
  const said = `${network.ids[band.node]}, ${what}, layer ${layer}`;
  const look = band.candidate ? "ex-node ex-centre ex-open" : "ex-node ex-centre";
  const centre = nodeMark(network, band.node, band.middle, band.label, look, said);
  const turn = (node) => {
    const point = band.points.get(node);
    return Math.atan2(point.y - band.middle.y, point.x - band.middle.x);
  };
  const inOrder = [...band.drawn].sort((a, b) => turn(a) - turn(b));
  const marks = inOrder.map((node) => {
    const label = `${network.ids[node]}, neighbour, layer ${layer}`;
    const kind = network.copies(node).length > 1 ? "ex-node" : "ex-node ex-alone";
    return nodeMark(network, node, band.points.get(node), band.labels.get(node), kind, label);
  });
  return [centre, ...marks];
}

// One stop for the Tab key; arrows walk within a band and between bands.
function walkable(rows) {
  let [row, column] = [0, 0];
  rows[0][0].setAttribute("tabindex", 0);
  const move = (toRow, toColumn) => {
    rows[row][column].setAttribute("tabindex", -1);
    [row, column] = [toRow, toColumn];
    rows[row][column].setAttribute("tabindex", 0);
    rows[row][column].focus();
  };
  return (event) => {
    const step = MOVES[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (step[0]) {
      const toRow = Math.min(Math.max(row + step[0], 0), rows.length - 1);
      const unit = rows[row][column].dataset.unit;
      const same = rows[toRow].findIndex((mark) => mark.dataset.unit === unit);
      move(toRow, toRow === row ? column : Math.max(same, 0));
    } else {
      move(row, (column + step[1] + rows[row].length) % rows[row].length);
    }
  };
}

// A unit that is pointed at, or has the focus, stands out in all bands.
function lightUp(frame) {
  const light = (event, on) => {
    const mark = event.target.closest("[data-unit]");
    if (!mark) return;
    for (const one of frame.querySelectorAll(`[data-unit="${mark.dataset.unit}"]`)) one.classList.toggle("ex-lit", on);
  };
  frame.addEventListener("pointerover", (event) => light(event, true));
  frame.addEventListener("pointerout", (event) => light(event, false));
  frame.addEventListener("focusin", (event) => light(event, true));
  frame.addEventListener("focusout", (event) => light(event, false));
}

function drawingOf(network, node, chosen, width) {
  const { size, bands, height } = layoutOf(network, node, chosen, width);
  const rows = bands.map((band) => bandMarks(network, band));
  const picture = svg(
    "svg",
    {
      class: "ex-drawing", width: size.width, height, viewBox: `0 0 ${size.width} ${height}`, role: "group",
      "aria-label": "Neighbours in every layer. Arrow keys move between nodes, Enter goes to one.",
    },
    svg("g", {}, ...bands.map((band) => plane(band, size))),
    svg("g", {}, ...counterparts(network, bands)),
    svg("g", {}, ...bands.flatMap((band) => linksWithin(network, band))),
    svg("g", {}, ...bands.map((band) => bandTitle(network, band, size))),
    ...rows.map((marks) => svg("g", {}, ...marks.slice().reverse())),
  );
  // Around it, as a browser lets the Tab key stop at a drawing that listens to the focus.
  const frame = html("div", {}, picture);
  frame.addEventListener("keydown", walkable(rows));
  lightUp(frame);
  return frame;
}
