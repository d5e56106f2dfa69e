/** Reads what `store` wrote; null when there is nothing, or when the browser keeps nothing. */
export function readStored<Value>(key: string): Value | null {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') as Value | null;
  } catch {
    return null;
  }
}

/** Keeps a value in this browser, as far as it allows that. */
export function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Private windows and full storages keep nothing: the value then lives as long as the page.
  }
}
