// Where everything stands in the drawing: one band for each layer, the same place for a unit in all of them.

const NARROW = 560;
const MARGIN = 8;
const FONT = 12;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

// Measures that fit the width of the page, in pixels.
function measures(width) {
  const narrow = width < NARROW;
  const skew = narrow ? 14 : 44;
  const labels = narrow ? 46 : 108;
  const across = width / 2 - MARGIN - skew - labels;
  const down = narrow ? 62 : 66;
  return { width, skew, across, down, labels, most: narrow ? 20 : 40, head: 26, gap: 22, letters: narrow ? 9 : 16 };
}

// The bands: first the layers that the unit is known to be in, then those in which it has a candidate.
function bandsOf(network, node, chosen) {
  const copies = Array.from(network.copies(node));
  const bands = copies.map((copy) => ({ node: copy, layer: network.layerOf(copy), candidate: null }));
  if (!network.candidates) return bands;
  const best = new Map();
  for (const one of network.candidates.ofNodes(copies)) {
    const layer = network.layerOf(one.other);
    if (!best.has(layer) || one.row === chosen) best.set(layer, one);
  }
  const layers = Array.from(best.keys()).sort((a, b) => a - b);
  return [...bands, ...layers.map((layer) => ({ node: best.get(layer).other, layer, candidate: best.get(layer) }))];
}

// Which neighbours of a band are drawn: those that are in most bands first, then those with most links.
function chooseNeighbours(network, bands, most) {
  const seen = new Map();
  for (const band of bands) {
    for (const node of network.neighbours(band.node)) {
      seen.set(network.unit[node], (seen.get(network.unit[node]) ?? 0) + 1);
    }
  }
  const before = (a, b) =>
    seen.get(network.unit[b]) - seen.get(network.unit[a]) || network.degree(b) - network.degree(a) || a - b;
  for (const band of bands) {
    const all = Array.from(network.neighbours(band.node)).sort(before);
    band.total = network.total(band.node);
    band.drawn = all.slice(0, most);
  }
  return seen;
}

// An angle for every unit. Units in a row get angles far apart, so that each band's are spread all around.
function anglesOf(network, bands, seen) {
  const drawn = new Set(bands.flatMap((band) => band.drawn.map((node) => network.unit[node])));
  const inOrder = Array.from(drawn).sort((a, b) => seen.get(b) - seen.get(a));
  const spread = inOrder.map((unit, i) => ({ unit, place: (i * GOLDEN) % 1 })).sort((a, b) => a.place - b.place);
  const step = (2 * Math.PI) / spread.length;
  return new Map(spread.map(({ unit }, i) => [unit, { angle: (i + 0.5) * step, ring: i % 2 }]));
}

let pen = null;

function textWidth(text, bold) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${bold ? "600 " : ""}${FONT}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

// Boxes that are taken; a label that would touch one is not shown until its node is pointed at.
class Room {
  constructor(width) {
    this.width = width;
    this.boxes = [];
  }

  take(box) {
    this.boxes.push(box);
  }

  isFree(box) {
    const inside = box.x >= 0 && box.x + box.w <= this.width;
    const apart = (one) =>
      box.x + box.w <= one.x || one.x + one.w <= box.x || box.y + box.h <= one.y || one.y + one.h <= box.y;
    return inside && this.boxes.every(apart);
  }
}

function around(point, size) {
  return { x: point.x - size, y: point.y - size, w: 2 * size, h: 2 * size };
}

// Places for a label beside a dot, `gap` away from its middle, the best one first.
function labelPlaces(point, text, outward, gap, bold) {
  const w = textWidth(text, bold);
  const place = (anchor, x, y, left) => ({ anchor, x, y: y + 4, box: { x: left - 1, y: y - 8, w: w + 2, h: 15 } });
  const right = place("start", point.x + gap, point.y, point.x + gap);
  const left = place("end", point.x - gap, point.y, point.x - gap - w);
  const centred = (y) => place("middle", point.x, y, point.x - w / 2);
  const sides = outward < 0 ? [left, right] : [right, left];
  return [...sides, centred(point.y + gap + 6), centred(point.y - gap - 6)];
}

function placeLabel(room, point, text, outward, gap, bold = false) {
  const places = labelPlaces(point, text, outward, gap, bold);
  const free = places.find((place) => room.isFree(place.box));
  if (free) room.take(free.box);
  return { ...(free ?? places[0]), text, shown: Boolean(free) };
}

// Points and labels of a band whose plane begins at `top`.
function layOut(network, band, top, angles, size) {
  const middle = { x: size.width / 2, y: top + size.head + size.down + 14 };
  const at = (u, v) => ({ x: middle.x + u * size.across - v * size.skew, y: middle.y + v * size.down });
  const crowded = angles.size > 16;
  const room = new Room(size.width);
  band.top = top;
  band.middle = middle;
  band.bottom = middle.y + size.down + 14;
  band.points = new Map();
  for (const node of band.drawn) {
    const { angle, ring } = angles.get(network.unit[node]);
    const reach = crowded && ring ? 0.74 : 1;
    const point = at(Math.cos(angle) * reach, Math.sin(angle) * reach);
    band.points.set(node, point);
    room.take(around(point, 6));
  }
  room.take(around(middle, 10));
  band.label = placeLabel(room, middle, shortened(network.ids[band.node], size.letters + 4), 1, 14, true);
  band.labels = new Map();
  for (const node of band.drawn) {
    const point = band.points.get(node);
    const text = shortened(network.ids[node], size.letters);
    band.labels.set(node, placeLabel(room, point, text, point.x - middle.x, 10));
  }
}

// The whole drawing: bands with points and labels, and its height.
function layoutOf(network, node, chosen, width) {
  const size = measures(width);
  const bands = bandsOf(network, node, chosen);
  const seen = chooseNeighbours(network, bands, size.most);
  const angles = anglesOf(network, bands, seen);
  let top = 0;
  for (const band of bands) {
    layOut(network, band, top, angles, size);
    top = band.bottom + size.gap;
  }
  return { size, bands, height: top - size.gap + MARGIN };
}
