import { BLOCK_TOKENS } from '@markbase/metal-runtime';
import type { BlockPool } from './block-pool.js';
import type { PositionKey, PromptRows } from './prompt.js';

/** Positions of one block as a prompt describes them. */
export interface BlockContent {
  readonly keys: readonly PositionKey[];
  readonly visibleEnds: readonly number[];
  /** Number of leading positions that hold the bits that a prompt would compute. */
  readonly exactCount: number;
}

/** A known prefix: the content of its last block, after the prefix of its parent. Roots have no content. */
export interface PrefixNode extends BlockContent {
  readonly parent: PrefixNode | null;
  /** Number of blocks before this one. */
  readonly depth: number;
  readonly children: Map<string, PrefixNode>;
  /** Blocks of full and sliding layers; null if a sliding block was given up. */
  readonly full: number;
  sliding: number | null;
  lastUse: number;
  /** False once it was given up: its blocks then hold something else. */
  isKnown: boolean;
}

/**
 * Known prefixes, whatever sequence computed them: each node keeps one block of keys and values. A node is found by
 * the hash of its tokens and media, so two prefixes with the same beginning share its nodes.
 */
export class PrefixTree {
  readonly #pools: readonly [BlockPool, BlockPool];
  readonly #roots = new Map<string, PrefixNode>();
  #clock = 0;

  constructor(pools: readonly [BlockPool, BlockPool]) {
    this.#pools = pools;
  }

  /** The empty prefix. `salt`: what else the contents depend on, such as an adapter. */
  root(salt: string): PrefixNode {
    let root = this.#roots.get(salt);
    if (!root) {
      const empty = { keys: [], visibleEnds: [], exactCount: BLOCK_TOKENS };
      const blocks = { full: -1, sliding: null, lastUse: 0, isKnown: true };
      root = { ...empty, ...blocks, parent: null, depth: -1, children: new Map() };
      this.#roots.set(salt, root);
    }
    return root;
  }

  /** The salt of an empty prefix. */
  saltOf(root: PrefixNode): string {
    return [...this.#roots].find(([, other]) => other === root)![0];
  }

  /**
   * Adds a prefix with the blocks that hold its last positions, which its sequence goes on to hold. Returns the node
   * with this content: a known one, if there is one.
   */
  add(parent: PrefixNode, content: BlockContent, full: number, sliding: number | null): PrefixNode {
    const name = nameOf(content);
    const known = parent.children.get(name);
    if (known) {
      this.use(known);
      return known;
    }
    const depth = parent.depth + 1;
    const node = { ...content, parent, depth, children: new Map(), full, sliding, lastUse: 0, isKnown: true };
    parent.children.set(name, node);
    this.#pools[0].keep(full);
    if (sliding !== null) this.#pools[1].keep(sliding);
    this.use(node);
    return node;
  }

  /** The child with the whole block `content`; preferably one that holds the bits that a prompt would compute. */
  child(node: PrefixNode, content: BlockContent, isExact: boolean): PrefixNode | undefined {
    const exact = node.children.get(nameOf({ ...content, exactCount: content.keys.length }));
    return exact ?? (isExact ? undefined : node.children.get(nameOf({ ...content, exactCount: 0 })));
  }

  /**
   * The child that shares the most positions with the beginning of `content`, and their number; of several ones, one
   * that ends with them.
   */
  closest(
    node: PrefixNode,
    content: BlockContent,
    isExact: boolean,
  ): { child: PrefixNode; count: number } | null {
    let best: PrefixNode | null = null;
    let most = 0;
    for (const child of node.children.values()) {
      const limit = Math.min(isExact ? child.exactCount : child.keys.length, content.keys.length);
      let count = 0;
      while (
        count < limit &&
        child.keys[count] === content.keys[count] &&
        child.visibleEnds[count] === content.visibleEnds[count]
      ) {
        count++;
      }
      if (count < most || count === 0 || (count === most && count < child.keys.length)) continue;
      best = child;
      most = count;
    }
    return best && { child: best, count: most };
  }

  /** Marks a prefix as used now. */
  use(node: PrefixNode): void {
    const now = ++this.#clock;
    for (let at: PrefixNode | null = node; at; at = at.parent) at.lastUse = now;
  }

  /** Removes a prefix that no other one begins with. */
  remove(node: PrefixNode): void {
    node.parent?.children.delete(nameOf(node));
    node.isKnown = false;
    this.#pools[0].forget(node.full);
    if (node.sliding !== null) this.#pools[1].forget(node.sliding);
  }

  /**
   * Gives up the least recently used prefixes until `count` blocks of each kind are free, as far as possible; and some
   * more, so that not every step has to look for them.
   */
  evict(count: number): void {
    const [full, sliding] = this.#pools.map((pool) => {
      return { pool, wanted: pool.freeCount < count ? count + Math.ceil(pool.size / 64) : 0 };
    }) as [Wanted, Wanted];
    // Later nodes of a chain come first, because only they can be removed.
    for (const node of this.#nodes().sort((a, b) => a.lastUse - b.lastUse || b.depth - a.depth)) {
      const needsFull = full.pool.freeCount < full.wanted;
      const needsSliding = sliding.pool.freeCount < sliding.wanted;
      if (!needsFull && !needsSliding) return;
      if (needsFull && node.children.size === 0 && full.pool.isIdle(node.full)) this.remove(node);
      else if (needsSliding && node.sliding !== null && sliding.pool.isIdle(node.sliding)) {
        sliding.pool.forget(node.sliding);
        node.sliding = null;
      }
    }
  }

  #nodes(): PrefixNode[] {
    const nodes: PrefixNode[] = [];
    const waiting = [...this.#roots.values()];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      if (next.parent) nodes.push(next);
      waiting.push(...next.children.values());
    }
    return nodes;
  }
}

/** Blocks of a kind, and the number that should be free. */
interface Wanted {
  readonly pool: BlockPool;
  readonly wanted: number;
}

/** What positions [begin, end) of a prompt hold once they are computed. */
export function contentOf(rows: PromptRows, begin: number, end: number): BlockContent {
  const keys = rows.keys.slice(begin, end);
  return { keys, visibleEnds: [...rows.visibleEnd.subarray(begin, end)], exactCount: keys.length };
}

/** Equal for equal contents; contents that only a prompt would compute have other names than others. */
export function nameOf({ keys, visibleEnds, exactCount }: BlockContent): string {
  const first = visibleEnds[0]!;
  // Without images, each position sees itself: the first end says it all.
  const isPlain = visibleEnds.every((end, index) => end === first + index);
  const ends = isPlain ? first : visibleEnds.join(' ');
  return `${exactCount === keys.length ? '' : '~'}${keys.join(' ')}|${ends}`;
}
