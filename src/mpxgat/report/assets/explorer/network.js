// The network: nodes by position, neighbours, copies and candidates. Everything in flat arrays.

const ARRAYS = { uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array };

function decodedNumbers({ type, base64 }) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[type](bytes.buffer);
}

// Values grouped by key: `of(key)` are the values of the rows that have the key, in the rows' order.
class Groups {
  constructor(keys, values, count) {
    this.start = new Int32Array(count + 1);
    for (const key of keys) this.start[key + 1] += 1;
    for (let i = 0; i < count; i += 1) this.start[i + 1] += this.start[i];
    const next = this.start.slice();
    this.values = new Int32Array(keys.length);
    for (let i = 0; i < keys.length; i += 1) {
      this.values[next[keys[i]]] = values[i];
      next[keys[i]] += 1;
    }
  }

  of(key) {
    return this.values.subarray(this.start[key], this.start[key + 1]);
  }
}

// Both directions of links that are given once: [a, b, a, b, …].
function joined(links, count) {
  const from = new Int32Array(links.length);
  const to = new Int32Array(links.length);
  for (let i = 0; i < links.length; i += 2) {
    from[i] = to[i + 1] = links[i];
    to[i] = from[i + 1] = links[i + 1];
  }
  return new Groups(from, to, count);
}

// The first node of every node's unit, by which the unit is known: counterparts are transitive.
function units(links, count) {
  const parent = Int32Array.from({ length: count }, (_, i) => i);
  const root = (node) => {
    let at = node;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]];
      at = parent[at];
    }
    return at;
  };
  for (let i = 0; i < links.length; i += 2) {
    const [a, b] = [root(links[i]), root(links[i + 1])];
    parent[Math.max(a, b)] = Math.min(a, b);
  }
  return parent.map((_, i) => root(i));
}

class Network {
  constructor(data) {
    this.ids = data.ids;
    this.layers = data.layers;
    this.layerStart = data.layer_start;
    this.size = data.ids.length;
    this.links = joined(decodedNumbers(data.intra), this.size);
    this.unit = units(decodedNumbers(data.inter), this.size);
    this.members = new Groups(this.unit, Int32Array.from({ length: this.size }, (_, i) => i), this.size);
    this.totals = data.totals;
    this.whyNone = data.why_none ?? "";
    this.candidates = data.candidates ? new Candidates(data.candidates, this.size) : null;
  }

  layerOf(node) {
    let [low, high] = [0, this.layers.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.layerStart[middle] <= node) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  layerName(node) {
    return this.layers[this.layerOf(node)];
  }

  neighbours(node) {
    return this.links.of(node);
  }

  degree(node) {
    return this.links.of(node).length;
  }

  // How many neighbours a node has, also those that are left out of the data.
  total(node) {
    return this.totals?.[node] ?? this.degree(node);
  }

  // The nodes of its unit, itself among them, layer after layer.
  copies(node) {
    return this.members.of(this.unit[node]);
  }

  // The position of a node by its names; -1 if there is none.
  find(layer, id) {
    const number = this.layers.indexOf(layer);
    if (number < 0) return -1;
    const place = this.ids.indexOf(id, this.layerStart[number]);
    return place >= 0 && place < this.layerStart[number + 1] ? place : -1;
  }

  // Units that are next to both nodes, each by its node next to the first.
  sharedNeighbours(first, second) {
    const there = new Set(Array.from(this.neighbours(second), (node) => this.unit[node]));
    return Array.from(this.neighbours(first)).filter((node) => there.has(this.unit[node]));
  }
}

// Pairs that could be one unit, the most probable first, each with its reasons.
class Candidates {
  constructor(data, count) {
    this.least = data.least;
    this.leftOut = data.left_out;
    this.silence = data.silence;
    this.pairs = decodedNumbers(data.pairs);
    this.probability = decodedNumbers(data.probability);
    this.base = decodedNumbers(data.base);
    this.start = decodedNumbers(data.start);
    this.label = decodedNumbers(data.label);
    this.finding = decodedNumbers(data.finding);
    this.contribution = decodedNumbers(data.contribution);
    this.labels = data.labels;
    this.findings = data.findings;
    this.rows = new Groups(this.pairs, Int32Array.from(this.pairs, (_, i) => i >> 1), count);
  }

  // Candidates of some nodes (the copies of a unit): {row, own, other, probability}, the most probable first.
  ofNodes(nodes) {
    const found = [];
    for (const own of nodes) {
      for (const row of this.rows.of(own)) {
        const [first, second] = [this.pairs[2 * row], this.pairs[2 * row + 1]];
        found.push({ row, own, other: first === own ? second : first, probability: this.probability[row] });
      }
    }
    return found.sort((a, b) => a.row - b.row);
  }

  reasons(row) {
    const found = [];
    for (let i = this.start[row]; i < this.start[row + 1]; i += 1) {
      const [label, finding] = [this.labels[this.label[i]], this.findings[this.finding[i]]];
      found.push({ label, finding, contribution: this.contribution[i] });
    }
    return found;
  }
}
