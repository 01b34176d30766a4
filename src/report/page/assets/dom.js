/**
 * Makes elements of texts and other elements. Nothing here turns a text into markup: a text of a venue, a file or a person
 * becomes a text node or the value of a fixed attribute.
 */

const SVG = 'http://www.w3.org/2000/svg';

/** `element('a.link', { href: '/run' }, 'text', child)`. `on` holds listeners, `data` data attributes, `style` properties. */
export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  return fill(document.createElement(tag), classes, attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  return fill(document.createElementNS(SVG, tag), classes, attributes, children);
}

function fill(node, classes, { on = {}, data = {}, style = {}, ...attributes }, children) {
  if (classes.length > 0) node.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    node.setAttribute(name, value === true ? '' : String(value));
  }
  for (const [name, value] of Object.entries(data)) if (value !== undefined) node.dataset[name] = String(value);
  for (const [name, value] of Object.entries(style)) node.style.setProperty(name, String(value));
  for (const [event, listener] of Object.entries(on)) node.addEventListener(event, listener);
  append(node, children);
  return node;
}

/** Appends texts, numbers, elements and lists of them; leaves out `undefined`, `null` and `false`. */
export function append(node, children) {
  for (const child of [children].flat(Number.POSITIVE_INFINITY)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces the content of `node`. If the keyboard focus is inside, it stays at the same position. */
export function replace(node, ...children) {
  const focused =
    node.contains(document.activeElement) && node !== document.activeElement ? document.activeElement : undefined;
  const index = focused === undefined ? -1 : listFocusables(node).indexOf(focused);
  node.replaceChildren();
  append(node, children);
  const next = index < 0 ? undefined : listFocusables(node)[index];
  if (next !== undefined && next.tagName === focused.tagName) next.focus({ preventScroll: true });
  return node;
}

function listFocusables(node) {
  return [...node.querySelectorAll('a[href], button, input, select, summary, [tabindex]')];
}

/** Announces a text to screen readers. */
export function announce(text) {
  const announcer = document.getElementById('announcer');
  if (announcer !== null) announcer.textContent = text;
}

/** True if a pressed key goes to a field. */
export function isTyping(event) {
  const { target } = event;
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
  );
}
