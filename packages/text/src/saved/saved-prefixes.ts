import { DisposedError } from '@markbase/core';
import { BLOCK_TOKENS } from '@markbase/metal-runtime';
import { type BlockContent, contentOf, type PrefixNode } from '../engine/prefix-tree.js';
import { endOfImages, type PromptRows } from '../engine/prompt.js';
import type { SavedPrefixesOptions } from '../engine/text-model-options.js';
import { BlockFileReader, BlockFileWriter, type SavedBlock } from './block-file.js';
import type { BlockNames } from './block-names.js';
import type { WantedBlock } from './block-transfer.js';
import { type FolderBlock, PrefixFolder } from './prefix-folder.js';
import { firstSeen, namedNodes, type SavedCaches, type SavedCachesParts } from './saved-caches.js';

/** A block that continues a prompt: in the caches, in a file, or in both. */
interface Step {
  readonly content: BlockContent;
  readonly node: PrefixNode | undefined;
  readonly block: FolderBlock | undefined;
}

/** Files that are looked into for the best continuation within a block. */
const MOST_CANDIDATES = 8;

/**
 * Keeps known prefixes in files, so that another process finds them. They are written after the answer that they belong to,
 * one at a time, and never hold anything up; when nothing can be written, answers go on as before.
 */
export class SavedPrefixes {
  readonly #parts: SavedCachesParts;
  readonly #caches: SavedCaches;
  readonly #folder: PrefixFolder;
  readonly #warn: (message: string) => void;
  readonly #ready: Promise<BlockNames | null>;
  readonly #waiting = new Set<PrefixNode>();
  #saving: Promise<void> | null = null;
  /** Prompts look for their prefixes one after the other: the second of two equal ones finds what the first has read. */
  #loading: Promise<void> = Promise.resolve();

  constructor(parts: SavedCachesParts, caches: SavedCaches, options: SavedPrefixesOptions) {
    const { directory, maxBytes, onWarning = () => {} } = options;
    this.#parts = parts;
    this.#caches = caches;
    this.#folder = new PrefixFolder(directory, maxBytes, onWarning);
    this.#warn = onWarning;
    this.#ready = this.#open();
    parts.store.onGive = (node) => this.#enqueue(node);
  }

  /** Waits until everything that was released so far is on the disk. */
  async finish(): Promise<void> {
    await this.#ready;
    while (this.#saving) await this.#saving;
  }

  /** Brings what files have of a prompt into the caches, unless these hold as much of it. */
  load(rows: PromptRows, reuse: 'any' | 'exact', signal?: AbortSignal): Promise<void> {
    const loading = this.#loading.then(() => this.#load(rows, reuse === 'exact', signal));
    this.#loading = loading.catch(() => {});
    return loading;
  }

  async #open(): Promise<BlockNames | null> {
    try {
      const { identity, names } = await this.#caches.names();
      await this.#folder.open(identity);
      return names;
    } catch (error) {
      this.#warn(`prefixes are not kept in ${this.#folder.directory}: ${(error as Error).message}`);
      return null;
    }
  }

