"use strict";

// The data of a section, as Python gave them.
function pageData(anchor) {
  return JSON.parse(document.getElementById(`${anchor}-data`).textContent);
}

// Charts are drawn one after another, so that the page can be read meanwhile.
async function drawCharts() {
  for (const section of document.querySelectorAll("section")) {
    const places = section.querySelectorAll("[data-figure]");
    const figures = places.length ? pageData(section.id).figures : {};
    for (const place of places) await drawChart(place, figures[place.dataset.figure]).catch(console.error);
  }
  document.documentElement.dataset.charts = "drawn";
}

async function drawChart(place, { spec, rows, legendEntry }) {
  // As many entries of a legend beside each other as fit; names of rows may take two fifths of the width.
  const width = place.clientWidth;
  const legend = { ...spec.config.legend, columns: Math.max(1, Math.floor(width / legendEntry)) };
  const axisY = { labelLimit: Math.floor(0.4 * width) };
  spec = { ...spec, config: { ...spec.config, legend, axisY }, data: { values: rows } };
  await window.vegaEmbed(place, spec, { renderer: "svg", actions: false, tooltip: { theme: "custom" } });
}

drawCharts();
