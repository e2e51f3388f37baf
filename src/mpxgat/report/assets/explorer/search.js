// Search by id: exact first, then those that begin with the text, then those that contain it.

const MOST_HITS = 20;

class Search {
  // Copies of a unit that have the same id are one entry: {node, id, copies}.
  constructor(network) {
    const known = new Map();
    this.entries = [];
    this.keys = [];
    for (let node = 0; node < network.size; node += 1) {
      const id = network.ids[node];
      const key = `${network.unit[node]} ${id}`;
      const entry = known.get(key);
      if (entry) {
        entry.copies += 1;
      } else {
        const made = { node, id, copies: 1 };
        known.set(key, made);
        this.entries.push(made);
        this.keys.push(id.toLowerCase());
      }
    }
  }

  // {hits, total}: the best entries, and how many there are in all.
  find(text) {
    const query = text.trim().toLowerCase();
    if (!query) return { hits: [], total: 0 };
    const [exact, begins, contains] = [[], [], []];
    let total = 0;
    for (let i = 0; i < this.keys.length; i += 1) {
      const place = this.keys[i].indexOf(query);
      if (place < 0) continue;
      total += 1;
      const list = place > 0 ? contains : this.keys[i].length === query.length ? exact : begins;
      if (list.length < MOST_HITS) list.push(this.entries[i]);
    }
    return { hits: [...exact, ...begins, ...contains].slice(0, MOST_HITS), total };
  }
}
