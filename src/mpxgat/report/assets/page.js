"use strict";

// The data of a section, as its fragment gave them.
function pageData(anchor) {
  return JSON.parse(document.getElementById(`${anchor}-data`).textContent);
}

// Charts are drawn one after another, so that the page can be read meanwhile.
let charts = Promise.resolve();

// Draw the charts of a section: elements with data-figure, each named in the section's data.
function drawCharts(anchor) {
  const figures = pageData(anchor).figures;
  for (const place of document.querySelectorAll(`#${anchor} [data-figure]`)) {
    charts = charts.then(() => drawChart(place, figures[place.dataset.figure]));
  }
  charts.then(() => { document.documentElement.dataset.charts = "drawn"; });
}

async function drawChart(place, { spec, rows, legendEntry }) {
  // As many entries of a legend beside each other as fit.
  const columns = Math.max(1, Math.floor(place.clientWidth / legendEntry));
  const legend = { ...spec.config.legend, columns };
  spec = { ...spec, config: { ...spec.config, legend }, data: { values: rows } };
  await window.vegaEmbed(place, spec, { renderer: "svg", actions: false, tooltip: { theme: "custom" } });
}
