// The field to type in and the list of hits: arrows choose, Enter goes, Escape closes.

class SearchBox {
  constructor(network, search, go) {
    this.network = network;
    this.search = search;
    this.go = go;
    this.input = document.getElementById("ex-input");
    this.list = document.getElementById("ex-hits");
    this.status = document.getElementById("ex-found");
    this.hits = [];
    this.active = -1;
    this.input.addEventListener("input", () => this.show());
    this.input.addEventListener("focus", () => this.show());
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("blur", () => this.close());
    // Before the field loses the focus, which would close the list under the pointer.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const item = event.target.closest("[role=option]");
      if (item) this.take(Number(item.dataset.hit));
    });
  }

  show() {
    const { hits, total } = this.search.find(this.input.value);
    this.hits = hits;
    this.list.replaceChildren(...hits.map((hit, i) => this.item(hit, i)));
    this.list.hidden = !hits.length;
    this.input.setAttribute("aria-expanded", String(hits.length > 0));
    this.mark(-1);
    this.status.textContent = this.said(total);
  }

  said(total) {
    if (!this.input.value.trim()) return "";
    const all = total === 0 ? "No node has this in its id." : `${counted(total, "node")} found`;
    return total > this.hits.length ? `${all}, the first ${this.hits.length} are listed.` : total ? `${all}.` : all;
  }

  item(hit, i) {
    const layers = hit.copies > 1 ? counted(hit.copies, "layer") : shortened(this.network.layerName(hit.node), 40);
    const item = html("li", { role: "option", id: `ex-hit-${i}`, "aria-selected": "false" }, name(hit.id, 80), " ");
    item.append(quiet("span", layers));
    item.dataset.hit = i;
    return item;
  }

  mark(active) {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = active;
    const item = this.list.children[active];
    if (!item) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", item.id);
  }

  press(event) {
    if (event.key === "Escape") {
      if (this.list.hidden) this.input.value = "";
      this.close();
    } else if (event.key === "Enter" && this.hits.length) {
      this.take(Math.max(this.active, 0));
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (this.list.hidden) this.show();
      const count = this.hits.length;
      if (!count) return;
      const down = event.key === "ArrowDown";
      this.mark(down ? (this.active + 1) % count : (Math.max(this.active, 0) + count - 1) % count);
    } else {
      return;
    }
    event.preventDefault();
  }

  take(i) {
    const { node } = this.hits[i];
    this.input.value = "";
    this.status.textContent = "";
    this.close();
    this.go(node);
  }

  close() {
    this.list.hidden = true;
    this.hits = [];
    this.mark(-1);
    this.list.replaceChildren();
    this.input.setAttribute("aria-expanded", "false");
    if (!this.input.value) this.status.textContent = "";
  }
}
