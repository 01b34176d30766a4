/** The names that a runbook declares, and where each of them is used. */
import type { Span } from '../../base/diagnostic.ts';
import type { MapNode, Node, ScalarNode } from '../../runbook/document/document.ts';
import { type Analysis, listExpressionParts } from './analysis.ts';
import { listNames } from './expression-names.ts';
import { findVerb } from './grammar-at.ts';

export interface Declaration {
  readonly name: string;
  readonly kind: 'input' | 'feed' | 'let' | 'def' | 'var' | 'id' | 'each';
  /** The name in the text. */
  readonly span: Span;
  /** Where it is known, roughly: a file, a block, a loop. */
  readonly scope: Span;
  /** What the author says of it, for a reader. */
  readonly words: string;
}

const TOP = { inputs: 'input', feeds: 'feed', let: 'let', def: 'def', vars: 'var' } as const;

export function listDeclarations({ root, source }: Analysis): readonly Declaration[] {
  const found: Declaration[] = [];
  if (root?.kind !== 'map') return found;
  for (const [block, kind] of Object.entries(TOP)) {
    const map = root.get(block);
    for (const { key, keySpan, value, span } of map?.kind === 'map' ? map.entries : [])
      found.push({
        name: key,
        kind,
        span: keySpan,
        scope: root.span,
        words: describe(value, kind, source.text.slice(span.start, span.end)),
      });
  }
  const visit = (node: Node, block: Span): void => {
    if (node.kind === 'list') for (const item of node.items) visit(item, node.span);
    if (node.kind !== 'map') return;
    declareStep(node, block, root.span, found);
    for (const { value } of node.entries) visit(value, block);
  };
  for (const key of ['steps', 'on_error', 'finally']) {
    const steps = root.get(key);
    if (steps !== undefined) visit(steps, steps.span);
  }
  return found;
}

function declareStep(node: MapNode, block: Span, file: Span, found: Declaration[]): void {
  const verb = findVerb(node);
  const id = node.get('id');
  if (id?.kind === 'scalar')
    found.push({
      name: id.text,
      kind: 'id',
      span: innerSpan(id),
      scope: file,
      words: verb === undefined ? 'a step' : `what the step \`${verb}\` yields`,
    });
  const lets = node.get('let');
  for (const { key, keySpan } of lets?.kind === 'map' ? lets.entries : [])
    found.push({ name: key, kind: 'let', span: keySpan, scope: block, words: 'a value of this block' });
  for (const loop of ['for_each', 'parallel']) {
    const inner = node.get(loop);
    if (inner?.kind !== 'map') continue;
    for (const key of ['each', 'at']) {
      const name = inner.get(key);
      if (name?.kind === 'scalar')
        found.push({
          name: name.text,
          kind: 'each',
          span: innerSpan(name),
          scope: node.span,
          words: 'the item of this round',
        });
    }
  }
}

function describe(value: Node, kind: string, text: string): string {
  const about = value.kind === 'map' ? value.get('about') : undefined;
  const said = about?.kind === 'scalar' ? about.text : '';
  const shown = text.includes('\n') ? '' : `\`${text.slice(0, 160)}\``;
  return [kind, said, shown].filter((each) => each !== '').join(' · ');
}

/** A place at which a name is used, or declared. */
interface Use {
  readonly name: string;
  readonly kinds: readonly Declaration['kind'][];
  readonly span: Span;
}

function listUses(analysis: Analysis): readonly Use[] {
  const found = new Map<number, Use>();
  const add = (use: Use) => found.set(use.span.start, use);
  for (const use of analysis.uses) {
    for (const { from, to } of listExpressionParts(use)) {
      const tokens = listNames(use.node.text.slice(from, to));
      for (const { path, name, from: start, to: end } of tokens) {
        const span = { start: use.node.offset(from + start), end: use.node.offset(from + end) };
        const [first] = path;
        if (path.length === 1) add({ name, kinds: ['let', 'def', 'var', 'id', 'each'], span });
        else if (path.length === 2 && first === 'inputs') add({ name, kinds: ['input'], span });
        else if (path.length === 2 && first === 'feeds') add({ name, kinds: ['feed'], span });
      }
    }
  }
  const visit = (node: Node): void => {
    if (node.kind === 'list') node.items.forEach(visit);
    if (node.kind !== 'map') return;
    for (const { key, value } of node.entries) {
      if (key === 'set' && value.kind === 'map')
        for (const each of value.entries) add({ name: each.key, kinds: ['var'], span: each.keySpan });
      if (key === 'release_after' && value.kind === 'scalar')
        add({ name: value.text, kinds: ['id'], span: innerSpan(value) });
      if (key === 'schedule') listScheduleInputs(value).forEach(add);
      visit(value);
    }
  };
  if (analysis.root !== undefined) visit(analysis.root);
  return [...found.values()];
}

function listScheduleInputs(node: Node): readonly Use[] {
  const entries = node.kind === 'list' ? node.items : [node];
  return entries.flatMap((entry) => {
    const inputs = entry.kind === 'map' ? entry.get('inputs') : undefined;
    return inputs?.kind === 'map'
      ? inputs.entries.map(({ key, keySpan }): Use => ({ name: key, kinds: ['input'], span: keySpan }))
      : [];
  });
}

export interface NamedPlace {
  readonly declaration: Declaration;
  /** Where it is used, the declaration not among them, in the order of the text. */
  readonly uses: readonly Span[];
  /** The place that was asked about. */
  readonly span: Span;
}

/** The name at an offset, with its declaration and all its uses. */
export function findSymbol(analysis: Analysis, offset: number): NamedPlace | undefined {
  const declarations = listDeclarations(analysis);
  const uses = listUses(analysis);
  const here = ({ span }: { readonly span: Span }) => span.start <= offset && offset <= span.end;
  const asked = declarations.find(here) ?? uses.find(here);
  if (asked === undefined) return undefined;
  const declaration = 'scope' in asked ? asked : resolve(declarations, asked);
  if (declaration === undefined) return undefined;
  const own = uses.filter(
    (use) => resolve(declarations, use) === declaration && use.span.start !== declaration.span.start,
  );
  return { declaration, uses: own.map(({ span }) => span).sort((a, b) => a.start - b.start), span: asked.span };
}

/** Of declarations of one name, that of the innermost block around the use. */
function resolve(declarations: readonly Declaration[], { name, kinds, span }: Use): Declaration | undefined {
  return declarations
    .filter((each) => each.name === name && kinds.includes(each.kind))
    .filter(({ scope }) => scope.start <= span.start && span.end <= scope.end)
    .sort((a, b) => a.scope.end - a.scope.start - (b.scope.end - b.scope.start))[0];
}

/** A name without its quotes. */
function innerSpan(node: ScalarNode): Span {
  return { start: node.offset(0), end: node.offset(node.text.length) };
}
