/**
 * The second stage of the checks: does a document have the shape of a runbook? Walks the tree along the grammar of the
 * step table and says each departure once, where it is and in the words of the language. The JSON Schema made from the
 * same table must agree; `check.ts` asks it as well. Knows no names, types or units.
 */
import type { Diagnostic, SourceText, Span } from '../../base/diagnostic.ts';
import type { Verb } from '../checked.ts';
import type { MapNode, Node } from '../document/nodes.ts';
import { meantWord } from '../foreign-words.ts';
import { MODIFIER_NAMES, type Modifier, stepRow, VERBS } from '../steps.ts';
import { FILE, MODIFIERS } from './grammar.ts';
import { firstKey, type Owner, ShapeWalk } from './shape-walk.ts';
import { quoted } from './shape-words.ts';

interface Inspection {
  readonly diagnostics: readonly Diagnostic[];
  /** Values that do not have the shape needed: later checks leave them alone. */
  readonly faulty: ReadonlySet<Node>;
}

export function inspectShape(root: Node, source: SourceText): Inspection {
  const walk = new Walk(source);
  walk.file(root);
  return walk;
}

/** The verb of a step, when it has exactly one. */
export function verbOf(step: MapNode): Verb | undefined {
  const verbs = step.entries.filter((entry) => isVerb(entry.key));
  return verbs.length === 1 ? (verbs[0]?.key as Verb) : undefined;
}

const VERB_SET: ReadonlySet<string> = new Set(VERBS);
function isVerb(key: string): key is Verb {
  return VERB_SET.has(key);
}
const MODIFIER_SET: ReadonlySet<string> = new Set(MODIFIER_NAMES);
function isModifier(key: string): key is Modifier {
  return MODIFIER_SET.has(key);
}

/** Whether a verb has a field of this name, in any of its forms. */
function takesField(verb: Verb, key: string): boolean {
  const { takes } = stepRow(verb);
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

class Walk extends ShapeWalk implements Inspection {
  file(root: Node): void {
    const dsl = root.kind === 'map' ? root.entry('dsl') : undefined;
    if (dsl?.value.kind === 'scalar' && dsl.value.type === 'number' && Number(dsl.value.text) > 1) {
      this.report(dsl.value, 'newer-dsl', `dsl ${dsl.value.text} is newer than this engine, which reads dsl 1`);
      this.faulty.add(root);
      return;
    }
    this.fields(root, FILE, { name: 'a runbook', span: firstKey(root) });
  }

  protected override steps(node: Node, owner: Owner): undefined {
    if (node.kind !== 'list')
      return this.wrongType(
        node,
        owner,
        'a list of steps',
        node.kind === 'map' ? 'Begin each step with "- ".' : undefined,
      );
    for (const item of node.items) this.step(item, { name: 'a step', span: firstKey(item) });
  }

  protected override step(node: Node, owner: Owner): undefined {
    if (node.kind !== 'map')
      return this.wrongType(
        node,
        { ...owner, name: 'a step' },
        'a verb with its parameters',
        node.kind === 'scalar' && isVerb(node.text) ? `Write "- ${node.text}: {…}".` : 'Write "- verb: …".',
      );
    const verbs = node.entries.filter(({ key }) => isVerb(key));
    const strangers = node.entries.filter(({ key }) => !isVerb(key) && !isModifier(key));
    for (const { key, keySpan } of strangers) this.unknownStepKey(key, keySpan, verbs[0]?.key);
    if (verbs.length === 0 && strangers.length === 0)
      this.report(firstKey(node), 'no-verb', 'a step needs exactly one verb, this one has none');
    for (const entry of verbs.slice(1))
      this.report(
        entry.keySpan,
        'several-verbs',
        `a step needs exactly one verb, found ${quoted(verbs[0]?.key ?? '')} and ${quoted(entry.key)}`,
      );
    if (verbs.length !== 1) this.faulty.add(node);
    for (const { key, keySpan, value } of verbs)
      this.shape(value, stepRow(key as Verb).takes, { name: key, span: keySpan });
    this.modifiers(node, verbs.length === 1 ? (verbs[0]?.key as Verb) : undefined);
  }

  private unknownStepKey(key: string, span: Span, verb: string | undefined): undefined {
    const inside = verb !== undefined && takesField(verb as Verb, key);
    const meant = inside ? undefined : meantWord(key, verb ? MODIFIER_NAMES : [...VERBS, ...MODIFIER_NAMES]);
    const list = inside
      ? `It is a field of ${verb}: write it inside, not beside.`
      : verb
        ? `A step takes its verb and ${MODIFIER_NAMES.join(', ')}.`
        : `The verbs are ${VERBS.join(', ')}.`;
    this.report(
      span,
      'unknown-key',
      `${quoted(key)} is neither a verb nor a modifier of a step`,
      meant === undefined ? list : `Did you mean ${meant}?`,
    );
  }

  private modifiers(node: MapNode, verb: Verb | undefined): undefined {
    for (const { key, keySpan, value } of node.entries) {
      if (!isModifier(key)) continue;
      const row = verb === undefined ? undefined : stepRow(verb);
      if (row !== undefined && !row.modifiers.includes(key)) {
        this.faulty.add(value);
        this.report(
          keySpan,
          'misplaced-modifier',
          `${quoted(key)} does not suit ${verb}`,
          `${verb} takes ${row.modifiers.join(', ')}.`,
        );
        continue;
      }
      if (key === 'await' && row?.await !== undefined)
        this.word(value, row.await.allowed, { name: `await of ${verb}`, span: keySpan });
      else if (key === 'undo' && row !== undefined && row.undoWords === undefined)
        this.steps(value, { name: `undo of ${verb}`, span: keySpan });
      else this.shape(value, MODIFIERS[key].shape, { name: key, span: keySpan });
    }
  }

  protected override elsewhere(key: string): string {
    return isModifier(key) ? 'It is a modifier of the step: write it beside the verb, not inside. ' : '';
  }
}
