/**
 * The second stage of the check: compares a document with the shape of a runbook. Walks the tree along the grammar of the
 * step table and reports each difference once, at its place and in the words of the language. The JSON Schema generated from
 * the same table must agree; check.ts verifies it.
 */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import { formatList } from '../../base/format.ts';
import { hintMeant } from '../../base/spelling.ts';
import { LIMIT_SETTINGS } from '../../venue/profile/settings.ts';
import type { StepName } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { adviseOnWord, suggestWord } from '../foreign-words.ts';
import type { Fields } from '../shapes.ts';
import { getStepRow, MODIFIER_NAMES, type Modifier, STEP_NAMES } from '../steps/steps.ts';
import { FILE, MODIFIERS } from './grammar.ts';
import { findFirstKey, type Owner, ShapeWalk } from './shape-walk.ts';
import { describeShape, quote } from './shape-words.ts';

interface Inspection {
  readonly diagnostics: readonly Diagnostic[];
  /** Values of the wrong shape: later checks skip them. */
  readonly faulty: ReadonlySet<Node>;
}

export function inspectShape(root: Node, source: SourceText): Inspection {
  const walk = new Walk(source);
  walk.checkFile(root);
  return walk;
}

/** The name of a step, such as `place`, if it has exactly one. */
export function stepNameOf(step: MapNode): StepName | undefined {
  const named = listNamed(step);
  return named.length === 1 ? (named[0]?.key as StepName) : undefined;
}

/** The keys that name a step. One that is a modifier too names it only with its own keys beside it: `if` with `do` or `else`. */
function listNamed({ entries }: MapNode): MapNode['entries'] {
  const named = entries.filter(({ key }) => isStepName(key));
  const others = named.filter(({ key }) => !isModifier(key));
  if (others.length > 0) return others;
  return named.filter((name) => entries.some(({ key }) => Object.hasOwn(getBeside(name.key as StepName), key)));
}

/** The keys that a step takes beside its name and its modifiers. */
function getBeside(stepName: StepName): Fields {
  return getStepRow(stepName).beside ?? {};
}

const STEP_NAME_SET: ReadonlySet<string> = new Set(STEP_NAMES);
function isStepName(key: string): key is StepName {
  return STEP_NAME_SET.has(key);
}
const MODIFIER_SET: ReadonlySet<string> = new Set(MODIFIER_NAMES);
function isModifier(key: string): key is Modifier {
  return MODIFIER_SET.has(key);
}

/** Whether a step has a field of this name, in any of its forms. */
function takesField(stepName: StepName, key: string): boolean {
  const { takes } = getStepRow(stepName);
  const forms =
    takes.kind === 'fields'
      ? [takes]
      : takes.kind === 'variants'
        ? Object.values(takes.variants)
        : takes.kind === 'choice'
          ? (takes.maps ?? []).flatMap(({ shape }) => (shape.kind === 'fields' ? [shape] : []))
          : [];
  return forms.some((form) => Object.hasOwn(form.fields, key));
}

/** Every key that a step may have. */
const ALL_KEYS = [...STEP_NAMES, ...MODIFIER_NAMES, ...STEP_NAMES.flatMap((name) => Object.keys(getBeside(name)))];

class Walk extends ShapeWalk implements Inspection {
  checkFile(root: Node): void {
    const dsl = root.kind === 'map' ? root.entry('dsl') : undefined;
    if (dsl?.value.kind === 'scalar' && dsl.value.type === 'number' && Number(dsl.value.text) > 1) {
      this.report(dsl.value, 'newer-dsl', `dsl ${dsl.value.text} is newer than this engine, which reads dsl 1`);
      this.faulty.add(root);
      return;
    }
    this.checkFields(root, FILE, { name: 'a runbook', span: findFirstKey(root) });
  }

  protected override checkSteps(node: Node, owner: Owner): undefined {
    if (node.kind !== 'list')
      return this.refuseType(
        node,
        owner,
        'a list of steps',
        node.kind === 'map' ? 'Begin each step with "- ".' : undefined,
      );
    for (const item of node.items) this.checkStep(item, { name: 'a step', span: findFirstKey(item) });
  }