  async #load(rows: PromptRows, isExact: boolean, signal: AbortSignal | undefined): Promise<void> {
    const names = await this.#ready;
    if (!names || rows.begin > 0) return;
    const { store, transfer } = this.#parts;
    const readers = new Map<string, BlockFileReader>();
    const readerOf = async ({ file }: FolderBlock): Promise<BlockFileReader> => {
      const reader = readers.get(file.path) ?? (await BlockFileReader.open(file.path));
      readers.set(file.path, reader);
      return reader;
    };
    const failed: FolderBlock[] = [];
    const reading = async <Result>(block: FolderBlock, read: () => Promise<Result>): Promise<Result> => {
      try {
        return await read();
      } catch (error) {
        failed.push(block);
        throw error;
      }
    };
    try {
      const limit = rows.end - 1;
      const steps = this.#wholeSteps(rows, limit, isExact, names);
      const last = steps.at(-1);
      const name = last ? names.name(last.parent, last.content) : names.root(rows.salt ?? '');
      let length = steps.length * BLOCK_TOKENS;
      const rest = contentOf(rows, length, Math.min(limit, length + BLOCK_TOKENS));
      let best: { saved: SavedBlock; block: FolderBlock; count: number } | null = null;
      for (const block of this.#folder.childrenOf(name).slice(-MOST_CANDIDATES)) {
        const { index } = await reading(block, () => readerOf(block));
        const saved = index.blocks[block.index]!;
        const count = commonTokens(saved, rest, names, isExact);
        if (count > (best?.count ?? 0)) best = { saved, block, count };
      }
      const path: Step[] = [...steps];
      if (best) {
        const keys = names.keysOf(best.saved.keys)!;
        const { visibleEnds, exactCount } = best.saved;
        path.push({ content: { keys, visibleEnds, exactCount }, node: undefined, block: best.block });
        length += best.count;
      }
      length = this.#usableLength(rows, path, length);
      if (length <= store.known(rows, limit, isExact).length) return;
      const first = Math.floor(firstSeen(length, this.#parts.windowTokens) / BLOCK_TOKENS);
      const wanted = path
        .slice(0, Math.ceil(length / BLOCK_TOKENS))
        .map(({ content, block }, index): WantedBlock => {
          const needsSliding = index >= first;
          if (!block) return { content, needsSliding, read: null };
          const read = () =>
            reading(block, async () => {
              const reader = await readerOf(block);
              const { full, sliding } = reader.index.blocks[block.index]!;
              const isSeen = needsSliding && sliding !== null;
              return { full: await reader.read(full), sliding: isSeen ? await reader.read(sliding) : null };
            });
          return { content, needsSliding, read };
        });
      await transfer.restore(rows.salt ?? '', wanted, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (!failed[0]) throw error;
      this.#folder.reject(failed[0], error);
    } finally {
      for (const reader of readers.values()) await reader.close();
    }
  }

  /** The whole blocks of a prompt that are known, in the caches or in files. */
  #wholeSteps(
    rows: PromptRows,
    limit: number,
    isExact: boolean,
    names: BlockNames,
  ): (Step & { readonly parent: string })[] {
    const { store } = this.#parts;
    const steps: (Step & { readonly parent: string })[] = [];
    let node: PrefixNode | undefined = store.root(rows.salt ?? '');
    let parent = names.root(rows.salt ?? '');
    for (let begin = 0; begin + BLOCK_TOKENS <= limit; begin += BLOCK_TOKENS) {
      const whole = contentOf(rows, begin, begin + BLOCK_TOKENS);
      const found = (isExact ? [whole] : [whole, { ...whole, exactCount: 0 }])
        .map((content) => {
          const known: PrefixNode | undefined = node && store.child(node, content, content === whole);
          const name = names.name(parent, content);
          return { content, node: known, block: this.#folder.find(name), parent, name };
        })
        .find((step) => step.node || step.block);
      if (!found) break;
      const { name, ...step } = found;
      steps.push(step);
      node = step.node;
      parent = name;
    }
    return steps;
  }

  /** The length up to `length` that splits no image, and whose window is there. */
  #usableLength(rows: PromptRows, path: readonly Step[], length: number): number {
    for (let end = length; ; ) {
      end = endOfImages(rows, end);
      const first = Math.floor(firstSeen(end, this.#parts.windowTokens) / BLOCK_TOKENS);
      let gap = Math.ceil(end / BLOCK_TOKENS) - 1;
      while (gap >= first && hasSliding(path[gap]!)) gap--;
      if (gap < first) return end;
      end = gap * BLOCK_TOKENS;
    }
  }

  #enqueue(node: PrefixNode): void {
    if (node.parent === null) return;
    this.#waiting.add(node);
    this.#start();
  }

  #start(): void {
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = null;
      if (this.#waiting.size > 0) this.#start();
    });
  }

  async #saveAll(): Promise<void> {
    const names = await this.#ready;
    for (const node of this.#waiting) {
      this.#waiting.delete(node);
      if (!names) continue;
      try {
        await this.#save(node, names);
      } catch (error) {
        // The model was disposed: nothing is left to be saved.
        if (error instanceof DisposedError) return this.#waiting.clear();
        this.#warn(`a prefix was not saved: ${(error as Error).message}`);
      }
    }
  }

  async #save(node: PrefixNode, names: BlockNames): Promise<void> {
    const path: PrefixNode[] = [];
    let root = node;
    for (; root.parent; root = root.parent) path.unshift(root);
    // Positions that were skipped hold nothing.
    if (path.some(({ keys }) => keys.includes(-1))) return;
    const named = namedNodes(path, names, names.root(this.#parts.store.saltOf(root)));
    const known = named.flatMap(({ name }) => this.#folder.find(name) ?? []);
    await this.#folder.use(known);
    const missing = named.filter(({ name }) => !this.#folder.find(name));
    if (!missing.some(({ node: { keys } }) => keys.length === BLOCK_TOKENS)) return;
    if (!(await this.#folder.makeRoom(this.#parts.transfer.bytesOf(missing.map((item) => item.node)))))
      return;
    const { identity } = await this.#caches.names();
    const file = this.#folder.pathOf(missing.at(-1)!.name);
    const writer = await BlockFileWriter.create(file);
    try {
      const blocks = await this.#parts.transfer.write(missing, names, writer);
      if (blocks.length === 0) return await writer.abandon();
      this.#folder.added(file, await writer.finish({ identity, blocks }), blocks);
      await this.#folder.makeRoom(0);
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }
}

/** True if there are keys and values of sliding layers. */
function hasSliding({ node, block }: Step): boolean {
  return (node !== undefined && node.sliding !== null) || (block?.hasSliding ?? false);
}

/** Number of leading positions of a saved block that a prompt shares. */
function commonTokens(saved: SavedBlock, rest: BlockContent, names: BlockNames, isExact: boolean): number {
  const keys = names.keysOf(saved.keys);
  if (!keys) return 0;
  const limit = Math.min(rest.keys.length, isExact ? saved.exactCount : keys.length);
  let count = 0;
  while (
    count < limit &&
    keys[count] === rest.keys[count] &&
    saved.visibleEnds[count] === rest.visibleEnds[count]
  )
    count++;
  return count;
}
