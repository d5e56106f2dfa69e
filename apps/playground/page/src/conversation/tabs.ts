/** What one tab tells the others. */
export type TabNews =
  /** A conversation was stored, deleted or restored. */
  | { readonly type: 'changed'; readonly id: string }
  /** The answer in a conversation should stop, wherever it arrives. */
  | { readonly type: 'stop'; readonly id: string };

const channel = new BroadcastChannel('markbase');
const LOCK = 'markbase-';

const listeners = new Set<(news: TabNews) => void>();

channel.addEventListener('message', ({ data }) => hear(data as TabNews));

/** Tells the other tabs of this browser; a request to stop is also for this one. */
export function tellTabs(news: TabNews): void {
  channel.postMessage(news);
  if (news.type === 'stop') hear(news);
}

/** Listens to the other tabs. */
export function onTabNews(listener: (news: TabNews) => void): void {
  listeners.add(listener);
}

function hear(news: TabNews): void {
  for (const listener of listeners) listener(news);
}

/** Shows other tabs that something is in use here, for as long as the work takes or until this tab is closed. */
export async function hold<Value>(id: string, work: () => Promise<Value>): Promise<Value> {
  // Locks need a secure context.
  if (!navigator.locks) return work();
  return (await navigator.locks.request(LOCK + id, work)) as Value;
}

/** Ids that are in use in any tab. */
export async function heldIds(): Promise<ReadonlySet<string>> {
  const { held = [] } = (await navigator.locks?.query()) ?? {};
  return new Set(held.map(({ name = '' }) => name.slice(LOCK.length)));
}
