/**
 * Makes elements. Names, titles and links come from strangers: names and titles become text and
 * never HTML, and a link is one only if it leads to the web.
 */

/** Makes an element with a class and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

/** Makes a button that is disabled while its action runs. */
export function button(name: string, text: string, act: () => Promise<void>): HTMLButtonElement {
  const made = element("button", name, text);
  made.addEventListener("click", () => {
    made.disabled = true;
    clearProblem();
    void act()
      .catch(showProblem)
      .finally(() => {
        made.disabled = false;
      });
  });
  return made;
}

/** Makes the texts between FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE `<bdi>` elements. */
export function isolated(sentence: string): (Node | string)[] {
  const parts = sentence.split(/[\u2068\u2069]/);
  return parts.map((part, i) => (i % 2 === 1 ? element("bdi", "", part) : part));
}

/** Makes a link of an http or https URL, or of a path of this site; of others only the content. */
export function linked(href: string, ...content: (Node | string)[]): HTMLElement {
  const url = href === "" ? null : URL.parse(href, location.origin);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    return element("span", "", ...content);
  }
  const link = element("a", "", ...content);
  link.href = url.href;
  link.rel = "noopener noreferrer nofollow";
  return link;
}

export function showProblem(error: unknown): void {
  byId("problem").textContent = String(error);
}

/** What has failed is shown until something succeeds or is tried again. */
export function clearProblem(): void {
  byId("problem").textContent = "";
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}