  protected override checkStep(node: Node, owner: Owner): undefined {
    if (node.kind !== 'map')
      return this.refuseType(
        node,
        { ...owner, name: 'a step' },
        'the name of a step with its parameters',
        node.kind === 'scalar' && isStepName(node.text)
          ? `Write "- ${node.text}: {…}".`
          : 'Write "- STEP: …", such as "- read_account: {}".',
      );
    const named = listNamed(node);
    const stepName = named.length === 1 ? (named[0]?.key as StepName) : undefined;
    const beside = stepName === undefined ? {} : getBeside(stepName);
    const unknownEntries = node.entries.filter(
      ({ key }) => !isStepName(key) && !isModifier(key) && !Object.hasOwn(beside, key),
    );
    const beneath = this.findNotIndented(named[0], unknownEntries);
    for (const { key, keySpan } of unknownEntries)
      if (!beneath.includes(key)) this.reportUnknownStepKey(key, keySpan, named[0]?.key);
    if (named.length === 0 && unknownEntries.length === 0)
      this.report(findFirstKey(node), 'no-verb', 'this step does not say what it does');
    for (const entry of named.slice(1))
      this.report(
        entry.keySpan,
        'several-verbs',
        `a step does exactly one thing, found ${quote(named[0]?.key ?? '')} and ${quote(entry.key)}`,
      );
    if (stepName === undefined) this.faulty.add(node);
    for (const { key, keySpan, value } of named)
      this.checkShape(value, getStepRow(key as StepName).takes, { name: key, span: keySpan });
    if (stepName !== undefined) this.checkBeside(node, beside, { name: stepName, span: findFirstKey(node) });
    this.checkModifiers(node, stepName);
  }

  /** Reports, once, that the fields of a step are beside its name instead of below it. Returns their keys. */
  private findNotIndented(
    named: MapNode['entries'][number] | undefined,
    unknown: MapNode['entries'],
  ): readonly string[] {
    if (named?.value.kind !== 'scalar' || named.value.type !== 'null') return [];
    const fields = unknown.filter(({ key }) => takesField(named.key as StepName, key)).map(({ key }) => key);
    if (fields.length > 0)
      this.report(
        named.keySpan,
        'unknown-key',
        `${named.key} has nothing below it; ${formatList(fields.map(quote), 'and')} ${fields.length === 1 ? 'is' : 'are'} beside it`,
        `Indent what belongs to ${named.key} further than ${named.key}.`,
      );
    return fields;
  }

  private checkBeside(node: MapNode, beside: Fields, { name, span }: Owner): undefined {
    for (const { key, keySpan, value } of node.entries) {
      const field = Object.hasOwn(beside, key) ? beside[key] : undefined;
      if (field !== undefined) this.checkShape(value, field.shape, { name: `${key} of ${name}`, span: keySpan });
    }
    for (const [key, field] of Object.entries(beside))
      if (field.required && node.get(key) === undefined && !node.incomplete)
        this.report(
          span,
          'missing-key',
          `${name} needs ${quote(key)} beside it: ${field.doc}`,
          `Add ${key}: with ${describeShape(field.shape)}.`,
        );
  }

  private reportUnknownStepKey(key: string, span: Span, stepName: string | undefined): undefined {
    const inside = stepName !== undefined && takesField(stepName as StepName, key);
    const owner = STEP_NAMES.find((name) => Object.hasOwn(getBeside(name), key));
    const meant =
      inside || owner
        ? undefined
        : suggestWord(key, stepName ? [...MODIFIER_NAMES, ...Object.keys(getBeside(stepName as StepName))] : ALL_KEYS);
    const list = owner
      ? `It belongs beside ${owner}: {${[owner, ...Object.keys(getBeside(owner))].map((each) => `${each}: …`).join(', ')}}.`
      : inside
        ? `It is a field of ${stepName}: write it inside, not beside.`
        : stepName
          ? `Besides its name, a step takes ${MODIFIER_NAMES.join(', ')}.`
          : `The steps are ${STEP_NAMES.join(', ')}.`;
    this.report(
      span,
      'unknown-key',
      `${quote(key)} is neither the name of a step nor a modifier`,
      hintMeant(meant) ?? (inside || owner ? undefined : adviseOnWord(key)) ?? list,
    );
  }

  private checkModifiers(node: MapNode, stepName: StepName | undefined): undefined {
    for (const { key, keySpan, value } of node.entries) {
      if (!isModifier(key) || key === stepName) continue;
      const row = stepName === undefined ? undefined : getStepRow(stepName);
      if (row !== undefined && !row.modifiers.includes(key)) {
        this.faulty.add(value);
        this.report(
          keySpan,
          'misplaced-modifier',
          `${quote(key)} does not suit ${stepName}`,
          `${stepName} takes ${row.modifiers.join(', ')}.`,
        );
        continue;
      }
      if (key === 'await' && row?.await !== undefined)
        this.checkWord(value, row.await.allowed, { name: `await of ${stepName}`, span: keySpan });
      else if (key === 'undo' && row !== undefined && row.undo === undefined)
        this.checkSteps(value, { name: `undo of ${stepName}`, span: keySpan });
      else this.checkShape(value, MODIFIERS[key].shape, { name: key, span: keySpan });
    }
  }

  protected override describeElsewhere(key: string, owner: Owner): string {
    if (owner.name === 'limits' && Object.hasOwn(LIMIT_SETTINGS, key))
      return 'It is a limit of the account: write it under limits of the profile. ';
    return isModifier(key) ? 'It is a modifier of the step: write it beside the name of the step, not inside. ' : '';
  }
}
