/** Finds what the grammar allows at a path of a runbook: the fields of a map, or the shape of a value. */
import type { StepName } from '../../runbook/checked.ts';
import type { MapNode, Node } from '../../runbook/document/document.ts';
import { FILE, MODIFIERS } from '../../runbook/shape/grammar.ts';
import type { Field, Fields, Shape } from '../../runbook/shapes.ts';
import { getStepRow, type Modifier, STEP_NAMES } from '../../runbook/steps/steps.ts';

/** A key that may be written at a place. */
export interface KeyChoice {
  readonly key: string;
  readonly doc: string;
  readonly field?: Field;
  /** A key that says what the step does. */
  readonly verb?: true;
}

type At = { readonly shape: Shape; readonly node: Node | undefined; readonly field?: Field };

/** The shape of the value at a path; undefined where the grammar has none. */
export function findShape(root: Node, path: readonly (string | number)[]): At | undefined {
  let at: At | undefined = { shape: FILE, node: root };
  for (const part of path) {
    at = at && step(at, part);
    if (at === undefined) return undefined;
  }
  return at;
}

function step({ shape, node }: At, part: string | number): At | undefined {
  const inner =
    node?.kind === 'map' ? node.get(String(part)) : node?.kind === 'list' ? node.items[Number(part)] : undefined;
  const of = (next: Shape | undefined, field?: Field): At | undefined =>
    next === undefined ? undefined : { shape: next, node: inner, ...(field === undefined ? {} : { field }) };
  if (typeof part === 'number') {
    const list = resolveList(shape);
    return of(list);
  }
  if (shape.kind === 'steps' || shape.kind === 'step') {
    const field = findStepField(part, node);
    return field && of(field.shape, field);
  }
  if (shape.kind === 'names') return of(shape.of);
  const field = listFields(shape, node)[part];
  return field && of(field.shape, field);
}

function resolveList(shape: Shape): Shape | undefined {
  if (shape.kind === 'list') return shape.of;
  if (shape.kind === 'steps') return { kind: 'step' };
  return shape.kind === 'choice' && shape.list !== undefined ? resolveList(shape.list) : undefined;
}

/** The fields of a map of this shape, by the keys that are written already. */
function listFields(shape: Shape, node: Node | undefined): Fields {
  switch (shape.kind) {
    case 'fields':
      return shape.fields;
    case 'variants': {
      const by = node?.kind === 'map' ? node.get(shape.by) : undefined;
      const chosen =
        by?.kind === 'scalar' && Object.hasOwn(shape.variants, by.text) ? shape.variants[by.text] : undefined;
      if (chosen !== undefined) return chosen.fields;
      const all = Object.values(shape.variants).map(({ fields }) => fields);
      const word: Field = {
        shape: { kind: 'word', values: Object.keys(shape.variants) },
        required: true,
        doc: all[0]?.[shape.by]?.doc ?? '',
      };
      return { ...Object.assign({}, ...all), [shape.by]: word };
    }
    case 'choice': {
      const maps = shape.maps ?? [];
      const chosen = maps.filter(({ by }) => node?.kind === 'map' && node.get(by) !== undefined);
      return Object.assign({}, ...(chosen.length > 0 ? chosen : maps).map((each) => listFields(each.shape, node)));
    }
    default:
      return {};
  }
}

function isStepName(key: string): key is StepName {
  return (STEP_NAMES as readonly string[]).includes(key);
}

function findStepField(key: string, node: Node | undefined): Field | undefined {
  const verb = findVerb(node);
  const modifier = Object.hasOwn(MODIFIERS, key) ? (MODIFIERS[key as Modifier] as Field) : undefined;
  if (isStepName(key) && (modifier === undefined || verb === key)) {
    const { takes, summary } = getStepRow(key);
    return { shape: takes, required: true, doc: summary };
  }
  return modifier ?? findBeside(node, key);
}

/** The keys beside the name of a step, such as `do` and `else` of `if`; of all such steps where none is written yet. */
function listBeside(node: Node | undefined): Fields {
  const names = STEP_NAMES.filter((name) => node?.kind === 'map' && node.get(name) !== undefined);
  return Object.assign({}, ...names.map((name) => getStepRow(name).beside ?? {}));
}

function findBeside(node: Node | undefined, key: string): Field | undefined {
  const fields = listBeside(node);
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

/** The key of a step that says what it does. */
export function findVerb(node: Node | undefined): StepName | undefined {
  if (node?.kind !== 'map') return undefined;
  return node.entries
    .map(({ key }) => key)
    .find((key): key is StepName => isStepName(key) && !Object.hasOwn(MODIFIERS, key));
}

/** The keys that may be written in the map at a path; those that are there already are left out, but for `own`. */
export function listKeys(root: Node, path: readonly (string | number)[], own: string): readonly KeyChoice[] {
  const at = findShape(root, path);
  if (at === undefined) return [];
  const written = new Set(at.node?.kind === 'map' ? (at.node as MapNode).entries.map(({ key }) => key) : []);
  written.delete(own);
  const choices =
    at.shape.kind === 'step' || at.shape.kind === 'steps'
      ? listStepKeys(at.node, own)
      : toChoices(listFields(at.shape, at.node));
  return choices.filter(({ key }) => !written.has(key));
}

function toChoices(fields: Fields): readonly KeyChoice[] {
  return Object.entries(fields).map(([key, field]) => ({ key, doc: field.doc, field }));
}

function listStepKeys(node: Node | undefined, own: string): readonly KeyChoice[] {
  const verb = findVerb(node);
  const named = verb !== undefined && verb !== own;
  const verbs: readonly KeyChoice[] = named
    ? []
    : STEP_NAMES.map((key) => ({ key, doc: getStepRow(key).summary, verb: true }));
  const allowed: readonly string[] = named ? getStepRow(verb).modifiers : Object.keys(MODIFIERS);
  const modifiers = toChoices(MODIFIERS).filter(
    ({ key }) => allowed.includes(key) && !verbs.some((each) => each.key === key),
  );
  return [...verbs, ...(named ? [] : toChoices(listBeside(node))), ...modifiers];
}
