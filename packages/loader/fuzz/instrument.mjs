// Translates TypeScript to JavaScript and counts, in `globalThis.__branches`, every branch that is taken.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

const MAX_BRANCHES = 65_536;

/**
 * Writes `entry` and all files that it imports by relative paths below `target`, with the same folders.
 *
 * @param {string} root folder that contains all files
 * @param {string} entry TypeScript file
 * @param {string} target folder to write to
 * @param {(path: string) => boolean} isCounted files in which branches are counted
 * @returns {{ branchCount: number, entry: string }} number of counters, and the JavaScript file of the entry
 */
export function instrument(root, entry, target, isCounted) {
  const pending = [resolve(entry)];
  const done = new Set(pending);
  let branchCount = 0;
  const outputOf = (path) => join(target, relative(root, path)).replace(/\.ts$/, '.js');
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const text = readFileSync(path, 'utf8');
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      if (!fileName.startsWith('.')) continue;
      const imported = resolve(dirname(path), fileName.replace(/\.js$/, '.ts'));
      if (!done.has(imported)) pending.push(imported);
      done.add(imported);
    }
    const count = () => branchCount++;
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: { target: 'ES2022', module: 'ESNext', verbatimModuleSyntax: true },
      transformers: { before: isCounted(path) ? [countBranches(count)] : [] },
    });
    mkdirSync(dirname(outputOf(path)), { recursive: true });
    // Module code runs before counters could be passed in, so the first module creates them.
    writeFileSync(outputOf(path), `globalThis.__branches ??= new Uint8Array(${MAX_BRANCHES});${outputText}`);
  }
  return { branchCount, entry: outputOf(resolve(entry)) };
}

/** A transformer that inserts counters into blocks, cases, and conditionally evaluated parts of expressions. */
function countBranches(count) {
  return (context) => {
    const { factory } = context;
    const counter = () =>
      factory.createPostfixIncrement(
        factory.createElementAccessExpression(factory.createIdentifier('globalThis.__branches'), count()),
      );
    const counted = (expression) =>
      factory.createParenthesizedExpression(factory.createComma(counter(), expression));
    const statement = () => factory.createExpressionStatement(counter());
    const braced = (node) =>
      node === undefined || ts.isBlock(node) ? node : factory.createBlock([statement(), node]);
    const visit = (node) => {
      const inner = ts.visitEachChild(node, visit, context);
      if (ts.isBlock(inner)) return factory.updateBlock(inner, [statement(), ...inner.statements]);
      if (ts.isCaseClause(inner)) {
        return factory.updateCaseClause(inner, inner.expression, [statement(), ...inner.statements]);
      }
      if (ts.isDefaultClause(inner))
        return factory.updateDefaultClause(inner, [statement(), ...inner.statements]);
      if (ts.isIfStatement(inner)) {
        const { expression, thenStatement, elseStatement } = inner;
        return factory.updateIfStatement(inner, expression, braced(thenStatement), braced(elseStatement));
      }
      if (ts.isWhileStatement(inner)) {
        return factory.updateWhileStatement(inner, inner.expression, braced(inner.statement));
      }
      if (ts.isConditionalExpression(inner)) {
        const { condition, questionToken, whenTrue, colonToken, whenFalse } = inner;
        return factory.updateConditionalExpression(
          inner,
          condition,
          questionToken,
          counted(whenTrue),
          colonToken,
          counted(whenFalse),
        );
      }
      if (ts.isArrowFunction(inner) && !ts.isBlock(inner.body)) {
        const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken, body } = inner;
        const arrow = [modifiers, typeParameters, parameters, type, equalsGreaterThanToken, counted(body)];
        return factory.updateArrowFunction(inner, ...arrow);
      }
      const logical = [ts.SyntaxKind.AmpersandAmpersandToken, ts.SyntaxKind.BarBarToken];
      logical.push(ts.SyntaxKind.QuestionQuestionToken);
      if (ts.isBinaryExpression(inner) && logical.includes(inner.operatorToken.kind)) {
        return factory.updateBinaryExpression(inner, inner.left, inner.operatorToken, counted(inner.right));
      }
      return inner;
    };
    return (file) => ts.visitEachChild(file, visit, context);
  };
}
