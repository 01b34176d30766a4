/**
 * Elements made of texts and other elements. There is no way in here to turn a text into markup: what a venue, a file or a
 * person wrote becomes a text node or an attribute of a fixed name, never more.
 */

const SVG = 'http://www.w3.org/2000/svg';

/** `element('a.link', { href: '/run' }, 'text', child)`. `on` holds listeners, `data` data attributes, `style` properties. */
export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  return filled(document.createElement(tag), classes, attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  return filled(document.createElementNS(SVG, tag), classes, attributes, children);
}

function filled(node, classes, { on = {}, data = {}, style = {}, ...attributes }, children) {
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

/** Texts, numbers, elements, lists of them; `undefined`, `null` and `false` are left out. */
export function append(node, children) {
  for (const child of [children].flat(Number.POSITIVE_INFINITY)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/** Puts these in the place of whatever is in `node`. Where somebody stands in it by keyboard, the focus stays in its place. */
export function replace(node, ...children) {
  const focused =
    node.contains(document.activeElement) && node !== document.activeElement ? document.activeElement : undefined;
  const at = focused === undefined ? -1 : focusables(node).indexOf(focused);
  node.replaceChildren();
  append(node, children);
  const next = at < 0 ? undefined : focusables(node)[at];
  if (next !== undefined && next.tagName === focused.tagName) next.focus({ preventScroll: true });
  return node;
}

function focusables(node) {
  return [...node.querySelectorAll('a[href], button, input, select, summary, [tabindex]')];
}

/** Says it to a screen reader. */
export function announce(text) {
  const announcer = document.getElementById('announcer');
  if (announcer !== null) announcer.textContent = text;
}

/** Whether a key that was pressed is meant for a field. */
export function isTyping(event) {
  const { target } = event;
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
  );
}
