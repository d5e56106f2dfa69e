import { texOf } from './typeset.js';

/**
 * Makes the content of `place` equal to that of `next`, and leaves alone what is equal already: text that a reader has
 * selected stays selected while more arrives after it.
 */
export function patch(place: Node, next: Node): void {
  const old = [...place.childNodes];
  const wanted = [...next.childNodes];
  for (const [index, child] of wanted.entries()) {
    const known = old[index];
    if (!known) place.appendChild(child);
    else if (!isUnchanged(known, child)) change(known, child);
  }
  for (const extra of old.slice(wanted.length)) extra.remove();
}

function isUnchanged(known: ChildNode, child: ChildNode): boolean {
  const tex = known instanceof Element ? texOf(known) : undefined;
  return tex === undefined ? known.isEqualNode(child) : tex === child.textContent;
}

function change(known: ChildNode, child: ChildNode): void {
  if (known instanceof Text && child instanceof Text) {
    if (child.data.startsWith(known.data)) known.appendData(child.data.slice(known.length));
    else known.data = child.data;
  } else if (hasSameFrame(known, child)) patch(known, child);
  else known.replaceWith(child);
}

/** True if two elements differ in their content only. */
function hasSameFrame(known: ChildNode, child: ChildNode): boolean {
  if (!(known instanceof Element && child instanceof Element) || texOf(known) !== undefined) return false;
  return known.nodeName === child.nodeName && attributesOf(known) === attributesOf(child);
}

function attributesOf(element: Element): string {
  return [...element.attributes].map(({ name, value }) => `${name}=${JSON.stringify(value)}`).join(' ');
}
