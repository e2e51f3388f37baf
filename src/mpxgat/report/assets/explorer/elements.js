// Elements of the page. Ids of nodes and names of layers only ever become text, never markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// Whole characters, so that an emoji is not cut in half.
function shortened(text, most) {
  if (text.length <= most) return text;
  const characters = Array.from(text);
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

// An id, or a layer's name, that keeps its direction of writing to itself; the full text in its title.
function name(text, most = 60) {
  const short = shortened(text, most);
  return html("bdi", { title: short === text ? null : text }, short);
}

// Words that stand back.
function quiet(tag, ...children) {
  return html(tag, { class: "ex-quiet" }, ...children);
}

function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function signed(value) {
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
}

// Four digits near 0 and 1, where two would say too much.
function chance(value) {
  const digits = value > 0.995 || value < 0.005 ? 4 : 2;
  return value.toFixed(digits);
}
