import { typesetter } from './libraries.js';

const texts = new WeakMap<Element, string>();

/** The LaTeX of a formula that has been set; undefined for any other element. */
export function texOf(element: Element): string | undefined {
  return texts.get(element);
}

/** Sets the formulas inside an element, or starts to load what is needed for that. */
export function typeset(place: Element): void {
  for (const element of place.querySelectorAll<HTMLElement>('.math')) {
    if (texts.has(element)) continue;
    const library = typesetter.request();
    if (!library) return;
    const tex = element.textContent;
    texts.set(element, tex);
    const isDisplay = element.classList.contains('display');
    try {
      // Limits against formulas that are made to take forever or to cover the page; links are not followed.
      library.render(tex, element, {
        displayMode: isDisplay,
        strict: false,
        trust: false,
        maxExpand: 1000,
        maxSize: 20,
      });
    } catch {
      // Not LaTeX that it knows: the reader sees what the model wrote.
      element.textContent = tex;
    }
    if (isDisplay && element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  }
}
