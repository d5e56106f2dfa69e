import path from 'node:path';
import ts from 'typescript';

/** @typedef {import('./repository.mjs').Repository} Repository */
/** @typedef {{ file: string, line: number, name: string }} Gap */
/** @typedef {(file: string) => ts.SourceFile | null} Parse */

/**
 * Everything that a published package exports has a doc comment, and so has every member of it: properties, methods, and fields of
 * object types.
 *
 * Of members, only tags need none (their type is one literal), constructors, what `Symbol` names, and fields of an object type that is
 * written on one line, which the comment above describes.
 *
 * @type {import('./repository.mjs').Rule}
 */
export const exportedMembers = {
  name: 'exported-members',
  check(repository) {
    const parse = parserOf(repository);
    const findings = new Set();
    for (const entry of entriesOf(repository)) {
      for (const declaration of exportsOf(entry, parse, new Set()).values()) {
        for (const { file, line, name } of gapsOf(declaration)) {
          findings.add(`${file}:${line}: ${name} is exported and has no doc comment`);
        }
      }
    }
    return [...findings].sort();
  },
};

/** @param {Repository} repository @returns {Parse} */
function parserOf(repository) {
  const known = new Set(repository.files);
  /** @type {Map<string, ts.SourceFile>} */
  const parsed = new Map();
  return (file) => {
    if (!known.has(file)) return null;
    const source =
      parsed.get(file) ?? ts.createSourceFile(file, repository.text(file), ts.ScriptTarget.Latest, true);
    parsed.set(file, source);
    return source;
  };
}

/** The sources that `exports` of published packages name. @param {Repository} repository */
function entriesOf(repository) {
  return repository.files.flatMap((file) => {
    if (!/^packages\/[^/]+\/package\.json$/.test(file)) return [];
    const manifest = JSON.parse(repository.text(file));
    if (manifest.private === true) return [];
    const built = JSON.stringify(manifest.exports ?? {}).matchAll(/"\.\/dist\/([\w/-]+)\.js"/g);
    return [...built].map(([, name]) => sourceOf(repository, `${path.posix.dirname(file)}/src/${name}`));
  });
}

/** An entry of a build is a file, or the index of a folder. @param {Repository} repository @param {string} name */
function sourceOf(repository, name) {
  return repository.files.includes(`${name}.ts`) ? `${name}.ts` : `${name}/index.ts`;
}

/**
 * The declarations of the exported names of a file. What comes from other packages is theirs to document.
 *
 * @param {string} file
 * @param {Parse} parse
 * @param {Set<string>} visited
 * @returns {Map<string, ts.Node>}
 */
function exportsOf(file, parse, visited) {
  /** @type {Map<string, ts.Node>} */
  const found = new Map();
  const source = parse(file);
  if (source === null || visited.has(file)) return found;
  const seen = new Set([...visited, file]);
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement)) {
      if (!statement.moduleSpecifier) continue;
      const specifier = /** @type {ts.StringLiteral} */ (statement.moduleSpecifier).text;
      if (!specifier.startsWith('.')) continue;
      const target = path.posix.join(path.posix.dirname(file), specifier.replace(/\.js$/, '.ts'));
      const theirs = exportsOf(target, parse, seen);
      const clause = statement.exportClause;
      if (clause === undefined) for (const [name, node] of theirs) found.set(name, node);
      else if (ts.isNamedExports(clause)) {
        for (const { name, propertyName } of clause.elements) {
          const node = theirs.get((propertyName ?? name).text);
          if (node) found.set(name.text, node);
        }
      }
      continue;
    }
    if (!ts.canHaveModifiers(statement)) continue;
    if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
    if (ts.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations) found.set(name.getText(), statement);
    } else {
      const name = /** @type {ts.DeclarationStatement} */ (statement).name?.getText() ?? 'default';
      // Overloads share the comment of the first.
      if (!found.has(name)) found.set(name, statement);
    }
  }
  return found;
}

/** @param {ts.Node} declaration @returns {Gap[]} */
function gapsOf(declaration) {
  const name = nameOf(declaration);
  const gaps = isDocumented(declaration) ? [] : [gapAt(declaration, name)];
  if (ts.isInterfaceDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
    gaps.push(...memberGaps(declaration.members, name));
  } else if (ts.isTypeAliasDeclaration(declaration)) gaps.push(...typeGaps(declaration.type, name));
  return gaps;
}

/** @param {ts.Node | undefined} type @param {string} owner @returns {Gap[]} */
function typeGaps(type, owner) {
  if (type === undefined) return [];
  if (ts.isTypeLiteralNode(type)) return type.getText().includes('\n') ? memberGaps(type.members, owner) : [];
  if (ts.isUnionTypeNode(type) || ts.isIntersectionTypeNode(type))
    return type.types.flatMap((part) => typeGaps(part, owner));
  if (ts.isParenthesizedTypeNode(type) || ts.isTypeOperatorNode(type)) return typeGaps(type.type, owner);
  if (ts.isArrayTypeNode(type)) return typeGaps(type.elementType, owner);
  return [];
}

/** @param {ts.NodeArray<ts.TypeElement | ts.ClassElement>} members @param {string} owner @returns {Gap[]} */
function memberGaps(members, owner) {
  const documented = new Set();
  return members.flatMap((member) => {
    if (isHidden(member) || isTag(member)) return [];
    const name = `${owner}.${nameOf(member)}`;
    const isFirst = !documented.has(name);
    documented.add(name);
    const own = isFirst && !isDocumented(member) ? [gapAt(member, name)] : [];
    return ts.isPropertySignature(member) ? [...own, ...typeGaps(member.type, name)] : own;
  });
}

/** @param {ts.TypeElement | ts.ClassElement} member */
function isHidden(member) {
  if (ts.isConstructorDeclaration(member) || ts.isClassStaticBlockDeclaration(member)) return true;
  if (ts.isIndexSignatureDeclaration(member) || ts.isCallSignatureDeclaration(member)) return true;
  const { name } = member;
  if (name && (ts.isPrivateIdentifier(name) || ts.isComputedPropertyName(name))) return true;
  const modifiers = ts.canHaveModifiers(member) ? (ts.getModifiers(member) ?? []) : [];
  const hiding = [
    ts.SyntaxKind.PrivateKeyword,
    ts.SyntaxKind.ProtectedKeyword,
    ts.SyntaxKind.OverrideKeyword,
  ];
  return modifiers.some(({ kind }) => hiding.includes(kind));
}

/** A property whose type or value is one literal. @param {ts.TypeElement | ts.ClassElement} member */
function isTag(member) {
  if (ts.isPropertySignature(member)) return member.type !== undefined && ts.isLiteralTypeNode(member.type);
  return (
    ts.isPropertyDeclaration(member) &&
    member.initializer !== undefined &&
    ts.isStringLiteral(member.initializer)
  );
}

/** @param {ts.Node} node */
function isDocumented(node) {
  return ts.getJSDocCommentsAndTags(node).some((part) => ts.isJSDoc(part));
}

/** @param {ts.Node} node @returns {string} */
function nameOf(node) {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations[0]?.name.getText() ?? '';
  return /** @type {ts.NamedDeclaration} */ (node).name?.getText() ?? 'default';
}

/** @param {ts.Node} node @param {string} name @returns {Gap} */
function gapAt(node, name) {
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart());
  return { file: source.fileName, line: line + 1, name };
}
