import type { Node } from '../graph.js';
import type { MergeRule } from './merge.js';

/** Maximum number of embeddings, and of rope tables, in one launch. */
const MOST_OF_KIND = 2;

/** Embeddings and rope tables of all rows, which depend on nothing: several of them begin the step in one launch. */
export const beginStep: MergeRule = {
  name: 'begin-step',
  isAtOnce: true,
  place: 'begin',
  *find({ nodes, values }, uses) {
    const sources = nodes.filter(
      (node) =>
        (node.kind === 'embed' && (node.soft === null || uses.producer(node.soft) === null)) ||
        (node.kind === 'ropeTable' && values[node.y]!.rows === 'T'),
    );
    const embeds = sources.filter(({ kind }) => kind === 'embed');
    const tables = sources.filter(({ kind }) => kind === 'ropeTable');
    for (let begin = 0; begin < sources.length; begin += MOST_OF_KIND) {
      const of = (kind: readonly Node[]) => kind.slice(begin, begin + MOST_OF_KIND);
      const parts = new Set([...of(embeds), ...of(tables)]);
      if (parts.size > 1) yield sources.filter((node) => parts.has(node));
    }
  },
};
